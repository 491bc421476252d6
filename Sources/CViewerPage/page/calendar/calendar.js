// @ts-check
// `/calendar?day=2026-11-20`: a month, with the recorded times of each day by source, and single days, over all sessions.

import { ApiError } from './api.js';
import { element, setText } from './element.js';
import { listen } from './events.js';
import { day as dayText } from './format.js';
import { DayStrip, dayOf, fineColumns, readRecorded } from './sessions-day.js';
import { setTitle } from './shell.js';
import { localParts, readInstant, withZone, zone } from './zone.js';

/** Columns of a day in the month: a quarter of an hour each. */
const columns = 96;
/** Lanes of a day of the month. */
const mostLanes = 4;
/** Events are debounced, and growing recordings are polled, milliseconds. */
const settle = 1000;
const period = 60_000;

/** @typedef {import('./sessions-day.js').SourceRecord} SourceRecord */
/** @typedef {{ start: Date, end: Date }} Day */

/** @type {import('./main.js').Open} */
export function open(root, location) {
    setTitle('Calendar');
    return new CalendarPage(root, location);
}

/**
 * `2026-11-20` in the zone that is shown.
 * @param {Date} date
 */
const dateText = (date) => localParts(date).slice(0, 3).map((part) => String(part).padStart(2, '0')).join('-');

/**
 * The day a number of days later.
 * @param {Day} day
 * @param {number} days
 * @returns {Day}
 */
function dayAway({ start }, days) {
    const [year, month, number] = localParts(start);
    const text = new Date(Date.UTC(year, month - 1, number + days, 12)).toISOString().slice(0, 10);
    const found = readInstant(`${text} 12:00`, start);
    // If noon does not exist, the zone's calendar skips the day.
    return dayOf('date' in found ? found.date : new Date(start.getTime() + days * 86_400_000));
}

