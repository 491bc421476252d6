// @ts-check
// The tooltip of a timeline: the time, a thumbnail, and the reason for a gap.

import { address, get } from './api.js';
import { causeBeginning, causeText, isOnPurpose } from './causes.js';
import { element, setText } from './element.js';
import { clock, counted, duration, sessionTime, shortTime } from './format.js';
import { statedAt } from './playback-coverage.js';

/** Delay of the tooltip, milliseconds. */
const rest = 120;
const pictureWidth = 192;
/** Limit of shown ledger lines. */
const mostLines = 4;
/** Ranges of records of one line. */
const mostRanges = 5;
/** Pictures that are kept. */
const capacity = 200;
/** Error of the clocks that a camera's is compared with, seconds. */
const clockError = 0.05;

export class TimelineHover {
    /**
     * @param {string} session
     * @param {number} zero
     */
    constructor(session, zero) {
        this.session = session;
        this.zero = zero;
        /** @type {string[]} Names of sources. */
        this.soundOnly = [];
        /** @type {Map<string, string>} Names of previews, by source: their pictures are made sooner. */
        this.previews = new Map();
        this.picture = element('img', { alt: '', width: pictureWidth, height: 108, hidden: true });
        this.time = element('p', { className: 'figures' });
        this.words = element('p', { className: 'gap-words', hidden: true });
        this.stated = element('p', { className: 'figures', hidden: true });
        this.place = element('p', { className: 'place-words', hidden: true });
        this.element = element('div', { className: 'hover', hidden: true }, this.picture, this.time, this.stated, this.place, this.words);
        /** @type {typeof import('./timeline-collectors.js') | undefined} */
        this.places = undefined;
        this.waiting = 0;
        this.wanted = '';
        /** @type {Map<string, string>} Object URLs of pictures, by address. */
        this.pictures = new Map();
        /** @type {Map<string, Promise<GapLine[]>>} */
        this.gaps = new Map();
        this.picture.addEventListener('error', () => {
            this.picture.hidden = true;
        });
    }

    /**
     * @param {number} x
     * @param {number} time
     * @param {number} step How much time a few pixels have.
     * @param {import('./playback-coverage.js').Lane | undefined} lane
     * @param {number} width Of the timeline.
     * @param {number | null} bound Error bound of that time, seconds; null: not read yet; 0: its clock was not measured.
     */
    show(x, time, step, lane, width, bound) {
        this.element.hidden = false;
        const half = pictureWidth / 2 + 10;
        this.element.style.left = `${Math.max(half, Math.min(width - half, x))}px`;
        const name = lane ? `${lane.source} · ` : '';
        setText(this.time, `${name}${sessionTime(time, 2)} · ${clock(new Date(this.zero + time * 1000))}${bound ? ` · ± ${shortTime(bound)}` : ''}`);
        const stated = lane && statedAt(lane, time);
        this.stated.hidden = !stated;
        if (stated) setText(this.stated, statedWords(stated, new Date(this.zero + (time + stated.offsetSeconds) * 1000)));
        const place = lane ? this.places?.placeWords(lane, time).join('\n') : '';
        this.place.hidden = !place;
        if (place) setText(this.place, place);
        const gap = lane?.missing.find((gap) => gap.startSeconds - step <= time && time <= gap.endSeconds + step);
        this.words.hidden = !gap;
        if (gap) setText(this.words, gapWords(gap));
        clearTimeout(this.waiting);
        const wanted = lane ? this.#pictureAddress(lane, time, step) : '';
        if (wanted !== this.wanted) {
            this.wanted = wanted;
            const known = this.pictures.get(wanted);
            if (known) this.#showPicture(known);
            else this.picture.hidden = !wanted;
        }
        this.waiting = setTimeout(() => void this.#ask(lane, gap), rest);
    }

    hide() {
        clearTimeout(this.waiting);
        this.element.hidden = true;
        this.wanted = '';
    }

    close() {
        this.hide();
        for (const url of this.pictures.values()) URL.revokeObjectURL(url);
    }

    /**
     * @param {import('./playback-coverage.js').Lane} lane
     * @param {number} time
     * @param {number} step
     */
    #pictureAddress(lane, time, step) {
        const first = lane.recorded[0];
        if (!first || time < first.startSeconds || this.soundOnly.includes(lane.source)) return '';
        // Times within a few pixels have the same picture.
        const at = Math.max(first.startSeconds, Math.round(time / step) * step);
        // A gap has no picture.
        if (!lane.recorded.some(({ startSeconds, endSeconds }) => startSeconds <= at && at <= endSeconds)) return '';
        return `${this.#picturePath(this.previews.get(lane.source) ?? lane.source)}?at=${at.toFixed(3)}&width=${pictureWidth}`;
    }

