// @ts-check
// Pages of sessions, newest first, and the search for a text in them.

import { get } from './api.js';

/**
 * @typedef {object} Listing
 * @property {string} session
 * @property {string} state
 * @property {boolean} isCollectorRunning
 * @property {boolean} isProtected
 * @property {string[]} sources
 * @property {string[]} previews Those of the sources that are previews of others.
 * @property {number} segments
 * @property {number} sizeBytes
 * @property {string} [name]
 * @property {string[]} tags
 * @property {string} [note]
 */

/**
 * A search.
 * @typedef {object} Search
 * @property {string} text Words in a name, note, tag or source.
 * @property {Date | null} from
 * @property {Date | null} until
 */

/** Sessions per page, and per request of a search, which drops most of what it reads. */
const pageSize = 30;
const searchPageSize = 200;

/** @param {string} query Of an address. @returns {Search} */
export function searchOf(query) {
    const parameters = new URLSearchParams(query);
    const date = (/** @type {string} */ name) => {
        const value = new Date(parameters.get(name) ?? '');
        return Number.isNaN(value.getTime()) ? null : value;
    };
    return { text: parameters.get('text') ?? '', from: date('from'), until: date('until') };
}

/** @param {Search} search */
export function queryOf({ text, from, until }) {
    const parameters = new URLSearchParams();
    if (text) parameters.set('text', text);
    if (from) parameters.set('from', from.toISOString());
    if (until) parameters.set('until', until.toISOString());
    const query = parameters.toString();
    return query && `?${query}`;
}

/** @param {Listing} listing */
export const mainSources = ({ sources, previews }) => sources.filter((name) => !previews.includes(name));

/**
 * @param {Listing} listing
 * @param {string[]} words In lower case.
 */
function fits(listing, words) {
    const text = [listing.session, listing.name, listing.note, ...listing.tags, ...listing.sources].join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
}

export class SessionList {
    /** @param {Search} search */
    constructor(search) {
        this.search = search;
        /** @type {string | undefined} */
        this.after = undefined;
        this.isComplete = false;
        this.abort = new AbortController();
    }

    close() {
        this.abort.abort();
    }

    /**
     * The next sessions; fewer at the end.
     * @returns {Promise<Listing[]>}
     */
    async next() {
        const words = this.search.text.toLowerCase().split(/\s+/).filter(Boolean);
        /** @type {Listing[]} */
        const found = [];
        while (found.length < pageSize && !this.isComplete) {
            const query = new URLSearchParams({ order: 'newest', limit: String(words.length > 0 ? searchPageSize : pageSize) });
            if (this.search.from) query.set('from', this.search.from.toISOString());
            if (this.search.until) query.set('until', this.search.until.toISOString());
            if (this.after) query.set('after', this.after);
            const page = await get(`/api/v1/sessions?${query}`, this.abort.signal);
            found.push(.../** @type {Listing[]} */ (page.sessions).filter((listing) => fits(listing, words)));
            this.after = page.next;
            this.isComplete = page.next === undefined;
        }
        return found;
    }
}
