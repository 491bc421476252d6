// @ts-check
// What happens at the collector, as it happens (`/api/v1/events`): one connection for the whole page.

import { account, get } from './api.js';

/** What an event can be called (proto/openapi.yaml, /api/v1/events). */
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

/** A tab that nobody has seen for so long gives its connection back: browsers allow six to a host, for all tabs. Milliseconds. */
const hiddenPatience = 30_000;
let hiding = 0;
/** What has happened meanwhile is not known: lists have to be read again. */
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
 * Hears of events; the connection is made with the first listener and goes with the last.
 *
 * Besides the viewer's own names there is `connection`, whose data is whether there is one.
 * @param {string} name
 * @param {(data: any) => void} hear Called with the event's JSON.
 * @returns {() => void} Stops hearing.
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

/** An event stream cannot say that it needs a log-in: who one is is asked for first. */
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
        // The browser tries again by itself, unless the answer was an error.
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
        // Shows the log-in form where that is what is missing.
        await ask();
    } catch {
        // No answer, or nobody logged in: the next attempt says so again.
    }
    if (!retrying) return;
    retrying = 0;
    connect();
}
