// @ts-check
// The collectors of a site, as `tributary top --site` shows them.

import { account, ApiError, get } from './api.js';
import { element, setText } from './element.js';
import { bitRate, bytes, clock, counted, duration, shortTime } from './format.js';

/** How often the viewer asks the site's database, milliseconds. */
const asking = 5000;

/**
 * A collector (proto/json/schema.json, "tributary top --site").
 * @typedef {object} Collector
 * @property {string} name
 * @property {'recording' | 'idle' | 'draining' | 'troubled' | 'stopped' | 'silent' | 'unknown'} state
 * @property {number} heardSeconds
 * @property {string} [trouble]
 * @property {number} sources
 * @property {number} bitsPerSecond
 * @property {number} [freeBytes]
 * @property {number} [sizeBytes]
 * @property {number} aloneRecords
 * @property {string[]} aloneSources
 * @property {number} [unstoredBytes]
 * @property {number} owedBytes
 * @property {string} [version]
 * @property {{ collector: string, boundSeconds?: number, trouble?: string }[]} [clocks] Those of the others, as it has measured them.
 */

/** @typedef {{ catalog: string, collectors: Collector[], problems: string[], work: { name: string, holder?: string }[] }} Overview */

const titles = ['Collector', 'State', 'Heard', 'Sources', 'Bit rate', 'Free', 'Held alone', 'Not stored', 'Owed', 'Clock error', 'Version'];
const meanings = [
    '', 'Draining: it takes no new sources.', 'Age of its last report.', 'Connected sources.', '', 'Free space of its disk.',
    'Records that no other collector has, nor, as far as is known, the object store.',
    'Finished segments that are not in the object store.', 'Data that agents keep for it.',
    'The largest error between its clock and that of another collector that is there.', '',
];

export class CollectorTable {
    root = element('section', { className: 'collectors', 'aria-label': 'Collectors of the site', hidden: true });
    /**
     * What needs attention.
     * @type {string[]}
     */
    problems = [];
    #note = element('p', { className: 'muted' });
    #rows = element('tbody');
    #work = element('p', { className: 'muted' });
    #isAllowed = false;
    #askedAt = -Infinity;
    /**
     * Arrival of the last overview; null: none.
     * @type {Date | null}
     */
    #cameAt = null;
    #isClosed = false;

    constructor() {
        const heads = titles.map((title, index) => element('th', { scope: 'col', title: meanings[index] }, title));
        this.root.append(element('h2', {}, 'Collectors'), this.#note,
            element('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Collectors as a table' },
                element('table', {}, element('thead', {}, element('tr', {}, ...heads)), this.#rows)), this.#work);
        void this.#askAccount();
    }

    close() {
        this.#isClosed = true;
    }

    /** The site's data is for operators of all sources. */
    async #askAccount() {
        try {
            const { role, sources } = await account();
            this.#isAllowed = role === 'operator' && sources === undefined;
        } catch {
            // The header shows the error.
        }
    }

    /**
     * Requests the site's overview when it is due; called often.
     * @param {boolean} isSite
     */
    refresh(isSite) {
        const now = performance.now();
        if (!this.#isAllowed || !isSite || this.#isClosed || document.hidden || now - this.#askedAt < asking) return;
        this.#askedAt = now;
        void this.#ask();
    }

    async #ask() {
        try {
            const overview = /** @type {Overview} */ (await get('/api/v1/site'));
            if (this.#isClosed) return;
            this.#cameAt = new Date();
            this.#show(overview);
        } catch (error) {
            // The last overview stays, with its time.
            if (!this.#cameAt) return;
            const isViewer = error instanceof ApiError && error.status === 0;
            setText(this.#note, `${isViewer ? 'The viewer' : 'The site’s database'} does not answer: this is of ${clock(this.#cameAt)}.`);
            this.#note.classList.add('late');
        }
    }

    /** @param {Overview} overview */
    #show({ catalog, collectors, problems, work }) {
        this.root.hidden = collectors.length === 0;
        this.problems = problems;
        this.#note.classList.remove('late');
        const away = collectors.filter(isAway).length;
        setText(this.#note, `${counted(collectors.length, 'collector')}${away ? `, ${away} of them not there` : ''}, as ${catalog} knows them.`);
        while (this.#rows.rows.length > collectors.length) this.#rows.deleteRow(-1);
        collectors.forEach((collector, index) => {
            const row = this.#rows.rows[index] ?? this.#rows.insertRow();
            row.dataset.state = collector.state;
            cellsOf(collector, collectors).forEach(({ text, title = '' }, column) => {
                const cell = row.cells[column] ?? row.insertCell();
                setText(cell, text);
                if (cell.title !== title) cell.title = title;
            });
        });
        setText(this.#work, work.map(({ name, holder }) => `${name}: ${holder ? `done by ${holder}` : 'no holder at present'}`).join('; '));
    }
}

/** @param {Collector} collector */
const isAway = ({ state }) => state === 'stopped' || state === 'silent';

/**
 * The cells of a collector's row.
 * @param {Collector} collector
 * @param {Collector[]} all
 * @returns {{ text: string, title?: string }[]}
 */
export function cellsOf(collector, all) {
    const { name, state, trouble, heardSeconds, sources, bitsPerSecond, freeBytes, sizeBytes, aloneRecords, aloneSources, unstoredBytes, owedBytes } = collector;
    const away = isAway(collector);
    return [
        { text: name },
        { text: trouble ? `${state}: ${trouble}` : state },
        { text: `${duration(heardSeconds)} ago` },
        { text: away ? '–' : sources.toLocaleString() },
        { text: away ? '–' : bitRate(bitsPerSecond) },
        { text: freeBytes === undefined ? '–' : `${bytes(freeBytes)}${sizeBytes ? ` of ${bytes(sizeBytes)}` : ''}` },
        { text: aloneRecords ? counted(aloneRecords, 'record') : 'nothing', title: aloneSources.join(', ') },
        { text: unstoredBytes === undefined ? '–' : bytes(unstoredBytes) },
        { text: owedBytes ? bytes(owedBytes) : 'nothing' },
        clockOf(collector, all),
        { text: collector.version ?? '–' },
    ];
}

/**
 * The largest error between a collector's clock and that of another one that is there, and each of them. `?`: one is not compared.
 * @param {Collector} collector
 * @param {Collector[]} all
 * @returns {{ text: string, title: string }}
 */
function clockOf(collector, all) {
    const others = all.filter((other) => other !== collector && !isAway(other));
    if (isAway(collector) || others.length === 0) return { text: '–', title: '' };
    const pairs = others.map((other) => {
        const bounds = [boundOf(collector, other), boundOf(other, collector)].flatMap((bound) => bound ?? []);
        return { name: other.name, bound: bounds.length ? Math.min(...bounds) : undefined };
    });
    const known = pairs.flatMap(({ bound }) => bound ?? []);
    return {
        text: known.length < pairs.length ? '?' : `±${shortTime(Math.max(...known))}`,
        title: pairs.map(({ name, bound }) => `${name}: ${bound === undefined ? 'not compared' : `±${shortTime(bound)}`}`).join(', '),
    };
}

/**
 * @param {Collector} collector
 * @param {Collector} other
 */
const boundOf = (collector, other) => collector.clocks?.find(({ collector: name }) => name === other.name)?.boundSeconds;
