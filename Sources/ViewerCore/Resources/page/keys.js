// @ts-check
// Keys of a page, and the dialog that lists them. Letters can be switched off, for people whose speech is turned into keys
// (WCAG 2.2, 2.1.4).

import { button, element } from './element.js';

/**
 * @typedef {object} Key
 * @property {string[]} keys As `KeyboardEvent.key` has them; a letter in lower case.
 * @property {string} [shown] How they are written in the list.
 * @property {string} text What they do.
 * @property {(event: KeyboardEvent) => void} act
 */

const place = 'tributary.letters';
const areLettersOn = () => localStorage.getItem(place) !== 'off';

/**
 * Acts on keys until the answer is called. `?` opens the list.
 * @param {Key[]} keys
 * @returns {() => void}
 */
export function useKeys(keys) {
    const all = [...keys, { keys: ['?'], text: 'This list', act: () => showKeys(all) }];
    const press = (/** @type {KeyboardEvent} */ event) => {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
        if (document.querySelector('dialog[open]')) return;
        const { target } = event;
        if (target instanceof HTMLElement && (target.isContentEditable || target.matches('input, select, textarea'))) return;
        const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
        if (pressed.length === 1 && pressed !== ' ' && !areLettersOn()) return;
        const key = all.find((one) => one.keys.includes(pressed));
        if (!key) return;
        event.preventDefault();
        key.act(event);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
}

/**
 * Shows what keys there are.
 * @param {Key[]} keys
 */
export function showKeys(keys) {
    const body = element('tbody');
    for (const key of keys) {
        const names = element('th', { scope: 'row' });
        for (const name of key.shown?.split(' ') ?? key.keys) names.append(element('kbd', {}, name.length === 1 ? name.toUpperCase() : name), ' ');
        body.append(element('tr', {}, names, element('td', {}, key.text)));
    }
    const letters = element('input', { type: 'checkbox', checked: areLettersOn(), onchange: () => {
        localStorage.setItem(place, letters.checked ? 'on' : 'off');
    } });
    /** @type {HTMLDialogElement} */
    const dialog = element('dialog', { className: 'keys', 'aria-labelledby': 'keys-title' },
        element('h2', { id: 'keys-title' }, 'Keys'),
        element('table', {}, body),
        element('label', {}, letters, 'Letters and signs act at once, without Control'),
        element('div', { className: 'buttons' }, button('Close', () => dialog.close(), { className: 'main', autofocus: true })));
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}
