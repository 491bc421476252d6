// @ts-check
// Keys of the playback page, and the dialog that lists them.

import { button, element } from './element.js';

/** Whether single keys do anything, as somebody has chosen; modified and arrow keys always do. */
const place = 'tributary.keys';

/**
 * @typedef {object} Key
 * @property {string[]} keys As `KeyboardEvent.key` says them, with `Shift+` in front.
 * @property {string} shown
 * @property {string} words
 * @property {() => void} act
 */

export class PlaybackKeys {
    /** @param {Key[]} keys */
    constructor(keys) {
        this.list = keys;
        this.isOn = localStorage.getItem(place) !== 'off';
        this.dialog = this.#makeDialog();
        this.hear = this.hear.bind(this);
        document.addEventListener('keydown', this.hear);
    }

    close() {
        document.removeEventListener('keydown', this.hear);
        this.dialog.remove();
    }

    show() {
        if (!this.dialog.isConnected) document.body.append(this.dialog);
        this.dialog.showModal();
    }

    /** @param {KeyboardEvent} event */
    hear(event) {
        if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
        const { target } = event;
        if (!(target instanceof Element) || target.closest('dialog, input, select, textarea, [contenteditable]')) return;
        const isButton = target.closest('button, a, summary, label');
        if (isButton && (event.key === ' ' || event.key === 'Enter')) return;
        if (event.key.length === 1 && event.key !== ' ' && !this.isOn) return;
        const name = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
        const key = this.list.find(({ keys }) => keys.includes(name))
            ?? this.list.find(({ keys }) => keys.includes(name.toLowerCase()) && name.length === 1 && !event.shiftKey);
        if (!key) return;
        event.preventDefault();
        key.act();
    }

    #makeDialog() {
        const rows = this.list.map(({ shown, words }) => element('tr', {},
            element('th', { scope: 'row' }, ...shown.split(' ').map((name) => element('kbd', {}, name))), element('td', {}, words)));
        const choice = element('input', { type: 'checkbox', checked: this.isOn, onchange: () => {
            this.isOn = choice.checked;
            localStorage.setItem(place, this.isOn ? 'on' : 'off');
        } });
        /** @type {HTMLDialogElement} */
        const dialog = element('dialog', { className: 'keys', 'aria-label': 'Keys' },
            element('h2', {}, 'Keys'), element('table', {}, element('tbody', {}, ...rows)),
            element('p', {}, element('label', {}, choice, 'Keys with a single letter are on')),
            element('div', { className: 'buttons' }, button('Close', () => dialog.close(), { className: 'main' })));
        return dialog;
    }
}