    /** @param {string} source */
    #picturePath(source) {
        return address`/api/v1/sessions/${this.session}/sources/${source}/picture.jpg`;
    }

    /**
     * The picture of the source itself, where its preview has none: it may have a gap of its own.
     * @param {string} wanted
     */
    #otherAddress(wanted) {
        for (const [source, preview] of this.previews) {
            const path = this.#picturePath(preview);
            if (wanted.startsWith(path)) return wanted.replace(path, this.#picturePath(source));
        }
        return undefined;
    }

    /**
     * @param {import('./playback-coverage.js').Lane | undefined} lane
     * @param {import('./playback-coverage.js').Missing | undefined} gap
     */
    async #ask(lane, gap) {
        const wanted = this.wanted;
        const work = [];
        if (wanted && !this.pictures.has(wanted)) work.push(this.#fetchPicture(wanted));
        if (lane && gap) work.push(this.#tellGaps(lane.source, gap));
        await Promise.all(work);
    }

    /** @param {string} wanted */
    async #fetchPicture(wanted) {
        try {
            const other = this.#otherAddress(wanted);
            const picture = await get(wanted).catch((error) => {
                if (other === undefined) throw error;
                return get(other);
            });
            const url = URL.createObjectURL(picture);
            this.pictures.set(wanted, url);
            for (const [old, oldURL] of this.pictures) {
                if (this.pictures.size <= capacity) break;
                this.pictures.delete(old);
                URL.revokeObjectURL(oldURL);
            }
            if (this.wanted === wanted) this.#showPicture(url);
        } catch {
            // Sound only, or just being recorded: the text is shown without a picture.
            if (this.wanted === wanted) this.picture.hidden = true;
        }
    }

    /** @param {string} url */
    #showPicture(url) {
        this.picture.src = url;
        this.picture.hidden = false;
    }

    /**
     * @param {string} source
     * @param {import('./playback-coverage.js').Missing} gap
     */
    async #tellGaps(source, gap) {
        const path = `${address`/api/v1/sessions/${this.session}/sources/${source}/gaps`}?from=${gap.startSeconds.toFixed(3)}`
            + `&until=${(gap.endSeconds + 0.001).toFixed(3)}`;
        let reading = this.gaps.get(path);
        if (!reading) {
            reading = get(path);
            this.gaps.set(path, reading);
            reading.catch(() => this.gaps.delete(path));
        }
        try {
            const lines = (await reading).filter((line) => line.cause === gap.cause);
            if (this.element.hidden || lines.length === 0) return;
            const text = lines[0].text === causeText(gap.cause) ? '' : lines[0].text;
            const told = lines.length === 1 ? [text, reporterWords(lines[0])].filter(Boolean) : lines.slice(0, mostLines).map(lineWords);
            if (lines.length > mostLines) told.push(`and ${lines.length - mostLines} more`);
            setText(this.words, [gapWords(gap), ...told].join('\n'));
        } catch {
            // The text of the lane stays.
        }
    }
}

/**
 * A gap as text.
 * @param {import('./playback-coverage.js').Missing} gap
 */
export function gapWords(gap) {
    const length = lengthWords(gap);
    const what = isOnPurpose(gap) ? '' : `, ${whatWords(gap)}`;
    return `${causeBeginning(gap.cause)}: from ${sessionTime(gap.startSeconds)}${length && ` for ${length}`}${what}.`;
}

/**
 * The amount of missing data as text.
 * @param {{ samples: number, count: number, track?: string }} gap
 */
export function whatWords({ samples, count, track }) {
    const what = samples > 0 ? `${counted(samples, 'sample')} missing` : 'an unknown number of samples missing';
    const kind = track === 'video' ? ' (pictures)' : track === 'audio' ? ' (sound)' : '';
    return `${what}${kind}${count > 1 ? `, in ${counted(count, 'gap')}` : ''}`;
}

/**
 * The duration of a gap as text; empty if it is unknown.
 * @param {import('./playback-coverage.js').Missing} gap
 */
export function lengthWords({ startSeconds, endSeconds }) {
    const length = endSeconds - startSeconds;
    return length <= 0.0005 ? '' : length < 60 ? shortTime(length) : duration(length);
}

/**
 * The camera clock's time, in addition to the recorded one.
 * @param {import('./playback-coverage.js').Stated} stated
 * @param {Date} date
 */
function statedWords({ offsetSeconds, aheadSeconds }, date) {
    const distance = shortTime(Math.abs(offsetSeconds));
    const words = `camera’s clock: ${clock(date)}, ${offsetSeconds < 0 ? `${distance} before` : `${distance} after`}`;
    return aheadSeconds > clockError ? `${words}; it is ahead by ${shortTime(aheadSeconds)} or more` : words;
}

/**
 * A line of the ledger (proto/openapi.yaml, "Gap").
 * @typedef {object} GapLine
 * @property {string} cause
 * @property {number} [startSeconds]
 * @property {number} durationSeconds
 * @property {number} samples
 * @property {string} [track]
 * @property {string} text
 * @property {[number, number][]} [records]
 */

/** Causes that the collector found; the agent reports all others. */
const ownCauses = ['write failed', 'too many files', 'impossible times'];
/** Texts of losses with an agent's disk, which only the collector reports. */
const ownTexts = ['the box has lost', 'not sent again'];

/**
 * The reporter of a loss, and its records, which show how certain it is.
 * @param {GapLine} line
 */
function reporterWords(line) {
    const isOwn = ownCauses.includes(line.cause) || ownTexts.some((text) => line.text.startsWith(text));
    const records = recordWords(line);
    return `${isOwn ? 'Found by the collector' : 'Reported by the agent itself'}${records && ` (${records})`}.`;
}

/**
 * The numbers of the records: `records 120–134, 140`.
 * @param {GapLine} line
 */
function recordWords({ records = [] }) {
    if (records.length === 0) return '';
    const shown = records.slice(0, mostRanges).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
    const isOne = records.length === 1 && records[0][0] === records[0][1];
    return `${isOne ? 'record' : 'records'} ${shown.join(', ')}${records.length > mostRanges ? ', …' : ''}`;
}

/** @param {GapLine} line */
function lineWords(line) {
    const at = line.startSeconds === undefined ? '' : `${sessionTime(line.startSeconds)}, ${shortTime(line.durationSeconds)}: `;
    const track = line.track ? ` of ${line.track}` : '';
    return [`${at}${counted(line.samples, 'sample')}${track}`, line.text, recordWords(line)].filter(Boolean).join(', ');
}
