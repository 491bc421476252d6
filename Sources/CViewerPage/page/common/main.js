// @ts-check
// The page's entry point: routes URLs to modules.

import { account, ApiError, isSameAccount } from './api.js';
import { closeDialogs } from './dialog.js';
import { element } from './element.js';
import { close as closeLogIn } from './login.js';
import { markPlace, say, setTitle, showHeader, showZone } from './shell.js';
import { takeZone, withZone } from './zone.js';

/**
 * State of a source's picture, as `window.tributary.state()` returns it.
 * @typedef {object} SourceState
 * @property {number | null} at Session time of the shown picture, seconds; null without a picture.
 * @property {number | null} bound Error bound of that time, seconds.
 * @property {number | null} lag Time since the capture of that picture, seconds; null if unknown.
 * @property {string} state One word.
 * @property {import('./renditions.js').Rendition} [rendition] Whose pictures are shown, of a source with a preview.
 * @property {string} [collector] Whose pictures are shown, where a site has several collectors.
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
 * @property {() => void} close Stops the page's activities.
 * @property {() => PageState} state
 * @property {(location: Location) => boolean} [move] Navigates within the page; false if it must be opened again.
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
/** Counts opened pages, to discard late results. */
let turn = 0;

/**
 * Opens the page of the URL.
 * @param {boolean} [isAnew] Also if the page could navigate by itself.
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
        // Errors of the viewer are shown on the page; others are bugs of the page.
        if (!(error instanceof ApiError)) console.error(error);
        const text = error instanceof Error ? error.message : String(error);
        root.replaceChildren(element('p', { className: 'empty' }, `The page cannot be shown: ${text}`));
        say(`The page cannot be shown: ${text}`);
    }
}

/**
 * Navigates to a URL of the page.
 * @param {string} address
 * @param {boolean} [isAnew] Its content has changed, although the URL is the same.
 */
export function navigate(address, isAnew = false) {
    history.pushState(null, '', withZone(address));
    void show(isAnew);
    scrollTo(0, 0);
}

/** @type {import('./api.js').Account | undefined} */
let reader;

/** After a log-in with the same account, the page continues. Another account has other rights: the page is opened again. */
async function lookWhoReads() {
    try {
        const now = await account();
        const isOther = reader !== undefined && !isSameAccount(reader, now);
        reader = now;
        if (isOther) await show(true);
    } catch {
        // The header shows the error.
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
// A page that the browser keeps for its Back button is hidden, and is read again when it returns: the log-in may have ended.
addEventListener('pagehide', ({ persisted }) => { document.body.hidden = persisted; });
addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload();
});
void showHeader();
void lookWhoReads();
void show();
