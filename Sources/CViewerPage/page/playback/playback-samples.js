// @ts-check
// Maps times to samples of a source, by the exact times of the segments that have been read.

/**
 * Samples of a segment in the order of presentation, session time.
 * @typedef {object} Samples
 * @property {Float64Array} starts
 * @property {Float64Array} ends
 * @property {number[]} boundStarts
 * @property {number[]} bounds
 */

/**
 * @typedef {object} Sample
 * @property {number} start Session time, seconds.
 * @property {number} end Its own end; the next sample may start later.
 * @property {string} key Its segment.
 */

/** Half a tick of common timescales, and the rounding of addresses, seconds. */
const closeness = 2e-6;

/** @param {import('./playback-index.js').Segment} segment */
export const segmentKey = (segment) => `${segment.media}@${segment.offset}`;

export class SampleTable {
    /** @param {import('./playback-index.js').MediaIndex} index */
    constructor(index) {
        this.index = index;
        /** @type {Map<string, Samples>} */
        this.known = new Map();
    }

    /**
     * The number of starts at or before a time.
     * @param {ArrayLike<number>} starts
     * @param {number} time
     */
    static count(starts, time) {
        let [low, high] = [0, starts.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (starts[middle] <= time + closeness) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    /**
     * The sample that is shown at a time. Undefined: its segment has not been read (see `missing`); null: none has begun.
     * @param {number} time
     * @returns {Sample | null | undefined}
     */
    at(time) {
        for (let number = this.index.at(time); number >= 0; number -= 1) {
            const segment = this.index.segments[number];
            const samples = this.known.get(segmentKey(segment));
            if (!samples) return undefined;
            const count = SampleTable.count(samples.starts, time);
            if (count > 0) return this.#sample(segmentKey(segment), samples, count - 1);
        }
        return null;
    }

    /**
     * The sample before or after the one that is shown at a time; undefined: its segment has not been read; null: there is none.
     * @param {number} time
     * @param {1 | -1} direction
     * @returns {Sample | null | undefined}
     */
    beside(time, direction) {
        const here = this.at(time);
        if (here === undefined) return undefined;
        if (direction < 0) {
            // In a gap, the picture that is held is the one before.
            return here ? this.at(here.start - 3 * closeness) : null;
        }
        let number = Math.max(0, this.index.at(time));
        for (; number < this.index.segments.length; number += 1) {
            const key = segmentKey(this.index.segments[number]);
            const samples = this.known.get(key);
            if (!samples) return undefined;
            const count = SampleTable.count(samples.starts, time);
            if (count < samples.starts.length) return this.#sample(key, samples, count);
        }
        return null;
    }

    /**
     * The index of the first segment that must be read to know the sample at a time, or the adjacent one; −1 if none.
     * @param {number} time
     * @param {0 | 1 | -1} [direction]
     */
    missing(time, direction = 0) {
        const { segments } = this.index;
        let number = Math.max(0, this.index.at(time));
        const step = direction < 0 ? -1 : 1;
        if (direction === 0) {
            for (; number >= 0 && number < segments.length; number -= 1) {
                const samples = this.known.get(segmentKey(segments[number]));
                if (!samples) return number;
                if (SampleTable.count(samples.starts, time) > 0) return -1;
            }
            return -1;
        }
        for (; number >= 0 && number < segments.length; number += step) {
            const samples = this.known.get(segmentKey(segments[number]));
            if (!samples) return number;
            const count = SampleTable.count(samples.starts, time);
            if (direction > 0 ? count < samples.starts.length : count > 1) return -1;
        }
        return -1;
    }

    /**
     * Error bound of a time of this source, seconds; null: not in the segments read so far.
     * @param {number} time
     */
    bound(time) {
        const number = this.index.at(time);
        const segment = this.index.segments[number];
        const samples = segment && this.known.get(segmentKey(segment));
        if (!samples || samples.bounds.length === 0) return null;
        return samples.bounds[Math.max(0, SampleTable.count(samples.boundStarts, time) - 1)];
    }

    /**
     * @param {string} key
     * @param {Samples} samples
     * @param {number} index
     * @returns {Sample}
     */
    #sample(key, samples, index) {
        return { start: samples.starts[index], end: samples.ends[index], key };
    }
}
