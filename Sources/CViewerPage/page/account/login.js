// @ts-check
// The log-in form: shown when an answer says that it needs one.

import { openDialog } from './dialog.js';
import { element } from './element.js';

/** @type {{ dialog: HTMLDialogElement, done: Promise<void> } | undefined} */
let open;

/** The page had a log-in: the next form reports that it has ended. */
let hadLogIn = false;

/**
 * Shows the form until a log-in succeeds; concurrent callers share it.
 * @returns {Promise<void>}
 */
export function logIn() {
    open ??= show();
    return open.done;
}

/** Waits while the form is shown: requests would be refused. */
export async function awaitLogIn() {
    await open?.done;
}

export const isLogInShown = () => open !== undefined;

/** A request with a log-in has succeeded. */
export function noteLogIn() {
    hadLogIn = true;
}

/** Removes the form: another page shows it again if a log-in is needed. */
export function close() {
    open?.dialog.close('left');
}

function show() {
    const name = element('input', { name: 'name', autocomplete: 'username', required: true, autofocus: true, spellcheck: false, autocapitalize: 'off' });
    const password = element('input', { name: 'password', type: 'password', autocomplete: 'current-password', required: true });
    const wrong = element('p', { className: 'wrong', role: 'alert' });
    const send = element('button', { type: 'submit', className: 'main', textContent: 'Log in' });
    const form = element('form', {},
        hadLogIn ? element('p', {}, 'Your log-in has ended. Log in again to go on where you were.') : null,
        element('label', {}, 'Name', name),
        element('label', {}, 'Password', password),
        wrong, send);
    const dialog = openDialog('login', 'Log in', form);
    /** @type {(value: void) => void} */
    let succeed;
    /** @type {(error: Error) => void} */
    let fail;
    const done = new Promise((resolve, reject) => {
        succeed = resolve;
        fail = reject;
    });
    // Nothing is reported when the page is left.
    done.catch(() => {});
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        if (send.disabled) return;
        send.disabled = true;
        wrong.textContent = '';
        const flaw = await attempt(name.value, password.value);
        if (!flaw) return dialog.close('done');
        wrong.textContent = flaw.text;
        password.select();
        await pause(send, flaw.seconds, () => dialog.isConnected);
        send.disabled = false;
    });
    // Without a log-in there is no page to return to. Escape would close the dialog, at the latest the second time.
    dialog.addEventListener('keydown', (event) => {
        if (event.key === 'Escape') event.preventDefault();
    });
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    const look = () => void lookElsewhere(dialog);
    addEventListener('focus', look);
    dialog.addEventListener('close', () => {
        removeEventListener('focus', look);
        open = undefined;
        if (dialog.returnValue === 'done') {
            dispatchEvent(new Event('tributary:account'));
            succeed();
        } else {
            fail(new Error('nobody is logged in'));
        }
    });
    return { dialog, done };
}

/**
 * Counts down the seconds on a disabled button.
 * @param {HTMLButtonElement} button
 * @param {number} seconds
 * @param {() => boolean} isShown
 */
async function pause(button, seconds, isShown) {
    const text = button.textContent;
    for (let rest = seconds; rest > 0 && isShown(); rest -= 1) {
        button.textContent = `${text} (in ${rest} s)`;
        await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    button.textContent = text;
}

/**
 * Checks for a log-in in another tab.
 * @param {HTMLDialogElement} dialog
 */
async function lookElsewhere(dialog) {
    try {
        const response = await fetch('/api/v1/account', { credentials: 'same-origin' });
        if (response.ok && dialog.open) dialog.close('done');
    } catch {
        // An error is reported when the form is sent.
    }
}

/**
 * @param {string} name
 * @param {string} password
 * @returns {Promise<{ text: string, seconds: number } | undefined>} The reason of a failure, and the time to wait; undefined: success.
 */
async function attempt(name, password) {
    try {
        const response = await fetch('/api/v1/login', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ name, password }),
        });
        if (response.ok) return undefined;
        if (response.status === 401) return { text: 'Wrong name or password.', seconds: 0 };
        if (response.status === 429) {
            const seconds = Math.max(1, Math.min(3600, Number(response.headers.get('retry-after')) || 30));
            return { text: 'Too many attempts. Wait until the button can be pressed again.', seconds };
        }
        const text = (await response.text()).trim().split('\n')[0].slice(0, 300);
        return { text: text || `The viewer answered ${response.status}.`, seconds: 0 };
    } catch {
        return { text: 'The viewer does not answer. Is the network there?', seconds: 0 };
    }
}
