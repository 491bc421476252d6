// @ts-check
// `/sessions?text=&from=&until=`: all sessions by day, newest first.

import { account } from './api.js';
import { button, element, setText } from './element.js';
import { listen } from './events.js';
import { counted, day } from './format.js';
import { DayStrip, dayOf, daysOf, fineColumns, readRecorded } from './sessions-day.js';
import { DetailReader, isRecording, readDetails } from './sessions-details.js';
import { editSession, endSession, protectSession, removeSession } from './sessions-edit.js';
import { sessionItem } from './sessions-item.js';
import { zeroOf } from './session-name.js';
import { mainSources, queryOf, searchOf, SessionList } from './sessions-list.js';
import { searchForm } from './sessions-search.js';
import { setTitle } from './shell.js';
import { withZone } from './zone.js';

/** Events within this time cause one reading of the list, milliseconds. */
const settle = 1000;
/** Sessions that are being recorded are read again at this interval, and when no status has come for a while; milliseconds. */
const period = 10_000;
const silence = 5000;

/**
 * @param {HTMLElement} root
 * @param {Location} location
 */
export async function open(root, location) {
    setTitle('Sessions');
    const { role } = await account();
    return new SessionsPage(root, location, role === 'operator');
}

/**
 * @typedef {object} Section
 * @property {number} key
 * @property {HTMLElement} section
 * @property {DayStrip} [strip]
 * @property {import('./sessions-day.js').SourceRecord[]} [records] What was recorded on this day; missing: not read yet.
 */

class SessionsPage {
    /**
     * @param {HTMLElement} root
     * @param {Location} location
     * @param {boolean} mayOperate
     */
    constructor(root, location, mayOperate) {
        this.mayOperate = mayOperate;
        this.days = element('div', { className: 'days' });
        this.words = element('p', { className: 'found muted', role: 'status', tabIndex: -1 }, 'Reading the list of sessions…');
        this.more = button('Older sessions', () => void this.#next(), { className: 'more', hidden: true });
        this.form = element('div');
        root.append(element('h1', {}, 'Sessions'), this.form, this.words, this.days, this.more);
        this.count = 0;
        /** @type {Section[]} Newest first. */
        this.sections = [];
        /** @type {Set<string>} Sessions that are listed. */
        this.listed = new Set();
        this.settling = 0;
        /**
         * Listed sessions that are being recorded, and how to show their details.
         * @type {Map<string, (details: import('./sessions-details.js').Details) => void>}
         */
        this.recording = new Map();
        this.isRefreshing = false;
        /** @type {DetailReader | undefined} */
        this.reader = undefined;
        /** @type {SessionList | undefined} */
        this.list = undefined;
        /** @type {import('./sessions-list.js').Search} */
        this.search = searchOf(location.search);
        this.#open(this.search);
        this.stopListening = ['session', 'sessionEnded', 'sessionChanged', 'sessionRemoved', 'lost'].map((name) => listen(name, () => {
            clearTimeout(this.settling);
            this.settling = setTimeout(() => this.#open(this.search, this.count), settle);
        }));
        this.refreshing = setInterval(() => void this.#refresh(), period);
        this.waiting = 0;
        this.stopListening.push(listen('status', () => {
            clearTimeout(this.waiting);
            this.waiting = setTimeout(() => void this.#refresh(), silence);
        }));
    }

    /** Reads the sessions that are being recorded; if one no longer is, the whole list. */
    async #refresh() {
        if (this.isRefreshing || document.hidden) return;
        this.isRefreshing = true;
        const { reader } = this;
        try {
            for (const [session, show] of this.recording) {
                const details = await readDetails(session);
                // The list has been read again.
                if (reader !== this.reader) break;
                if (!details.isRecording) {
                    this.#open(this.search, this.count);
                    break;
                }
                show(details);
            }
        } catch {
            // The next attempt follows; the page's other requests report the error.
        }
        this.isRefreshing = false;
    }

    close() {
        clearTimeout(this.settling);
        clearTimeout(this.waiting);
        clearInterval(this.refreshing);
        for (const stop of this.stopListening) stop();
        this.list?.close();
        this.reader?.close();
    }

    state() {
        return { mode: 'sessions', at: null, rate: 0, sources: {} };
    }

    /** @param {Location} location */
    move(location) {
        this.#open(searchOf(location.search));
        return true;
    }

    /**
     * @param {import('./sessions-list.js').Search} search
     * @param {number} [least] As many sessions as were shown before.
     */
    #open(search, least = 0) {
        const isSame = this.form.hasChildNodes() && queryOf(this.search) === queryOf(search);
        this.search = search;
        this.list?.close();
        this.reader?.close();
        this.list = new SessionList(search);
        this.reader = new DetailReader();
        if (!isSame) {
            this.form.replaceChildren(searchForm(search, (wanted) => {
                history.pushState(null, '', withZone(`/sessions${queryOf(wanted)}`));
                this.#open(wanted);
            }));
        }
        this.count = 0;
        this.isFresh = true;
        void this.#next(least);
    }

    /** @param {number} [least] */
    async #next(least = 0) {
        const { list } = this;
        if (!list) return;
        this.more.disabled = true;
        try {
            const found = await list.next();
            while (found.length < least && !list.isComplete) found.push(...await list.next());
            if (list !== this.list) return;
            const focus = this.isFresh ? this.#focused() : undefined;
            if (this.isFresh) {
                this.days.replaceChildren();
                this.sections = [];
                this.listed.clear();
                this.recording.clear();
            }
            this.isFresh = false;
            for (const listing of found) this.listed.add(listing.session);
            for (const listing of found) this.#add(listing);
            for (const one of this.sections) this.#show(one);
            if (focus) this.#focus(focus);
            this.count += found.length;
            setText(this.words, this.#found());
            this.more.hidden = list.isComplete;
        } catch (error) {
            if (list !== this.list) return;
            setText(this.words, error instanceof Error ? error.message : String(error));
            setText(this.more, 'Try again');
            this.more.hidden = false;
        }
        this.more.disabled = false;
    }

    /** The focused control, and its session. */
    #focused() {
        const item = document.activeElement?.closest('.session');
        if (!(item instanceof HTMLElement) || !this.days.contains(item)) return undefined;
        const { act } = /** @type {HTMLElement} */ (document.activeElement).dataset;
        return { session: item.dataset.session, act, index: [...this.days.querySelectorAll('.session')].indexOf(item) };
    }

    /**
     * Restores the focus after the list was read again; if the session is gone, focuses the item at its position.
     * @param {{ session: string | undefined, act: string | undefined, index: number }} focus
     */
    #focus({ session, act, index }) {
        const items = [...this.days.querySelectorAll('.session')];
        const same = items.find((item) => item instanceof HTMLElement && item.dataset.session === session);
        const place = (act && same?.querySelector(`[data-act="${act}"]`)) || (same ?? items[Math.min(index, items.length - 1)])?.querySelector('h3 a');
        if (place instanceof HTMLElement) place.focus({ preventScroll: true });
        else this.words.focus({ preventScroll: true });
    }

