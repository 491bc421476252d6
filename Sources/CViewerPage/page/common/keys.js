// @ts-check
// Keys of a page, and the dialog that lists them. Letters can be switched off, for people whose speech is turned into keys
// (WCAG 2.2, 2.1.4).

import { openDialog } from './dialog.js';
import { button, element } from './element.js';

/**
 * @typedef {object} Key
 * @property {string[]} keys As `KeyboardEvent.key` has them; a capital is a letter with shift, and other keys with shift have `Shift+` in front.
 * @property {string} [shown] How they are written in the list, separated by spaces.
 * @property {string} text Their action.
 * @property {(event: KeyboardEvent) => void} act
 */

/**
 * On every page.
 * @type {Pick<Key, 'keys' | 'shown' | 'text'>}
 */
const help = { keys: ['?'], text: 'This list' };

const place = 'tributary.letters';
const areLettersOn = () => localStorage.getItem(place) !== 'off';

/**
 * Handles keys until the returned function is called. `?` opens the list.
 * @param {Key[]} keys
 * @returns {() => void}
 */
export function useKeys(keys) {
    const all = [...keys, { ...help, act: () => showKeys(keys) }];
    const press = (/** @type {KeyboardEvent} */ event) => {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
        if (document.querySelector('dialog[open]')) return;
        const { target } = event;
        if (target instanceof Element && target.closest('input, select, textarea, [contenteditable]')) return;
        // These keys activate the focused control.
        const isControl = target instanceof Element && target.closest('button, a, summary, label') !== null;
        if (isControl && (event.key === ' ' || event.key === 'Enter')) return;
        if (event.key.length === 1 && event.key !== ' ' && !areLettersOn()) return;
        const key = found(all, event);
        if (!key) return;
        event.preventDefault();
        key.act(event);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
}

/**
 * @param {Key[]} keys
 * @param {KeyboardEvent} event
 */
function found(keys, event) {
    const { key, shiftKey } = event;
    if (key.length > 1) return keys.find((one) => one.keys.includes(shiftKey ? `Shift+${key}` : key));
    // Caps lock is not shift. For signs, the modifier keys do not matter.
    const isLetter = key.toLowerCase() !== key.toUpperCase();
    const name = !isLetter ? key : shiftKey ? key.toUpperCase() : key.toLowerCase();
    return keys.find((one) => one.keys.includes(name));
}

/**
 * Shows the list of keys.
 * @param {Pick<Key, 'keys' | 'shown' | 'text'>[]} keys
 */
export function showKeys(keys) {
    const body = element('tbody');
    for (const key of [...keys, help]) {
        const names = element('th', { scope: 'row' });
        for (const name of key.shown?.split(' ') ?? key.keys) names.append(element('kbd', {}, name.length === 1 ? name.toUpperCase() : name), ' ');
        body.append(element('tr', {}, names, element('td', {}, key.text)));
    }
    const letters = element('input', { type: 'checkbox', checked: areLettersOn(), onchange: () => {
        localStorage.setItem(place, letters.checked ? 'on' : 'off');
    } });
    const dialog = openDialog('keys', 'Keys', element('table', {}, body),
        element('label', {}, letters, 'Letters and signs act at once, without Control'),
        element('div', { className: 'buttons' }, button('Close', () => dialog.close(), { className: 'main', autofocus: true })));
}
