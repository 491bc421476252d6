// @ts-check
// The common presentation time of a wall's tiles. If the picture of one tile is late, all wait for it, so that they stay within a picture of each
// other; the common delay need not cover the latest pictures. Values without I/O.

/** Longest time for which all tiles wait for a late one. After it, a tile that is behind by more lags alone. Seconds. */
const longestWait = 0.1;
/** Less than the distance of two pictures: the next one begins where the one before ends. Seconds. */
const before = 0.001;

/** @typedef {{ name: string, until: number }} Readiness Until: where its decoded pictures end, session time. */

export class CommonTime {
    #shown = -Infinity;
    /** Since when tiles are late, in a row. @type {Map<string, number>} */
    #late = new Map();
    /** Tiles that lag alone, until they have the shown time again. @type {Set<string>} */
    #alone = new Set();

    /**
     * The time to show now.
     * @param {number} wanted Session time by the common delay.
     * @param {Readiness[]} tiles Those that can be waited for.
     * @param {number} now Seconds of a monotonic clock.
     */
    next(wanted, tiles, now) {
        // A tile is late relative to the others. If the connection or the computer stalls, all are late, and they stay together.
        const best = tiles.reduce((most, { until }) => Math.max(most, Math.min(until, wanted)), -Infinity);
        let time = wanted;
        for (const { name, until } of tiles) {
            const behind = best - Math.min(until, wanted);
            if (behind === 0) this.#late.delete(name);
            const since = this.#late.get(name) ?? now;
            if (behind > 0) this.#late.set(name, since);
            // After the page was suspended, the pictures of all tiles arrive one after the other: then no tile is late for long.
            if (behind > longestWait && now - since >= longestWait) this.#alone.add(name);
            else if (until >= this.#shown || behind === 0) this.#alone.delete(name);
            if (!this.#alone.has(name)) time = Math.min(time, until - before);
        }
        // Not back in time: the pictures before are gone.
        this.#shown = Math.max(time, Math.min(this.#shown, wanted));
        return this.#shown;
    }

    /** @param {string} name A tile that is removed. */
    remove(name) {
        this.#alone.delete(name);
        this.#late.delete(name);
    }
}

/** Longest decoding that the common delay covers, seconds: more is a backlog, which a longer delay would not end. */
const longestDecoding = 0.1;

/**
 * The delay at which a picture could be shown at its time.
 * @param {object} picture Seconds.
 * @param {number} picture.age Since it was captured.
 * @param {number} picture.held Of it: not decoded, because it was not due.
 * @param {number} picture.decoding Of it: until it was decoded.
 */
export const needOf = ({ age, held, decoding }) => age - held - Math.max(0, decoding - longestDecoding);

/** The median of so many distances: one lost picture changes nothing. */
const distances = 9;
/** A greater distance is a gap, seconds. */
const gap = 2;

/** The usual distance of a source's pictures, which a camera makes greater in the dark. */
export class PictureDistance {
    /** @type {number[]} The last ones. */
    #seen = [];
    #last = NaN;

    /**
     * @param {number} time Of the next picture, session time.
     * @param {number} duration As the source states it.
     * @returns {number} Where the picture ends.
     */
    end(time, duration) {
        const distance = time - this.#last;
        if (distance > 0 && distance < gap) this.#seen.push(distance);
        if (this.#seen.length > distances) this.#seen.shift();
        this.#last = time;
        const sorted = [...this.#seen].sort((one, other) => one - other);
        return time + Math.max(duration, sorted[Math.floor(sorted.length / 2)] ?? 0);
    }
}
