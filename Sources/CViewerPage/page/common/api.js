// @ts-check
// Requests to the viewer (`/api/v1/openapi.yaml`), with errors as one line of text.

import { awaitLogIn, logIn, noteLogIn } from './login.js';

/** An error response of the viewer. */
export class ApiError extends Error {
    /**
     * @param {number} status HTTP status; 0 if there was no response.
     * @param {string} text One line for people.
     */
    constructor(status, text) {
        super(text);
        this.name = 'ApiError';
        this.status = status;
        this.text = text;
    }
}

/**
 * @typedef {object} Account
 * @property {string} name
 * @property {'viewer' | 'operator'} role
 * @property {string[]} [sources] Missing: all.
 * @property {boolean} needsLogIn
 */

/** Authorization header of an embedded page; empty if the cookie is used. */
let authorization = '';
/** Whether the log-in form is shown if the viewer requires a log-in. */
let hasForm = true;

/**
 * Sends this header instead of a cookie.
 * @param {string} header
 */
export function useAuthorization(header) {
    authorization = header;
}

/** Disables the log-in form: a required log-in is an error. */
export function disableLogIn() {
    hasForm = false;
}

/** Maximum length of an error message. */
const longestText = 300;

/**
 * Sends a request, and repeats it after a log-in if the viewer requires one.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>} A successful response.
 * @throws {ApiError}
 */
export async function request(path, options = {}) {
    while (true) {
        await awaitLogIn();
        let response;
        try {
            response = await fetch(path, authorization
                ? { credentials: 'omit', ...options, headers: { ...options.headers, authorization } }
                : { credentials: 'same-origin', ...options });
        } catch (error) {
            if (options.signal?.aborted) throw error;
            throw new ApiError(0, 'The viewer does not answer. Is the network there?');
        }
        if (response.ok) return response;
        if (response.status === 401 && hasForm) {
            await logIn();
            continue;
        }
        let text = '';
        try {
            text = (await response.text()).trim().split('\n')[0].slice(0, longestText);
        } catch {
            // The connection was lost: only the status is shown.
        }
        throw new ApiError(response.status, text || `The viewer answered ${response.status}.`);
    }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 */
async function exchange(method, path, body, signal) {
    /** @type {RequestInit} */
    const options = { method, signal };
    if (body !== undefined) {
        options.headers = { 'content-type': 'application/json' };
        options.body = JSON.stringify(body);
    }
    const response = await request(path, options);
    if (response.status === 204) return undefined;
    const type = response.headers.get('content-type') ?? '';
    return type.includes('json') ? response.json() : response.blob();
}

/**
 * Gets JSON; another content type as a Blob.
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, signal) {
    return exchange('GET', path, undefined, signal);
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>} JSON, a Blob, or undefined for an empty response.
 */
export function post(path, body) {
    return exchange('POST', path, body);
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
export function patch(path, body) {
    return exchange('PATCH', path, body);
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
export function put(path, body) {
    return exchange('PUT', path, body);
}

/**
 * Sends DELETE (`delete` is a keyword).
 * @param {string} path
 * @returns {Promise<any>}
 */
export function remove(path) {
    return exchange('DELETE', path);
}

/**
 * A URL with escaped components: address`/api/v1/sessions/${name}`.
 * @param {TemplateStringsArray} texts
 * @param {...(string | number)} values
 */
export function address(texts, ...values) {
    return texts.map((text, index) => text + encodeURIComponent(values[index] ?? '')).join('');
}

/** @type {Promise<Account> | undefined} */
let known;

/**
 * The account that is logged in; requested once.
 * @returns {Promise<Account>}
 */
export function account() {
    known ??= get('/api/v1/account').then((account) => {
        if (account.needsLogIn) noteLogIn();
        return account;
    }).catch((error) => {
        known = undefined;
        throw error;
    });
    return known;
}

/**
 * Whether two accounts may see and do the same.
 * @param {Account} one
 * @param {Account} other
 */
export function isSameAccount(one, other) {
    return one.name === other.name && one.role === other.role && String(one.sources) === String(other.sources);
}

// After a log-in, the account is requested again.
addEventListener('tributary:account', () => {
    known = undefined;
});
