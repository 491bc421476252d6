// @ts-check
// One day over all sessions: a lane per source with its recorded spans; a click opens that instant.

import { address, get } from './api.js';
import { element, setText } from './element.js';
import { clock } from './format.js';
import { navigate } from './main.js';
import { localParts, offsetMinutes, offsetText, readInstant } from './zone.js';

/** Limit of lanes; the sessions below name all sources. */
const mostLanes = 16;
/** Step of arrow and page keys, milliseconds. */
const step = 300_000;
const farStep = 3_600_000;
/** Distance at which a click selects a session, CSS pixels: it may be shorter than a pixel. */
const grip = 3;
/** Columns of a day: two a minute. */
export const fineColumns = 2880;
/** The hours that are marked, and their search: offsets change by half an hour at least. */
const markedHours = 3;
const markStep = 1_800_000;
/** Limit of days that a session is shown on. */
const mostDays = 62;

/**
 * When the day of an instant begins and ends, in the zone that is shown: 23 to 25 hours.
 * @param {Date} date
 */
export function dayOf(date) {
    const [year, month, number] = localParts(date);
    const begin = (/** @type {number} */ away) => {
        const noon = new Date(Date.UTC(year, month - 1, number + away));
        const text = noon.toISOString().slice(0, 10);
        // Where clocks are put forward at midnight, the day begins at one.
        for (const time of ['00:00', '01:00']) {
            const found = readInstant(`${text} ${time}`, date);
            if ('date' in found) return found.date;
        }
        return noon;
    };
    return { start: begin(0), end: begin(1) };
}

/**
 * The marked hours of a day, its beginning and its end, in local time.
 * @param {number} start
 * @param {number} end
 */
export function hoursOf(start, end) {
    /** @type {{ time: number, text: string }[]} */
    const marks = [];
    let last = -1;
    for (let time = start; time <= end; time += markStep) {
        const [, , , hour, minute] = localParts(new Date(time));
        const isMarked = minute === 0 && hour % markedHours === 0 && hour !== last;
        if (!isMarked && time !== start && time !== end) continue;
        last = hour;
        marks.push({ time, text: [hour, minute].map((part) => String(part).padStart(2, '0')).join(':') });
    }
    return marks;
}

/**
 * The offset from UTC of a day, where it is not the present one; both, where it changes: `UTC−4/−5`.
 * @param {number} start
 * @param {number} end
 */
export function offsetOf(start, end) {
    const [first, last] = [start, end - 1].map((time) => offsetMinutes(new Date(time)));
    if (first !== last) return `${offsetText(first)}/${offsetText(last).replace(/^UTC(?=.)/, '')}`;
    return first === offsetMinutes(new Date()) ? '' : offsetText(first);
}

/**
 * Days that a session is recorded on, the first and the last included.
 * @param {Date} start
 * @param {Date} end
 */
export function daysOf(start, end) {
    const days = [dayOf(start)];
    while (days[days.length - 1].end < end && days.length < mostDays) days.push(dayOf(days[days.length - 1].end));
    return days;
}

/** @typedef {{ source: string, previewOf?: string, recorded: { session: string, start: string, end: string }[] }} SourceRecord */

/**
 * Recorded spans between two instants, of all sessions, without those of previews.
 * @param {Date} from
 * @param {Date} until
 * @param {number} pixels
 * @param {AbortSignal} [signal]
 * @returns {Promise<SourceRecord[]>}
 */
export async function readRecorded(from, until, pixels, signal) {
    /** @type {SourceRecord[]} */
    const records = await get(`/api/v1/recorded?from=${from.toISOString()}&until=${until.toISOString()}&pixels=${pixels}`, signal);
    return records.filter(({ previewOf }) => previewOf === undefined);
}

/**
 * A recorded span of a source in one session, milliseconds since 1970.
 * @typedef {object} Span
 * @property {string} session
 * @property {number} start
 * @property {number} end
 */

