// @ts-check
// The collector of a site that a tile's pictures come from, and its changes.

import { clock } from './format.js';

/** @typedef {import('./renditions.js').Rendition} Rendition */

/** A move is shown for this long after it was seen, milliseconds. */
const memory = 20_000;
/** After a longer time without pictures, the time of the move is unknown: the page was hidden, or had no connection. Milliseconds. */
const longestPause = 15_000;

/**
 * Another collector's pictures.
 * @typedef {object} Move
 * @property {string} from
 * @property {string} to
 * @property {Date} at When the first picture of the other collector was captured.
 * @property {boolean} isExact False: the source has moved before that.
 * @property {number} seen When the page had that picture, milliseconds.
 */

/** Collector and times of one rendition, from its frames. */
class RenditionCollector {
    /** @type {string | undefined} */
    collector;
    /**
     * The collector before it, until the first picture has come.
     * @type {string | undefined}
     */
    left;
    /** The session's zero, and the end of the last picture; UTC, milliseconds. */
    zero = NaN;
    end = NaN;
    /** @type {Move | undefined} */
    move;
}

export class SourceCollector {
    #renditions = { main: new RenditionCollector(), preview: new RenditionCollector() };

    /**
     * @param {Rendition} rendition
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {number} now Milliseconds.
     */
    take(rendition, header, now) {
        const state = this.#renditions[rendition];
        if (header.type === 'begin') {
            if (state.collector !== header.collector) state.left ??= state.collector;
            state.collector = header.collector;
            state.zero = Date.parse(header.zero ?? '');
            return;
        }
        if (header.type !== 'media') return;
        const at = state.zero + (header.atSeconds ?? 0) * 1000;
        const { left: from, collector: to } = state;
        state.left = undefined;
        if (from && to && from !== to && Number.isFinite(at)) {
            state.move = { from, to, at: new Date(at), isExact: at - state.end <= longestPause, seen: now };
        }
        state.end = at + (header.durationSeconds ?? 0) * 1000;
    }

    /**
     * The collector of a rendition's pictures; undefined: none have come, or the viewer hears only one collector.
     * @param {Rendition | undefined} rendition
     */
    collector(rendition) {
        return rendition && this.#renditions[rendition].collector;
    }

    /**
     * Its last move, as a part of a sentence; empty: none was seen.
     * @param {Rendition | undefined} rendition
     */
    lastMove(rendition) {
        const move = rendition && this.#renditions[rendition].move;
        return move ? `from ${move.from} to ${move.to} ${move.isExact ? 'at' : 'before'} ${clock(move.at)}` : '';
    }

    /**
     * Its last move, for a while after it; then empty.
     * @param {Rendition | undefined} rendition
     * @param {number} now Milliseconds.
     */
    news(rendition, now) {
        const move = rendition && this.#renditions[rendition].move;
        return move && now - move.seen <= memory ? `Moved ${this.lastMove(rendition)}` : '';
    }
}
