// @ts-check
// The collectors of a site that have each time of a source, on its lane and as text. Loaded for sessions of several archives.

import { counted } from './format.js';
import { heldAt } from './playback-coverage.js';
import { colour } from './theme.js';
import { bar, font, hatch } from './timeline-draw.js';

/** @typedef {import('./playback-coverage.js').Lane} Lane */
/** @typedef {import('./timeline-scale.js').TimelineScale} Scale */

/**
 * A time that the same collectors have.
 * @typedef {{ startSeconds: number, endSeconds: number, collectors: string[] }} Stretch
 */

/** Number of collectors with a colour of their own. */
const colours = 4;
/** Where several collectors have a time, their colours alternate, CSS pixels. */
const dashLength = 8;

/** @param {(string | undefined)[]} names */
const unique = (names) => [...new Set(names)].sort();

/**
 * The names of the collectors whose archives have something of some sources, in order.
 * @param {Lane[]} lanes
 */
export const collectorsOf = (lanes) => /** @type {string[]} */ (unique(lanes.flatMap(({ copies = [] }) => copies.map(({ collector }) => collector))));

/** @type {WeakMap<Lane, Stretch[]>} */
const known = new WeakMap();

/**
 * The collectors that have a source, with their ranges: in the order of time, without overlaps.
 * @param {Lane} lane
 * @returns {Stretch[]}
 */
export function stretches(lane) {
    const found = known.get(lane);
    if (found) return found;
    const ends = (lane.copies ?? []).flatMap(({ collector, recorded }) => recorded.flatMap(({ startSeconds, endSeconds }) => [
        { at: startSeconds, collector, isStart: true }, { at: endSeconds, collector, isStart: false }]));
    // A stretch that ends where another one begins comes first.
    ends.sort((one, other) => one.at - other.at || Number(one.isStart) - Number(other.isStart));
    /** @type {Stretch[]} */
    const made = [];
    /** @type {string[]} */
    let collectors = [];
    let from = 0;
    for (const { at, collector, isStart } of ends) {
        if (collectors.length && at > from) made.push({ startSeconds: from, endSeconds: at, collectors });
        collectors = isStart ? [...collectors, collector].sort() : collectors.filter((name) => name !== collector);
        from = at;
    }
    known.set(lane, made);
    return made;
}

/**
 * The custom property with a collector's colour: `--collector-2`.
 * @param {string[]} collectors All.
 * @param {string} collector
 */
const property = (collectors, collector) => `--collector-${collectors.indexOf(collector) % colours + 1}`;

/**
 * The legend's items.
 * @param {Lane[]} lanes
 * @returns {{ property: string, words: string, look: string }[]}
 */
export function legend(lanes) {
    const collectors = collectorsOf(lanes);
    const holders = unique(lanes.flatMap(({ held = [] }) => held.map(({ collector }) => collector)));
    return [...collectors.map((name) => ({ property: property(collectors, name), words: `At ${name}`, look: 'thin' })),
        ...holders.map((name) => ({ property: '--recorded', words: `Held by ${name}, which is not read`, look: 'falling' }))];
}

/** @param {string[]} names */
const listed = (names) => (names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`);

/**
 * Texts for the collectors that have a time of a source, and for those that hold it.
 * @param {Lane} lane
 * @param {number} time
 * @returns {string[]}
 */
export function placeWords(lane, time) {
    const found = stretches(lane).find(({ startSeconds, endSeconds }) => startSeconds <= time && time < endSeconds);
    return [...(found ? [`At ${listed(found.collectors)}`] : []),
        ...heldAt(lane, time).map(({ collector, records }) => `Held by ${collector}, which is not read: ${counted(records, 'record')}`)];
}

/**
 * Paints the parts held by collectors that are not read: like recorded parts, and striped.
 * @param {CanvasRenderingContext2D} context
 * @param {Scale} scale
 * @param {Lane} lane
 * @param {number} top
 * @param {number} height
 */
export function drawHeld(context, scale, lane, top, height) {
    for (const { startSeconds = scale.whole.start, endSeconds = scale.whole.end } of lane.held ?? []) {
        hatch(context, scale, { startSeconds, endSeconds }, top, height, colour('--recorded'), -1);
    }
}

/**
 * Paints the collectors that have each time of a source: thin marks in their colours, and their names where there is room.
 * @param {CanvasRenderingContext2D} context
 * @param {Scale} scale
 * @param {Lane} lane
 * @param {string[]} collectors All.
 * @param {number} top
 * @param {number} height
 * @param {number | null} middle Of the names; null: none.
 */
export function drawCollectors(context, scale, lane, collectors, top, height, middle) {
    context.font = font(10);
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    for (const stretch of stretches(lane)) {
        const { startSeconds, endSeconds } = stretch;
        if (endSeconds < scale.start || startSeconds > scale.end) continue;
        const [left, right] = [Math.max(scale.left, scale.x(startSeconds)), Math.min(scale.left + scale.width, scale.x(endSeconds))];
        const own = stretch.collectors.map((name) => colour(property(collectors, name)));
        bar(context, scale, startSeconds, endSeconds, top, height, own[0]);
        for (let dash = Math.floor(left / dashLength); own.length > 1 && dash * dashLength < right; dash += 1) {
            const from = Math.max(left, dash * dashLength);
            context.fillStyle = own[dash % own.length];
            context.fillRect(from, top, Math.min(right, (dash + 1) * dashLength) - from, height);
        }
        const text = stretch.collectors.join(', ');
        if (middle === null || right - left < context.measureText(text).width + 10) continue;
        context.fillStyle = colour('--on-recorded');
        context.fillText(text, left + 5, middle);
    }
}
