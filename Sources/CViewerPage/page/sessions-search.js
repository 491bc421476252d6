// @ts-check
// The form above the sessions: words and a time.

import { button, element } from './element.js';

/**
 * A moment as `datetime-local` has it, in the reader's zone.
 * @param {Date | null} date
 */
function localText(date) {
    if (!date) return '';
    const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
    return local.toISOString().slice(0, 19);
}

/** @param {string} text */
function dateOf(text) {
    const date = new Date(text);
    return text && !Number.isNaN(date.getTime()) ? date : null;
}

/**
 * @param {import('./sessions-list.js').Search} search
 * @param {(search: import('./sessions-list.js').Search) => void} act
 */
export function searchForm(search, act) {
    const text = element('input', { type: 'search', value: search.text, placeholder: 'Name, tag, note or source', autocomplete: 'off' });
    const from = element('input', { type: 'datetime-local', step: 1, value: localText(search.from) });
    const until = element('input', { type: 'datetime-local', step: 1, value: localText(search.until) });
    const clear = button('Clear', () => act({ text: '', from: null, until: null }),
        { disabled: !search.text && !search.from && !search.until });
    const form = element('form', { className: 'search', role: 'search', onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        act({ text: text.value.trim(), from: dateOf(from.value), until: dateOf(until.value) });
    } },
    element('label', {}, 'Words', text), element('label', {}, 'From', from), element('label', {}, 'Until', until),
    element('div', { className: 'buttons' }, element('button', { type: 'submit', className: 'main' }, 'Search'), clear));
    return form;
}
