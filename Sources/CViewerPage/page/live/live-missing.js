// @ts-check
// Current gaps of a source, as text.

import { causeProperty, causeText } from './causes.js';
import { clock, counted, duration } from './format.js';

/**
 * An event `gap` (proto/json/schema.json, "event").
 * @typedef {object} GapEvent
 * @property {string} session
 * @property {string} [source]
 * @property {string} [cause]
 * @property {string} [track]
 * @property {number} [samples]
 * @property {number} [startSeconds]
 * @property {number} [durationSeconds]
 * @property {string} [text]
 */

/** @typedef {{ text: string, colour: string }} Missing */

/** A gap is shown for this long after its end, seconds. */
const memory = 20;

const kinds = /** @type {Record<string, string>} */ ({ video: 'picture', audio: 'sound packet' });

/** The last gap of a source. */
export class MissingNow {
    /** @type {{ event: GapEvent, until: number } | undefined} */
    #last;

    /**
     * @param {GapEvent} event
     * @param {number} now Session time, seconds.
     */
    take(event, now) {
        const end = event.startSeconds !== undefined && event.durationSeconds !== undefined
            ? event.startSeconds + event.durationSeconds : now;
        this.#last = { event, until: Math.max(now, end) + memory };
    }

    /**
     * @param {number} now Session time, seconds.
     * @param {Date | undefined} zero The session's.
     * @returns {Missing | undefined} Undefined: nothing.
     */
    at(now, zero) {
        if (!this.#last || now > this.#last.until) return undefined;
        const { cause = '', samples, startSeconds, durationSeconds, track } = this.#last.event;
        const what = samples ? `${counted(samples, kinds[track ?? ''] ?? 'sample')} missing` : 'Something is missing';
        const since = startSeconds !== undefined && zero
            ? ` since ${clock(new Date(zero.getTime() + startSeconds * 1000))}` : '';
        const long = durationSeconds && durationSeconds >= 1 ? `, ${duration(durationSeconds)}` : '';
        return { text: `${what}${since}${long}: ${causeText(cause)}`, colour: `var(${causeProperty(cause)})` };
    }
}
