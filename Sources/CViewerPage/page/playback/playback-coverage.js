// @ts-check
// Recorded spans, growth and gaps of each source (`/coverage`), and queries of them.

import { address, get } from './api.js';

/** Sources that begin within this time begin together, seconds. */
const together = 2;

/**
 * @typedef {object} Missing
 * @property {string} cause
 * @property {string} [track] Missing: of several.
 * @property {number} startSeconds
 * @property {number} endSeconds
 * @property {number} count Lines of the ledger.
 * @property {number} samples
 */

/**
 * @typedef {object} Lane
 * @property {string} source
 * @property {string} [previewOf] The source that it is the preview of.
 * @property {{ startSeconds: number, endSeconds: number, isGrowing: boolean }[]} recorded
 * @property {Missing[]} missing
 * @property {{ cause: string, count: number, samples: number }[]} unplaced
 * @property {Stated[]} [stated] Of a network camera.
 * @property {Held[]} [held]
 * @property {{ collector: string, recorded: { startSeconds: number, endSeconds: number }[] }[]} [copies] What the archive of each collector has,
 *     by name; missing: one has all.
 */

/**
 * Records in the archive of a collector that is not read.
 * @typedef {object} Held
 * @property {string} collector
 * @property {number} [startSeconds] Missing: nothing is recorded before them.
 * @property {number} [endSeconds] Missing: nothing is recorded after them.
 * @property {number} records
 */

/**
 * A statement about a network camera's clock, which applies until the next one.
 * @typedef {object} Stated
 * @property {number} startSeconds
 * @property {number} offsetSeconds Stated less recorded times.
 * @property {number} aheadSeconds The greatest stated time less the arrival.
 */

/**
 * @param {Lane} lane
 * @param {number} time
 */
export const statedAt = (lane, time) => lane.stated?.filter(({ startSeconds }) => startSeconds <= time).at(-1) ?? lane.stated?.[0];

/**
 * @param {string} session
 * @param {{ from?: number, until?: number, pixels?: number }} [part]
 * @returns {Promise<Lane[]>}
 */
export function readCoverage(session, part = {}) {
    const query = new URLSearchParams();
    if (part.from !== undefined) query.set('from', part.from.toFixed(3));
    if (part.until !== undefined) query.set('until', part.until.toFixed(3));
    query.set('pixels', String(Math.max(1, Math.min(10000, Math.round(part.pixels ?? 2000)))));
    return get(`${address`/api/v1/sessions/${session}/coverage`}?${query}`);
}

/** @param {{ formats: string[] }} source Of an overview; without formats, they are not known yet. */
export const hasPictures = ({ formats }) => formats.length === 0 || formats.some((text) => text.startsWith('video'));

/** @param {Lane[]} lanes Of all sources, and of their previews. */
export const mainLanes = (lanes) => lanes.filter(({ previewOf }) => previewOf === undefined);

/**
 * Lanes of previews, by the names of their sources.
 * @param {Lane[]} lanes
 * @returns {Map<string, Lane>}
 */
export const previewLanes = (lanes) => new Map(lanes.flatMap((lane) => (lane.previewOf === undefined ? [] : [[lane.previewOf, lane]])));

/**
 * The range from the first to the last recorded sample of some sources.
 * @param {Lane[]} lanes
 */
export function extent(lanes) {
    let [start, end] = [Infinity, -Infinity];
    for (const { recorded } of lanes) {
        if (recorded.length === 0) continue;
        start = Math.min(start, recorded[0].startSeconds);
        end = Math.max(end, recorded[recorded.length - 1].endSeconds);
    }
    return start < end ? { start, end } : { start: 0, end: 1 };
}

/**
 * The beginning of the next or previous gap.
 * @param {Lane[]} lanes
 * @param {number} time
 * @param {1 | -1} direction
 * @returns {{ at: number, source: string, gap: Missing } | undefined}
 */
export function nextGap(lanes, time, direction) {
    /** @type {{ at: number, source: string, gap: Missing } | undefined} */
    let best;
    for (const lane of lanes) {
        for (const gap of lane.missing) {
            const at = gap.startSeconds;
            if (direction > 0 ? at <= time + 0.001 : at >= time - 0.001) continue;
            if (!best || (direction > 0 ? at < best.at : at > best.at)) best = { at, source: lane.source, gap };
        }
    }
    return best;
}

/**
 * The start of playback: when all sources that begin together have begun.
 * @param {Lane[]} lanes
 */
export function beginning(lanes) {
    const { start } = extent(lanes);
    const starts = lanes.map(({ recorded }) => recorded[0]?.startSeconds ?? start).filter((time) => time < start + together);
    // A source's first picture may come after its first sound.
    return Math.ceil((Math.max(start, ...starts) + 0.05) * 10) / 10;
}

/**
 * The records that unread archives hold at a time.
 * @param {Lane} lane
 * @param {number} time
 */
export const heldAt = (lane, time) =>
    lane.held?.filter(({ startSeconds = -Infinity, endSeconds = Infinity }) => startSeconds <= time && time <= endSeconds) ?? [];

/** @param {Lane[]} lanes */
export const isGrowing = (lanes) => lanes.some((lane) => lane.recorded.at(-1)?.isGrowing);