class CalendarPage {
    /**
     * @param {HTMLElement} root
     * @param {Location} location
     */
    constructor(root, location) {
        this.abort = new AbortController();
        this.month = element('h2', { 'aria-live': 'polite' });
        this.grid = element('table', { className: 'month' });
        this.found = element('p', { className: 'found muted', role: 'status' });
        this.days = element('div', { className: 'days' });
        const turn = (/** @type {string} */ text, /** @type {string} */ label, /** @type {number} */ months) =>
            element('a', { className: 'button', 'aria-label': label, dataset: { months: String(months) } }, text);
        this.turns = [turn('‹', 'Month before', -1), turn('›', 'Month after', 1)];
        root.append(element('h1', { className: 'unseen' }, 'Calendar'), element('div', { className: 'calendar-parts' },
            element('section', { className: 'card', 'aria-label': 'Month' }, element('div', { className: 'month-head' }, this.turns[0], this.month, this.turns[1],
                element('a', { className: 'button', href: '/calendar' }, 'Today')), this.grid),
            element('section', { className: 'chosen', 'aria-label': 'Days' }, this.found, this.days)));
        this.settling = 0;
        this.isChosen = false;
        this.day = dayOf(new Date());
        /**
         * Days in full, the newest first.
         * @type {Day[]}
         */
        this.shown = [];
        /** @type {{ day: Day, cell: HTMLElement, lanes: HTMLElement, label: string }[]} */
        this.cells = [];
        this.stopListening = ['session', 'sessionEnded', 'sessionChanged', 'sessionRemoved', 'lost'].map((name) => listen(name, () => {
            clearTimeout(this.settling);
            this.settling = setTimeout(() => void this.#read(), settle);
        }));
        this.timer = setInterval(() => void this.#read(), period);
        this.#take(location);
    }

    close() {
        this.abort.abort();
        clearTimeout(this.settling);
        clearInterval(this.timer);
        for (const stop of this.stopListening) stop();
    }

    state() {
        return { mode: 'calendar', at: null, rate: 0, sources: {} };
    }

    /** @param {Location} location */
    move(location) {
        this.#take(location);
        return true;
    }

    /** @param {Location} location */
    #take({ search }) {
        const wanted = new URLSearchParams(search).get('day') ?? '';
        const found = readInstant(`${wanted} 12:00`, new Date());
        this.isChosen = /^\d{4}-\d\d-\d\d$/.test(wanted) && 'date' in found;
        this.day = dayOf(this.isChosen && 'date' in found ? found.date : new Date());
        // Without a day: today and yesterday.
        this.shown = this.isChosen ? [this.day] : [this.day, dayAway(this.day, -1)];
        this.days.replaceChildren();
        setText(this.found, 'Reading what was recorded…');
        this.#drawMonth();
        void this.#read();
    }

    /** All days of the month, from Monday to Sunday. */
    #drawMonth() {
        const [year, month, number] = localParts(this.day.start);
        const first = dayAway(this.day, 1 - number);
        const name = (/** @type {Intl.DateTimeFormatOptions} */ options, /** @type {Date} */ date) =>
            new Intl.DateTimeFormat(undefined, { timeZone: zone(), ...options }).format(date);
        setText(this.month, name({ month: 'long', year: 'numeric' }, first.start));
        for (const turn of this.turns) {
            const other = new Date(Date.UTC(year, month - 1 + Number(turn.dataset.months), 1));
            turn.setAttribute('href', withZone(`/calendar?day=${other.toISOString().slice(0, 10)}`));
        }
        // Monday is 1 of Date's week.
        const before = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7;
        const count = new Date(Date.UTC(year, month, 0)).getUTCDate();
        const weeks = Math.ceil((before + count) / 7);
        this.cells = [];
        const heads = Array.from({ length: 7 }, (_, index) => {
            const date = dayAway(first, index - before).start;
            return element('th', { scope: 'col', abbr: name({ weekday: 'long' }, date) }, name({ weekday: 'short' }, date));
        });
        const rows = Array.from({ length: weeks }, (_, week) => element('tr', {}, ...Array.from({ length: 7 }, (_, index) => {
            const away = week * 7 + index - before;
            if (away < 0 || away >= count) return element('td');
            const day = dayAway(first, away);
            const lanes = element('span', { className: 'mini' });
            const isShown = this.shown.some(({ start }) => start.getTime() === day.start.getTime());
            const label = dayText(day.start);
            const cell = element('a', { className: 'none', href: `/calendar?day=${dateText(day.start)}`, 'aria-label': label, ...(isShown ? { 'aria-current': 'date' } : {}) },
                element('span', { className: 'number' }, String(away + 1)), lanes);
            this.cells.push({ day, cell, lanes, label });
            return element('td', {}, cell);
        })));
        this.grid.replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...rows));
    }

    async #read() {
        this.abort.abort();
        this.abort = new AbortController();
        const { signal } = this.abort;
        const { shown, cells } = this;
        const readMonth = async () => {
            const [start, end] = [cells[0].day.start, cells[cells.length - 1].day.end];
            const records = await readRecorded(start, end, cells.length * columns, signal);
            for (const cell of cells) this.#fill(cell, records);
        };
        const readDays = async () => {
            const [start, end] = [shown[shown.length - 1].start, shown[0].end];
            const records = await readRecorded(start, end, shown.length * fineColumns, signal);
            this.#showDays(shown, records);
        };
        try {
            await Promise.all([readDays(), readMonth()]);
        } catch (error) {
            if (signal.aborted) return;
            setText(this.found, error instanceof ApiError ? error.text : String(error));
        }
    }

    /**
     * Lanes of a day of the month: each source that was recorded.
     * @param {{ day: Day, cell: HTMLElement, lanes: HTMLElement, label: string }} cell
     * @param {SourceRecord[]} records
     */
    #fill({ day, cell, lanes, label }, records) {
        const [start, end] = [day.start.getTime(), day.end.getTime()];
        const place = (/** @type {number} */ time) => ((Math.max(start, Math.min(end, time)) - start) / (end - start)) * 100;
        const own = records.map(({ source, recorded }) => ({ source, spans: recorded.map((span) => [Date.parse(span.start), Date.parse(span.end)])
            .filter(([from, until]) => until > start && from < end) })).filter(({ spans }) => spans.length > 0);
        lanes.replaceChildren(...own.slice(0, mostLanes).map(({ spans }) => element('span', {}, ...spans.map(([from, until]) =>
            element('span', { style: { left: `${place(from)}%`, width: `${place(until) - place(from)}%` } })))),
        ...(own.length > mostLanes ? [element('span', { className: 'rest' }, `+${own.length - mostLanes}`)] : []));
        const names = own.map(({ source }) => source).join(', ');
        cell.title = names ? `${label}: ${names}` : `${label}: nothing recorded`;
        cell.setAttribute('aria-label', cell.title);
        cell.classList.toggle('none', own.length === 0);
    }

    /**
     * @param {Day[]} days
     * @param {SourceRecord[]} records
     */
    #showDays(days, records) {
        const focus = [...this.days.querySelectorAll('.day-field')].indexOf(/** @type {Element} */ (document.activeElement));
        const sections = days.map((day) => {
            const strip = new DayStrip(day);
            strip.addRecords(records);
            const title = dayText(day.start);
            return element('section', { 'aria-label': title, dataset: { day: dateText(day.start) } }, element('h2', {}, title),
                strip.element.hidden ? element('p', { className: 'muted' }, 'Nothing was recorded on this day.') : strip.element);
        });
        this.days.replaceChildren(...sections);
        const field = this.days.querySelectorAll('.day-field')[focus];
        if (field instanceof HTMLElement) field.focus({ preventScroll: true });
        setText(this.found, records.length > 0 ? 'A click on a lane opens that instant.' : '');
    }
}
