// @ts-check
// The last hour of a collector, second by second: in steps, from the viewer's history, and then from each status.

import { get } from './api.js';
import { listen } from './events.js';
import { bitRate, bytes, shortTime } from './format.js';

/** @typedef {import('./live-tile.js').SourceStatus} SourceStatus */

/**
 * The collector's status (proto/json/schema.json, "tributary top").
 * @typedef {object} SiteStatus
 * @property {string} version
 * @property {boolean} isReady
 * @property {number} [progressAgeSeconds]
 * @property {string} [session]
 * @property {number} [sessionSeconds]
 * @property {number} [residentBytes]
 * @property {number} refusedConnections
 * @property {{reason: string, count: number}[]} [refusals]
 * @property {import('./disk-words.js').Disk} disk
 * @property {{ name: string, state: string }[]} [collectors] Of a site.
 * @property {SourceStatus[]} sources
 * @property {number} omittedSources
 */

/** An hour, second by second. */
export const capacity = 3600;
/** Without a status for this long, the collector or the viewer does not respond. Seconds. */
const silence = 5;
/** Limit of sources. */
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
        // Skipped seconds are unknown, up to the whole hour.
        for (let skipped = Math.max(this.#last + 1, second - capacity + 1); skipped < second; skipped += 1) {
            // A single skipped second is rounding.
            this.#values[skipped % capacity] = second - this.#last === 2 ? (value ?? NaN) : NaN;
        }
        this.#values[second % capacity] = value ?? NaN;
        this.#last = second;
    }

    /**
     * Sets a past value that is unknown.
     * @param {number} second
     * @param {number} value
     */
    fill(second, value) {
        if (second < 0 || second <= this.#last - capacity) return;
        if (second > this.#last) this.put(second, value);
        else if (Number.isNaN(this.#values[second % capacity])) this.#values[second % capacity] = value;
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
     * Increase of a counter.
     * @param {number} second End of the interval.
     * @param {number} seconds Its length.
     */
    growth(second, seconds) {
        const last = this.at(second);
        let first = last;
        for (let ago = 1; ago <= seconds; ago += 1) {
            const value = this.at(second - ago);
            // A restarted collector counts from zero.
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

/**
 * A figure of a source.
 * @typedef {object} Figure
 * @property {(status: SourceStatus) => number | undefined} of
 * @property {string} [title] Of its plot; without one it has none.
 * @property {(value: number) => string} format
 * @property {number} least The plot's upper end is at least this, so that noise does not look like trouble.
 */
/** @typedef {'lagSeconds' | 'bitsPerSecond' | 'clockBoundSeconds' | 'spoolBytes' | 'lostSamples' | 'gaps'} FigureName */

const whole = (/** @type {number} */ value) => Math.round(value).toLocaleString();

/**
 * All figures, by their name in the viewer's history (proto/openapi.yaml, "History"), in the order of their plots.
 * @type {Record<FigureName, Figure>}
 */
export const figures = {
    lagSeconds: { of: (status) => status.lagSeconds, title: 'Lag', format: shortTime, least: 0.5 },
    bitsPerSecond: { of: (status) => status.bitsPerSecond, title: 'Bit rate', format: bitRate, least: 100_000 },
    clockBoundSeconds: { of: (status) => status.clockBoundSeconds, title: 'Clock error', format: (value) => `±${shortTime(value)}`, least: 0.001 },
    spoolBytes: { of: (status) => status.spoolBytes, title: 'Kept on the box', format: bytes, least: 1_000_000 },
    lostSamples: { of: (status) => status.lostSamples, title: 'Lost samples', format: whole, least: 10 },
    // Gaps that were requested do not count.
    gaps: { of: ({ gaps }) => gaps.reduce((sum, gap) => sum + (gap.cause === 'command' ? 0 : gap.count), 0), format: whole, least: 1 },
};
const names = /** @type {FigureName[]} */ (Object.keys(figures));

/** The figures of a source over the last hour. */
export class SourceHistory {
    series = /** @type {Record<FigureName, Series>} */ (Object.fromEntries(names.map((name) => [name, new Series()])));

    /**
     * @param {number} second
     * @param {SourceStatus} status
     */
    put(second, status) {
        for (const name of names) this.series[name].put(second, figures[name].of(status));
    }

    /**
     * Fills unknown values with those that the viewer has stored.
     * @param {Remembered} source
     * @param {number} last Start of the last step.
     * @param {number} step Duration of a step, seconds.
     * @param {number} now
     */
    fill(source, last, step, now) {
        for (const name of names) {
            const values = source[name];
            values.forEach((value, index) => {
                const start = last - (values.length - 1 - index) * step;
                for (let second = start; second < Math.min(start + step, now); second += 1) if (value !== null) this.series[name].fill(second, value);
            });
        }
    }
}

/**
 * The viewer's history of a source, the oldest step first (proto/openapi.yaml, "History").
 * @typedef {{ name: string } & Record<FigureName, (number | null)[]>} Remembered
 */

export class History {
    /** @type {Map<string, SourceHistory>} */
    sources = new Map();
    refused = new Series();
    free = new Series();
    /** @type {SiteStatus | undefined} */
    status;
    /** When the last status came, whole seconds of {@link now}. */
    second = -1;
    /** The connection for events is open. */
    isConnected = false;
    /** When that changed, or the page came into view, whole seconds of {@link now}. */
    #changed = capacity;
    /** An hour before the page was opened. */
    #origin = performance.now() - capacity * 1000;
    /** The oldest second with data. */
    #first = capacity;

    /** Whole seconds; the first hour is before the page was opened. */
    get now() {
        return Math.floor((performance.now() - this.#origin) / 1000);
    }

    /** Seconds since the page was opened. */
    get openFor() {
        return this.now - capacity;
    }

    /** No status has come for a while. */
    get isSilent() {
        return this.second < 0 || this.now - this.second > silence;
    }

    /** No status has come, and the connection is too new to know the reason. */
    get isAwaited() {
        return this.isSilent && this.now - this.#changed < silence;
    }

    /** The duration to draw, seconds: up to an hour. */
    get span() {
        return [300, 900, 1800].find((span) => span >= this.now - this.#first) ?? capacity;
    }

    /** Starts to listen; it never stops while the page is open. */
    constructor() {
        listen('status', (status) => this.#take(status));
        listen('connection', (isOpen) => {
            this.isConnected = isOpen;
            this.#changed = this.now;
        });
        document.addEventListener('visibilitychange', () => {
            this.#changed = this.now;
        });
        void this.#remember();
    }

    /** Requests the viewer's history. */
    async #remember() {
        try {
            const { stepSeconds, lastStepAgeSeconds, sources } = await get('/api/v1/history');
            const last = Math.round(this.now - lastStepAgeSeconds);
            for (const source of /** @type {Remembered[]} */ (sources)) {
                const own = this.#source(source.name);
                const steps = source.lagSeconds.length;
                this.#first = Math.max(0, Math.min(this.#first, last - (steps - 1) * stepSeconds));
                own?.fill(source, last, stepSeconds, this.now);
            }
        } catch {
            // Then it is kept from now on.
        }
    }

    /** @param {string} name */
    #source(name) {
        const known = this.sources.get(name);
        if (known || this.sources.size >= mostSources) return known;
        const made = new SourceHistory();
        this.sources.set(name, made);
        return made;
    }

    /** @param {SiteStatus} status */
    #take(status) {
        this.status = status;
        this.second = this.now;
        this.refused.put(this.second, status.refusedConnections);
        this.free.put(this.second, status.disk.freeBytes);
        for (const source of status.sources) this.#source(source.name)?.put(this.second, source);
    }
}

/** @type {History | undefined} */
let history;

/** The page's history, created on first use. */
export function keptHistory() {
    history ??= new History();
    return history;
}
