// @ts-check
// The last hour of a collector, second by second, kept in memory from when the page was opened.

import { listen } from './events.js';

/** @typedef {import('./live-tile.js').SourceStatus} SourceStatus */

/**
 * What a collector does (proto/json/schema.json, "tributary top").
 * @typedef {object} SiteStatus
 * @property {string} version
 * @property {boolean} isReady
 * @property {number} [progressAgeSeconds]
 * @property {string} [session]
 * @property {number} [sessionSeconds]
 * @property {number} [residentBytes]
 * @property {number} refusedConnections
 * @property {import('./disk-words.js').Disk} disk
 * @property {SourceStatus[]} sources
 * @property {number} omittedSources
 */

/** An hour, second by second. */
export const capacity = 3600;
/** More are drawn by nobody. */
const mostSources = 512;

/** Values of the last hour; NaN where nothing is known. */
export class Series {
    #values = new Float64Array(capacity).fill(NaN);
    #last = -1;

    /**
     * @param {number} second Whole seconds of any clock that goes forward.
     * @param {number | undefined} value
     */
    put(second, value) {
        // What was skipped is not known; after more than an hour nothing is.
        for (let skipped = Math.max(this.#last + 1, second - capacity + 1); skipped < second; skipped += 1) {
            // One second alone is the clocks' rounding.
            this.#values[skipped % capacity] = second - this.#last === 2 ? (value ?? NaN) : NaN;
        }
        this.#values[second % capacity] = value ?? NaN;
        this.#last = second;
    }

    /**
     * @param {number} second
     * @returns {number} NaN: not known.
     */
    at(second) {
        if (second < 0 || second > this.#last || second <= this.#last - capacity) return NaN;
        return this.#values[second % capacity];
    }

    /**
     * How much a value that only grows has grown.
     * @param {number} second Until then.
     * @param {number} seconds For so long.
     */
    growth(second, seconds) {
        const last = this.at(second);
        let first = last;
        for (let ago = 1; ago <= seconds; ago += 1) {
            const value = this.at(second - ago);
            // It begins again with the collector.
            if (value > first) break;
            if (!Number.isNaN(value)) first = value;
        }
        return Number.isNaN(last) ? 0 : last - first;
    }

    /**
     * The newest value that is not old.
     * @param {number} second
     */
    newest(second) {
        for (let ago = 0; ago < 3; ago += 1) if (!Number.isNaN(this.at(second - ago))) return this.at(second - ago);
        return NaN;
    }

    /** Least, mean and greatest of the hour; undefined: nothing is known. */
    get summary() {
        let [count, sum, least, greatest] = [0, 0, Infinity, -Infinity];
        for (let second = Math.max(0, this.#last - capacity + 1); second <= this.#last; second += 1) {
            const value = this.#values[second % capacity];
            if (Number.isNaN(value)) continue;
            count += 1;
            sum += value;
            least = Math.min(least, value);
            greatest = Math.max(greatest, value);
        }
        return count ? { least, mean: sum / count, greatest } : undefined;
    }
}

/** The figures of a source. */
export class SourceHistory {
    lag = new Series();
    rate = new Series();
    bound = new Series();
    spool = new Series();
    lost = new Series();
    /** How many gaps there are that nobody has asked for. */
    gaps = new Series();

    /**
     * @param {number} second
     * @param {SourceStatus} status
     */
    put(second, status) {
        this.lag.put(second, status.lagSeconds);
        this.rate.put(second, status.bitsPerSecond);
        this.bound.put(second, status.clockBoundSeconds);
        this.spool.put(second, status.spoolBytes);
        this.lost.put(second, status.lostSamples);
        this.gaps.put(second, status.gaps.reduce((sum, gap) => sum + (gap.cause === 'command' ? 0 : gap.count), 0));
    }
}

export class History {
    /** @type {Map<string, SourceHistory>} */
    sources = new Map();
    refused = new Series();
    free = new Series();
    /** @type {SiteStatus | undefined} */
    status;
    /** When the last status came, whole seconds of {@link now}. */
    second = -1;
    #origin = performance.now();

    /** Whole seconds since the page was opened. */
    get now() {
        return Math.floor((performance.now() - this.#origin) / 1000);
    }

    /** How much of the hour there is to draw, seconds. */
    get span() {
        return [300, 900, 1800].find((span) => span >= this.now) ?? capacity;
    }

    /** Starts to listen; it never stops while the page is open. */
    constructor() {
        listen('status', (status) => this.#take(status));
    }

    /** @param {SiteStatus} status */
    #take(status) {
        this.status = status;
        this.second = this.now;
        this.refused.put(this.second, status.refusedConnections);
        this.free.put(this.second, status.disk.freeBytes);
        for (const source of status.sources) {
            let own = this.sources.get(source.name);
            if (!own) {
                if (this.sources.size >= mostSources) continue;
                own = new SourceHistory();
                this.sources.set(source.name, own);
            }
            own.put(this.second, source);
        }
    }
}

/** @type {History | undefined} */
let history;

/** The history of this page: there is one, from when it is asked for first. */
export function keptHistory() {
    history ??= new History();
    return history;
}
