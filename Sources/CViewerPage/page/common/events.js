// @ts-check
// Events of the collector (`/api/v1/events`): one connection for the whole page.

import { account, get } from './api.js';

/** Event types (proto/openapi.yaml, /api/v1/events). */
const names = ['status', 'session', 'sessionEnded', 'sessionChanged', 'sessionRemoved', 'source', 'sourceEnded',
    'segment', 'segmentFinished', 'segmentRemoved', 'gap', 'lost', 'job'];

/** Longest wait before another attempt, milliseconds. */
const longestWait = 15_000;
const shortestWait = 1000;

/** @type {Map<string, Set<(data: any) => void>>} */
const listeners = new Map();
/** @type {EventSource | undefined} */
let source;
let wait = shortestWait;
let retrying = 0;
let isOpen = false;

/** A tab hidden for this long closes its connection: browsers allow six per host, over all tabs. Milliseconds. */
const hiddenPatience = 30_000;
let hiding = 0;
/** Events may have been missed: lists must be read again. */
let hasMissed = false;

document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding);
    if (document.hidden) {
        hiding = setTimeout(() => {
            hasMissed ||= source !== undefined;
            disconnect();
        }, hiddenPatience);
    } else if (!source && !retrying && isHeard()) begin();
});

const isHeard = () => [...listeners.values()].some((set) => set.size > 0);

function disconnect() {
    source?.close();
    source = undefined;
    clearTimeout(retrying);
    retrying = 0;
    setOpen(false);
}

/**
 * Subscribes to events; the connection is opened with the first listener and closed with the last.
 *
 * In addition to the viewer's event types there is `connection`, whose data is whether it is open.
 * @param {string} name
 * @param {(data: any) => void} hear Called with the event's JSON.
 * @returns {() => void} Unsubscribes.
 */
export function listen(name, hear) {
    const all = listeners.get(name) ?? new Set();
    listeners.set(name, all);
    all.add(hear);
    if (!source && !retrying) begin();
    else if (name === 'connection') hear(isOpen);
    return () => {
        all.delete(hear);
        if (!isHeard()) disconnect();
    };
}

/**
 * @param {string} name
 * @param {unknown} data
 */
function tell(name, data) {
    for (const hear of listeners.get(name) ?? []) hear(data);
}

/** @param {boolean} value */
function setOpen(value) {
    if (value === isOpen) return;
    isOpen = value;
    tell('connection', value);
}

/** An event stream cannot report that a log-in is needed: the account is requested first. */
function begin() {
    retrying = setTimeout(() => void retry(account));
}

function connect() {
    const made = new EventSource('/api/v1/events');
    source = made;
    made.onopen = () => {
        wait = shortestWait;
        setOpen(true);
        if (hasMissed) tell('lost', { type: 'lost', session: '' });
        hasMissed = false;
    };
    made.onerror = () => {
        setOpen(false);
        // The browser reconnects by itself, unless the answer was an error.
        if (made.readyState === EventSource.CLOSED && source === made) {
            source = undefined;
            hasMissed = true;
            retrying = setTimeout(() => void retry(() => get('/api/v1/account')), wait);
            wait = Math.min(longestWait, wait * 2);
        }
    };
    for (const name of names) {
        made.addEventListener(name, (event) => tell(name, JSON.parse(event.data)));
    }
}

/** @param {() => Promise<unknown>} ask */
async function retry(ask) {
    try {
        // Shows the log-in form if a log-in is needed.
        await ask();
    } catch {
        // No response or no log-in: the next attempt reports it again.
    }
    if (!retrying) return;
    retrying = 0;
    connect();
}
