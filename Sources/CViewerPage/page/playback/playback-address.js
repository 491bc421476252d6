// @ts-check
// The URL contains the state: `/sessions/NAME?at=83.5&sources=a,b`. A copied URL opens the same picture.

import { withZone } from './zone.js';

/** Browsers limit the rate of updates, milliseconds. */
const leastPause = 400;

/**
 * A time of an address or a field: seconds, `1:23.5`, `1:02:03`, or UTC.
 * @param {string | null} text
 * @param {number} zero Milliseconds since 1970.
 * @returns {number | null}
 */
export function parseTime(text, zero) {
    const trimmed = text?.trim() ?? '';
    if (/^-?\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed);
    const parts = /^(-?)(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$/.exec(trimmed);
    if (parts) {
        const seconds = Number(parts[2] ?? 0) * 3600 + Number(parts[3]) * 60 + Number(parts[4]);
        return parts[1] ? -seconds : seconds;
    }
    const date = /^\d{4}-\d\d-\d\d/.test(trimmed) ? Date.parse(trimmed) : NaN;
    return Number.isNaN(date) ? null : (date - zero) / 1000;
}

/**
 * Seconds to a microsecond: less, and a neighbouring picture would be shown.
 * @param {number} time
 */
export const timeText = (time) => String(Number(time.toFixed(6)));

/** @param {Location | URL} location */
export const sessionOf = (location) => decodeURIComponent(location.pathname.split('/')[2] ?? '');

export class PlaybackAddress {
    /** @param {string} session */
    constructor(session) {
        this.session = session;
        this.waiting = 0;
        this.last = 0;
        this.text = '';
    }

    /**
     * @param {{ at: number, sources: string[] | null, markIn: number | null, markOut: number | null }} place Sources null: those that are
     *   shown anyway.
     */
    hold(place) {
        const parts = [`at=${timeText(place.at)}`];
        if (place.sources) parts.push(`sources=${place.sources.map(encodeURIComponent).join(',')}`);
        if (place.markIn !== null) parts.push(`in=${timeText(place.markIn)}`);
        if (place.markOut !== null) parts.push(`out=${timeText(place.markOut)}`);
        this.text = `/sessions/${encodeURIComponent(this.session)}?${parts.join('&')}`;
        if (this.waiting) return;
        const pause = Math.max(0, this.last + leastPause - performance.now());
        this.waiting = setTimeout(() => this.#write(), pause);
    }

    #write() {
        this.waiting = 0;
        this.last = performance.now();
        const address = withZone(this.text);
        if (location.pathname + location.search !== address) history.replaceState(history.state, '', address);
    }

    close() {
        clearTimeout(this.waiting);
    }
}