    #found() {
        const { text, from, until } = this.search;
        if (this.count > 0) return `${counted(this.count, 'session')}${this.list?.isComplete ? '' : ', and there are older ones'}`;
        return text || from || until ? 'No session fits. Try fewer words or a longer time.'
            : 'Nothing has been recorded yet. Sessions appear here when the collector records.';
    }

    /** @param {import('./sessions-list.js').Listing} listing */
    #add(listing) {
        const zero = zeroOf(listing.session);
        const { section, strip } = this.#section(zero);
        strip?.reserve(mainSources(listing));
        const again = () => this.#open(this.search, this.count);
        const acts = this.mayOperate ? {
            edit: (/** @type {any} */ wanted) => editSession(wanted, again),
            protect: (/** @type {any} */ wanted) => void protectSession(wanted, again),
            end: (/** @type {any} */ wanted) => endSession(wanted, again),
            remove: (/** @type {any} */ wanted, /** @type {any} */ details) => removeSession(wanted, details, again),
        } : null;
        if (!this.reader) return;
        const { item, show } = sessionItem(listing, this.search.from, this.reader, acts, (details) => this.#tellDays(details));
        section.append(item);
        if (isRecording(listing)) this.recording.set(listing.session, show);
    }

    /**
     * The section of a day, created if necessary.
     * @param {Date | null} date Null for sessions whose names have no time.
     */
    #section(date) {
        const range = date && dayOf(date);
        const key = range ? range.start.getTime() : -Infinity;
        const known = this.sections.find((one) => one.key === key);
        if (known) return known;
        const name = date ? day(date) : 'Other names';
        const strip = range ? new DayStrip(range) : undefined;
        const section = element('section', { dataset: { day: name }, 'aria-label': name }, element('h2', {}, name), strip?.element);
        /** @type {Section} */
        const made = { key, section, strip };
        if (range) {
            this.reader?.watch(section, () => readRecorded(range.start, range.end, fineColumns), (records) => {
                made.records = records;
                this.#show(made);
            }, () => strip?.element.remove());
        }
        const next = this.sections.findIndex((one) => one.key < key);
        this.days.insertBefore(section, next < 0 ? null : this.sections[next].section);
        this.sections.splice(next < 0 ? this.sections.length : next, 0, made);
        return made;
    }

    /**
     * Shows the recorded spans of a day; after a search, those of the found sessions.
     * @param {Section} section
     */
    #show({ strip, records }) {
        if (!records) return;
        const isSearch = queryOf(this.search) !== '';
        strip?.addRecords(isSearch ? records.map(({ recorded, ...rest }) =>
            ({ ...rest, recorded: recorded.filter(({ session }) => this.listed.has(session)) })) : records);
    }

    /**
     * A session may have been recorded on several days.
     * @param {import('./sessions-details.js').Details} details
     */
    #tellDays({ zero, start, end, sources }) {
        if (!(start < end)) return;
        const { from, until } = this.search;
        for (const one of daysOf(new Date(zero + start * 1000), new Date(zero + end * 1000))) {
            if ((from && one.end <= from) || (until && one.start >= until)) continue;
            this.#section(one.start).strip?.reserve(sources.map(({ name }) => name));
        }
    }
}
