// @ts-check
// Details for the list of sessions: duration and gaps. Requested when an item becomes visible, a few at a time.

import { address, get } from './api.js';
import { hasPictures, mainLanes } from './playback-coverage.js';
import { previewsOf } from './renditions.js';

/** Requests at once: each reads files. */
const atOnce = 3;

/**
 * @typedef {object} Details
 * @property {boolean} isRecording
 * @property {number} zero Milliseconds since 1970.
 * @property {number} start Session time.
 * @property {number} end
 * @property {{ name: string, preview?: string, hasPictures: boolean, start: number, end: number }[]} sources Without previews.
 * @property {{ samples: number, count: number, cause: string }[]} missing
 */

/** @param {{ isCollectorRunning: boolean, state: string }} session */
export const isRecording = ({ isCollectorRunning, state }) => isCollectorRunning && state !== 'finished';

/**
 * @param {string} session
 * @returns {Promise<Details>}
 */
export async function readDetails(session) {
    const path = address`/api/v1/sessions/${session}`;
    const [overview, all] = await Promise.all([get(path), get(`${path}/coverage?pixels=400`)]);
    const lanes = mainLanes(all);
    const previews = previewsOf(overview.sources);
    const missing = lanes.flatMap((/** @type {import('./playback-coverage.js').Lane} */ lane) => [...lane.missing, ...lane.unplaced]);
    const mains = overview.sources.filter((/** @type {any} */ { previewOf }) => previewOf === undefined);
    const sources = mains.map((/** @type {any} */ source) => ({
        name: source.name, preview: previews.get(source.name),
        hasPictures: hasPictures(source),
        start: source.startSeconds ?? NaN, end: source.endSeconds ?? NaN,
    }));
    const starts = sources.map((/** @type {any} */ source) => source.start).filter(Number.isFinite);
    const ends = sources.map((/** @type {any} */ source) => source.end).filter(Number.isFinite);
    return {
        isRecording: isRecording(overview),
        zero: Date.parse(overview.zero), start: starts.length > 0 ? Math.min(...starts) : 0, end: ends.length > 0 ? Math.max(...ends) : 0,
        sources, missing,
    };
}

export class DetailReader {
    constructor() {
        /** @type {(() => Promise<void>)[]} */
        this.waiting = [];
        this.running = 0;
        this.isClosed = false;
        /** @type {WeakMap<Element, () => void>} */
        this.seen = new WeakMap();
        this.observer = new IntersectionObserver((entries) => {
            for (const { isIntersecting, target } of entries) {
                if (!isIntersecting) continue;
                this.observer.unobserve(target);
                this.seen.get(target)?.();
            }
        }, { rootMargin: '200px' });
    }

    close() {
        this.isClosed = true;
        this.observer.disconnect();
        this.waiting = [];
    }

    /**
     * @template Found
     * @param {Element} place It is read when this becomes visible.
     * @param {() => Promise<Found>} read
     * @param {(found: Found) => void} take
     * @param {(error: unknown) => void} fail
     */
    watch(place, read, take, fail) {
        this.seen.set(place, () => {
            this.waiting.push(async () => {
                try {
                    const found = await read();
                    if (!this.isClosed) take(found);
                } catch (error) {
                    if (!this.isClosed) fail(error);
                }
            });
            void this.#run();
        });
        this.observer.observe(place);
    }

    async #run() {
        if (this.running >= atOnce) return;
        this.running += 1;
        for (let next = this.waiting.shift(); next && !this.isClosed; next = this.waiting.shift()) await next();
        this.running -= 1;
    }
}