export class DayStrip {
    /** @param {{ start: Date, end: Date }} day */
    constructor({ start, end }) {
        this.start = start.getTime();
        this.end = end.getTime();
        /** @type {Map<string, Span[]>} */
        this.spans = new Map();
        this.isRead = false;
        this.at = (this.start + this.end) / 2;
        this.lanes = element('div', { className: 'lanes' });
        this.place = element('span', { className: 'at figures', hidden: true });
        this.field = element('div', { className: 'day-field', tabIndex: 0, role: 'slider', 'aria-label': 'Time of this day' }, this.lanes, this.place);
        this.element = element('div', { className: 'day', hidden: true }, this.field,
            element('div', { className: 'hours muted figures' }, element('small', {}, offsetOf(this.start, this.end)), ...hoursOf(this.start, this.end).map(({ time, text }) =>
                element('span', { style: { left: `${((time - this.start) / (this.end - this.start)) * 100}%` } }, text))));
        /** The precise time of the pointer; clicks have whole pixels, which are minutes. */
        this.pointed = { x: NaN, time: 0 };
        this.field.addEventListener('pointermove', (event) => {
            this.pointed = { x: event.clientX, time: this.#time(event) };
            this.#show(this.pointed.time);
        });
        this.field.addEventListener('pointerleave', () => { this.place.hidden = true; });
        this.field.addEventListener('click', (event) => this.#open(Math.abs(event.clientX - this.pointed.x) <= 1 ? this.pointed.time : this.#time(event)));
        this.field.addEventListener('keydown', (event) => this.#press(event));
        this.#describe();
    }

    /**
     * Adds empty lanes, so that what is below does not move when their spans are read.
     * @param {string[]} sources
     */
    reserve(sources) {
        for (const source of sources) if (!this.spans.has(source)) this.spans.set(source, []);
        this.#draw();
    }

    /**
     * Adds the recorded spans of this day, of all sessions.
     * @param {SourceRecord[]} records
     */
    addRecords(records) {
        this.isRead = true;
        for (const { source, recorded } of records) {
            const spans = recorded.map(({ session, start, end }) => ({ session, start: Date.parse(start), end: Date.parse(end) }))
                .filter(({ start, end }) => end > this.start && start < this.end);
            if (spans.length > 0) this.spans.set(source, spans);
        }
        this.#draw();
    }

    #draw() {
        const names = [...this.spans.keys()].sort((one, other) => one.localeCompare(other, undefined, { numeric: true })).slice(0, mostLanes);
        const place = (/** @type {number} */ time) => ((Math.max(this.start, Math.min(this.end, time)) - this.start) / (this.end - this.start)) * 100;
        this.element.hidden = names.length === 0;
        this.lanes.replaceChildren(...names.map((name) => element('div', { className: 'lane' }, element('span', { className: 'source' }, name),
            element('div', { className: 'track' }, ...(this.spans.get(name) ?? []).map(({ start, end }) => element('span', {
                style: { left: `${place(start)}%`, width: `${place(end) - place(start)}%` } }))))));
        this.#describe();
    }

    /** @param {PointerEvent | MouseEvent} event */
    #time(event) {
        const box = this.lanes.querySelector('.track')?.getBoundingClientRect() ?? this.field.getBoundingClientRect();
        const part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
        return this.start + part * (this.end - this.start);
    }

    /** The time of a few pixels, milliseconds. */
    get #near() {
        const width = this.lanes.querySelector('.track')?.clientWidth ?? 0;
        return width > 0 ? ((this.end - this.start) / width) * grip : 0;
    }

    /**
     * The sources that are recorded near an instant, of the session with most of them; undefined: none.
     * @param {number} time
     * @param {number} near Milliseconds.
     */
    #most(time, near) {
        /** @type {Map<string, { span: Span, sources: string[] }>} */
        const found = new Map();
        for (const [source, spans] of this.spans) {
            const known = new Set();
            for (const span of spans) {
                if (time < span.start - near || time >= span.end + near || known.has(span.session)) continue;
                known.add(span.session);
                const entry = found.get(span.session);
                if (entry) entry.sources.push(source);
                else found.set(span.session, { span, sources: [source] });
            }
        }
        return [...found.values()].sort((one, other) => other.sources.length - one.sources.length)[0];
    }

    /** @param {number} time */
    #found(time) {
        return this.#most(time, 0) ?? this.#most(time, this.#near);
    }

    /** @param {number} time */
    #words(time) {
        const found = this.#found(time);
        return `${clock(new Date(time))}, ${found ? found.sources.join(', ') : this.isRead ? 'nothing recorded' : 'being read'}`;
    }

    /** @param {number} time */
    #show(time) {
        const box = this.field.getBoundingClientRect();
        const track = this.lanes.querySelector('.track')?.getBoundingClientRect() ?? box;
        const x = track.left - box.left + ((time - this.start) / (this.end - this.start)) * track.width;
        this.place.hidden = false;
        setText(this.place, this.#words(time));
        this.place.style.left = `${Math.max(0, Math.min(box.width - this.place.offsetWidth, x + 6))}px`;
        this.field.style.setProperty('--at', `${x}px`);
    }

    #describe() {
        this.field.setAttribute('aria-valuemin', '0');
        this.field.setAttribute('aria-valuemax', String(Math.round((this.end - this.start) / 60_000)));
        this.field.setAttribute('aria-valuenow', String(Math.round((this.at - this.start) / 60_000)));
        this.field.setAttribute('aria-valuetext', this.#words(this.at));
    }

    /** @param {number} time */
    #open(time) {
        const found = this.#found(time);
        if (!found) return;
        const { session, start, end } = found.span;
        const at = new Date(Math.round(Math.max(start, Math.min(end - 1, time))));
        navigate(`${address`/sessions/${session}`}?at=${at.toISOString()}`);
    }

    /** @param {KeyboardEvent} event */
    #press(event) {
        const away = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step, PageUp: farStep, PageDown: -farStep }[event.key];
        if (away === undefined && event.key !== 'Enter' && event.key !== 'Home' && event.key !== 'End') return;
        event.preventDefault();
        if (event.key === 'Enter') return this.#open(this.at);
        this.at = event.key === 'Home' ? this.start : event.key === 'End' ? this.end - 1 : this.at + (away ?? 0);
        this.at = Math.max(this.start, Math.min(this.end - 1, this.at));
        this.#describe();
        this.#show(this.at);
    }
}
