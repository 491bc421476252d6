// @ts-check
// The available segments of one source, from its playlist (RFC 8216), in the order of time.

import { address, ApiError, request } from './api.js';

/**
 * @typedef {object} Segment
 * @property {string} media Where its file is.
 * @property {string} initialization
 * @property {number} offset Of its first byte.
 * @property {number} size
 * @property {number} start Session time, to a few milliseconds.
 * @property {number} end
 */

/** Times of a playlist are rounded to milliseconds. */
export const tolerance = 0.003;

export class MediaIndex {
    /**
     * @param {string} session
     * @param {string} source
     * @param {number} zero The session's, milliseconds since 1970.
     */
    constructor(session, source, zero) {
        this.session = session;
        this.source = source;
        this.path = address`/hls/${session}/${source}/`;
        this.zero = zero;
        /** @type {Segment[]} */
        this.segments = [];
        /** The playlist has been read; it may be empty. */
        this.isRead = false;
        /** Nothing will be added. */
        this.isComplete = false;
        /** Why the last reading failed, as text. */
        this.failure = '';
        /** @type {Promise<void> | undefined} */
        this.reading = undefined;
    }

    /**
     * Reads the playlist, again where it grows. Segments that are known keep their numbers.
     * @returns {Promise<void>}
     */
    read() {
        this.reading ??= this.#read().finally(() => {
            this.reading = undefined;
        });
        return this.reading;
    }

    async #read() {
        try {
            const response = await request(`${this.path}index.m3u8`, { cache: 'no-cache' });
            this.#parse(await response.text());
            this.isRead = true;
            this.failure = '';
        } catch (error) {
            // 404: nothing of it can be played yet.
            const isEmpty = error instanceof ApiError && error.status === 404;
            this.isRead ||= isEmpty;
            this.failure = isEmpty ? '' : error instanceof Error ? error.message : String(error);
            throw error;
        }
    }

    /** @param {string} text */
    #parse(text) {
        /** @type {Segment[]} */
        const segments = [];
        let initialization = '';
        let length = 0;
        let [size, offset] = [0, 0];
        let next = 0;
        for (const line of text.split('\n')) {
            if (line.startsWith('#EXTINF:')) {
                length = Number.parseFloat(line.slice(8));
            } else if (line.startsWith('#EXT-X-BYTERANGE:')) {
                [size, offset] = line.slice(17).split('@').map(Number);
            } else if (line.startsWith('#EXT-X-PROGRAM-DATE-TIME:')) {
                next = (Date.parse(line.slice(25)) - this.zero) / 1000;
            } else if (line.startsWith('#EXT-X-MAP:')) {
                initialization = /URI="([^"]*)"/.exec(line)?.[1] ?? '';
            } else if (line === '#EXT-X-ENDLIST') {
                this.isComplete = true;
            } else if (line && !line.startsWith('#')) {
                segments.push({
                    media: this.path + line, initialization: this.path + initialization, offset, size,
                    start: next, end: next + length,
                });
                next += length;
            }
        }
        this.segments = segments;
    }

    /** Start of the first segment; undefined: there is none. */
    get start() {
        return this.segments[0]?.start;
    }

    /** End of the last segment. */
    get end() {
        return this.segments.at(-1)?.end;
    }

    /**
     * The index of the segment that is shown at a time: the last one that starts before it; −1 if there is none.
     * @param {number} time
     */
    at(time) {
        let [low, high] = [0, this.segments.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.segments[middle].start <= time + tolerance) low = middle + 1;
            else high = middle;
        }
        return low - 1;
    }
}
