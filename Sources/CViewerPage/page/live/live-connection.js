// @ts-check
// The streaming response with all live sources: repeated when it ends, and closed while the page is hidden.

import { ApiError, request } from './api.js';
import { FrameReader } from './live-frames.js';
import { canPaint } from './live-painter.js';
import { isLogInShown } from './login.js';

const shortestWait = 500;
const longestWait = 15_000;
/** The viewer sends a heartbeat each second; the connection is broken without data for this long. Milliseconds. */
const patience = 6000;
/** Statuses that repeating a request does not change: it is wrong, or it lacks a right. */
const refusals = [400, 401, 403, 404];
/** With WebCodecs, each picture is requested at once. A `<video>` gets batches of the default length: each append costs it more than a picture. */
const options = canPaint ? ['batch=1'] : [];

/**
 * @typedef {object} Hearing
 * @property {(frame: import('./live-frames.js').Frame) => void} take
 * @property {(state: 'open' | 'paused' | 'lost', text: string) => void} change The state of the connection, with a message.
 * @property {(error: ApiError) => void} [refuse] The viewer refuses the request, and the connection is closed. Without it, the request is repeated.
 */

export class LiveConnection {
    #sources;
    #hearing;
    #wait = shortestWait;
    #timer = 0;
    #watchdog = 0;
    /** @type {AbortController | undefined} */
    #running;
    #isClosed = false;

    /**
     * @param {string[] | undefined} sources Undefined: all.
     * @param {Hearing} hearing
     */
    constructor(sources, hearing) {
        this.#sources = sources;
        this.#hearing = hearing;
        document.addEventListener('visibilitychange', this.#look);
        addEventListener('online', this.#hurry);
        addEventListener('tributary:account', this.#askAgain);
        this.#look();
    }

    /**
     * Receives other sources from now on.
     * @param {string[] | undefined} sources Undefined: all.
     */
    change(sources) {
        if (String(sources) === String(this.#sources)) return;
        this.#sources = sources;
        this.#look();
    }

    close() {
        this.#isClosed = true;
        document.removeEventListener('visibilitychange', this.#look);
        removeEventListener('online', this.#hurry);
        removeEventListener('tributary:account', this.#askAgain);
        this.#stop();
    }

    #stop() {
        clearTimeout(this.#timer);
        clearTimeout(this.#watchdog);
        this.#running?.abort();
        this.#running = undefined;
    }

    /** Hidden tabs need no data. */
    #look = () => {
        if (this.#isClosed) return;
        this.#stop();
        if (document.hidden) {
            this.#hearing.change('paused', 'Paused: the page is hidden.');
            return;
        }
        this.#wait = shortestWait;
        void this.#run();
    };

    /** The network is available again: retries immediately. */
    #hurry = () => {
        if (!this.#running) this.#look();
    };

    /** After a log-in, the response is expected again. */
    #askAgain = () => {
        if (this.#running) this.#watch(this.#running);
    };

    async #run() {
        const mine = new AbortController();
        this.#running = mine;
        let reason = 'The viewer has ended the live pictures.';
        try {
            const sources = this.#sources ? [`sources=${this.#sources.map(encodeURIComponent).join(',')}`] : [];
            this.#watch(mine);
            const response = await request(`/api/v1/live?${[...sources, ...options].join('&')}`, { signal: mine.signal, cache: 'no-store' });
            if (this.#running !== mine) return;
            if (!response.body) throw new Error('the browser cannot read an answer that does not end');
            this.#hearing.change('open', '');
            const reader = response.body.getReader();
            const frames = new FrameReader();
            while (true) {
                this.#watch(mine);
                const { done, value } = await reader.read();
                // Data that arrives after the page was left is discarded.
                if (done || this.#running !== mine) break;
                for (const frame of frames.take(value)) this.#hearing.take(frame);
                this.#wait = shortestWait;
            }
        } catch (error) {
            if (this.#running !== mine) return;
            if (error instanceof ApiError && refusals.includes(error.status) && this.#hearing.refuse) {
                this.close();
                this.#hearing.refuse(error);
                return;
            }
            if (error instanceof ApiError) reason = error.text;
            else if (mine.signal.aborted) reason = 'The viewer has sent nothing for a while.';
            else reason = navigator.onLine ? 'The connection to the viewer was lost.' : 'The network is not there.';
        }
        if (this.#running !== mine) return;
        mine.abort();
        this.#retry(reason);
    }

    /** @param {AbortController} mine */
    #watch(mine) {
        clearTimeout(this.#watchdog);
        this.#watchdog = setTimeout(() => {
            // The request waits for the form, and people take their time.
            if (isLogInShown()) this.#watch(mine);
            else mine.abort();
        }, patience);
    }

    /** @param {string} reason */
    #retry(reason) {
        clearTimeout(this.#watchdog);
        this.#running = undefined;
        const wait = this.#wait * (0.8 + 0.4 * Math.random());
        this.#wait = Math.min(longestWait, this.#wait * 2);
        const text = wait < 1500 ? 'Trying again.' : `Trying again in ${Math.round(wait / 1000)} s.`;
        this.#hearing.change('lost', `${reason} ${text}`);
        this.#timer = setTimeout(() => void this.#run(), wait);
    }
}
