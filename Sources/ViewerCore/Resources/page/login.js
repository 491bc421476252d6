// @ts-check
// The log-in form: shown when an answer says that it needs one.

import { element } from './element.js';

/** @type {{ dialog: HTMLDialogElement, done: Promise<void> } | undefined} */
let open;

/**
 * Shows the form until somebody has logged in; who asks meanwhile waits for the same one.
 * @returns {Promise<void>}
 */
export function logIn() {
    open ??= show();
    return open.done;
}

/** Takes the form away: another page asks again if it has to. */
export function close() {
    open?.dialog.close('left');
}

function show() {
    const name = element('input', { name: 'name', autocomplete: 'username', required: true, autofocus: true, spellcheck: false, autocapitalize: 'off' });
    const password = element('input', { name: 'password', type: 'password', autocomplete: 'current-password', required: true });
    const wrong = element('p', { className: 'wrong', role: 'alert' });
    const send = element('button', { type: 'submit', className: 'main', textContent: 'Log in' });
    const form = element('form', { method: 'dialog' },
        element('h2', { id: 'login-title' }, 'Log in'),
        element('label', {}, 'Name', name),
        element('label', {}, 'Password', password),
        wrong, send);
    const dialog = element('dialog', { className: 'login', 'aria-labelledby': 'login-title' }, form);
    document.body.append(dialog);
    /** @type {(value: void) => void} */
    let succeed;
    /** @type {(error: Error) => void} */
    let fail;
    const done = new Promise((resolve, reject) => {
        succeed = resolve;
        fail = reject;
    });
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        send.disabled = true;
        wrong.textContent = '';
        const text = await answer(name.value, password.value);
        send.disabled = false;
        if (text === undefined) dialog.close('done');
        else {
            wrong.textContent = text;
            password.select();
        }
    });
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    dialog.addEventListener('close', () => {
        dialog.remove();
        open = undefined;
        if (dialog.returnValue === 'done') {
            dispatchEvent(new Event('tributary:account'));
            succeed();
        } else fail(new Error('nobody is logged in'));
    });
    dialog.showModal();
    return { dialog, done };
}

/**
 * @param {string} name
 * @param {string} password
 * @returns {Promise<string | undefined>} Why it did not succeed; undefined: it did.
 */
async function answer(name, password) {
    try {
        const response = await fetch('/api/v1/login', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ name, password }),
        });
        if (response.ok) return undefined;
        return (await response.text()).trim() || `The viewer answered ${response.status}.`;
    } catch {
        return 'The viewer does not answer. Is the network there?';
    }
}
