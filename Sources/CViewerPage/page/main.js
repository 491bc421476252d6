// @ts-check
// The page's entrance: which address is shown by which module.

import { account, ApiError, isSameAccount } from './api.js';
import { closeDialogs } from './dialog.js';
import { element } from './element.js';
import { close as closeLogIn } from './login.js';
import { markPlace, say, setTitle, showHeader, showZone } from './shell.js';
import { takeZone, withZone } from './zone.js';

/**
 * What a picture's source is doing, as `window.tributary.state()` answers it.
 * @typedef {object} SourceState
 * @property {number | null} at Session time of the picture that is shown, seconds; null: none is shown.
 * @property {number | null} bound Error bound of that time, seconds.
 * @property {number | null} lag How long ago that picture was captured, seconds; null where that says nothing.
 * @property {string} state One word.
 */

/**
 * @typedef {object} PageState
 * @property {string} mode
 * @property {number | null} at Session time that is shown, seconds.
 * @property {number} rate
 * @property {Record<string, SourceState>} sources
 */

/**
 * @typedef {object} Page
 * @property {() => void} close Stops everything that the page has started.
 * @property {() => PageState} state
 * @property {(location: Location) => boolean} [move] The same page at another place; false: it has to be opened again.
 */

/** @typedef {(root: HTMLElement, location: Location) => Page | Promise<Page>} Open */

/**
 * Addresses and their modules, the first that matches.
 * @type {{ path: RegExp, name: string, load: () => Promise<{ open: Open }> }[]}
 */
const places = [
    { path: /^\/(live\/?)?$/, name: 'live', load: () => import('./live.js') },
    { path: /^\/calendar\/?$/, name: 'calendar', load: () => import('./calendar.js') },
    { path: /^\/sessions\/?$/, name: 'sessions', load: () => import('./sessions.js') },
    { path: /^\/sessions\/[^/]+$/, name: 'playback', load: () => import('./playback.js') },
    { path: /^\/account\/?$/, name: 'account', load: () => import('./account.js') },
    { path: /^\/health\/?$/, name: 'health', load: () => import('./health.js') },
];

/** @type {Page | undefined} */
let page;
/** @type {(typeof places)[number] | undefined} */
let shown;
/** Counts what was opened, so that what comes too late is thrown away. */
let turn = 0;

/**
 * Opens what the address says.
 * @param {boolean} [isAnew] Also where the same page could go there by itself.
 */
async function show(isAnew = false) {
    const mine = ++turn;
    const flaw = takeZone(location.search);
    if (flaw) say(flaw);
    showZone();
    const place = places.find((place) => place.path.test(location.pathname));
    if (!isAnew && page && place && place === shown && page.move?.(location)) return;
    closeLogIn();
    closeDialogs();
    page?.close();
    page = undefined;
    shown = place;
    const root = /** @type {HTMLElement} */ (document.getElementById('page'));
    root.replaceChildren();
    root.className = place?.name ?? '';
    markPlace(place?.name === 'playback' ? 'sessions' : (place?.name ?? ''));
    if (!place) {
        setTitle('No such page');
        root.append(element('p', { className: 'empty' }, 'There is no page at this address.'));
        return;
    }
    try {
        const { open } = await place.load();
        if (mine !== turn) return;
        const opened = await open(root, location);
        if (mine !== turn) return opened.close();
        page = opened;
    } catch (error) {
        if (mine !== turn) return;
        // What the viewer answers is said on the page; anything else is a fault of the page.
        if (!(error instanceof ApiError)) console.error(error);
        const text = error instanceof Error ? error.message : String(error);
        root.replaceChildren(element('p', { className: 'empty' }, `The page cannot be shown: ${text}`));
        say(`The page cannot be shown: ${text}`);
    }
}

/**
 * Goes to another address of the page.
 * @param {string} address
 * @param {boolean} [isAnew] What is there has changed, although it has the same address.
 */
export function navigate(address, isAnew = false) {
    history.pushState(null, '', withZone(address));
    void show(isAnew);
    scrollTo(0, 0);
}

/** @type {import('./api.js').Account | undefined} */
let reader;

/** Who logs in again goes on where they were. Somebody else may see and do other things: the page is opened anew. */
async function lookWhoReads() {
    try {
        const now = await account();
        const isOther = reader !== undefined && !isSameAccount(reader, now);
        reader = now;
        if (isOther) await show(true);
    } catch {
        // The header has said so.
    }
}

/** @param {MouseEvent} event */
function followLink(event) {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || link.getAttribute('href')?.startsWith('#')) return;
    if (!places.some((place) => place.path.test(link.pathname))) return;
    event.preventDefault();
    navigate(link.href);
}

document.addEventListener('click', followLink);
addEventListener('popstate', () => void show());
Object.assign(window, {
    tributary: {
        state: () => page?.state() ?? { mode: 'none', at: null, rate: 0, sources: {} },
    },
});
addEventListener('tributary:zone', () => {
    history.replaceState(history.state, '', withZone(location.href));
    void show(true);
});
addEventListener('tributary:account', () => void lookWhoReads());
void showHeader();
void lookWhoReads();
void show();
