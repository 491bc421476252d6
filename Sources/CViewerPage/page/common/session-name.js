// @ts-check
// The displayed name of a session: the one given by a user, otherwise its beginning. The session's ID is for addresses and the command line.

import { address, get } from './api.js';
import { dateTime } from './format.js';

/** Lifetime of cached names, milliseconds. */
const lifetime = 60_000;

/** @type {Map<string, { name: string, until: number }>} */
const known = new Map();

/**
 * The beginning of a session, from its name.
 * @param {string} session
 */
export function zeroOf(session) {
    const parts = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d(?:\.\d+)?)Z/.exec(session);
    const date = parts ? new Date(`${parts[1]}T${parts[2]}:${parts[3]}:${parts[4]}Z`) : null;
    return date && !Number.isNaN(date.getTime()) ? date : null;
}

/**
 * @param {{ session: string, name?: string }} listing
 * @param {(date: Date) => string} [format] Of its beginning.
 */
export function titleOf({ session, name }, format = dateTime) {
    const zero = zeroOf(session);
    return name || (zero ? `Session of ${format(zero)}` : session);
}

/**
 * The title of a session by its identifier: its start at first, and its name once the viewer has sent it.
 * @param {string} session
 */
export function titleNow(session) {
    const now = performance.now();
    const entry = known.get(session);
    if (!entry || now > entry.until) {
        known.set(session, { name: entry?.name ?? '', until: now + lifetime });
        void ask(session);
    }
    return titleOf({ session, name: entry?.name });
}

/** @param {string} session */
async function ask(session) {
    try {
        const { name = '' } = await get(address`/api/v1/sessions/${session}`);
        known.set(session, { name, until: performance.now() + lifetime });
    } catch {
        // Without a name, the session's beginning is shown.
    }
}
