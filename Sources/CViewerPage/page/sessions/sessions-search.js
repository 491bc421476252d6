// @ts-check
// The form above the sessions: words and a time.

import { button, element } from './element.js';
import { dayOf } from './sessions-day.js';
import { say } from './shell.js';
import { localText, readInstant } from './zone.js';

/**
 * A moment as `datetime-local` has it, in the zone that is shown.
 * @param {Date | null} date
 */
const fieldText = (date) => (date ? localText(date).slice(0, 19).replace(' ', 'T') : '');

/**
 * The day that is looked for, where it is one.
 * @param {import('./sessions-list.js').Search} search
 */
function dayText({ from, until }) {
    if (!from || !until) return '';
    const { start, end } = dayOf(from);
    return start.getTime() === from.getTime() && end.getTime() === until.getTime() ? fieldText(from).slice(0, 10) : '';
}

/**
 * The value of a field in the shown zone; null if it is empty. An invalid value is reported, and the field keeps the focus.
 * @param {HTMLInputElement} field
 * @param {Date | null} before The previous value.
 * @returns {Date | null | undefined} Undefined if it is invalid.
 */
function dateOf(field, before) {
    // In the hour that is repeated when daylight saving time ends, an unchanged field keeps its instant.
    if (field.value === fieldText(before)) return before;
    if (!field.value) return null;
    const found = readInstant(field.value, new Date());
    if ('date' in found) return found.date;
    say(found.flaw);
    field.focus();
    return undefined;
}

/**
 * @param {import('./sessions-list.js').Search} search
 * @param {(search: import('./sessions-list.js').Search) => void} act
 */
export function searchForm(search, act) {
    const text = element('input', { type: 'search', value: search.text, placeholder: 'Name, tag, note or source', autocomplete: 'off' });
    const from = element('input', { type: 'datetime-local', step: 1, value: fieldText(search.from) });
    const until = element('input', { type: 'datetime-local', step: 1, value: fieldText(search.until) });
    const day = element('input', { type: 'date', title: 'All that was recorded on a day', value: dayText(search), onchange: () => {
        const found = readInstant(`${day.value} 12:00`, new Date());
        if (!day.value || !('date' in found)) return;
        const { start, end } = dayOf(found.date);
        act({ text: text.value.trim(), from: start, until: end });
    } });
    const clear = button('Clear', () => act({ text: '', from: null, until: null }),
        { disabled: !search.text && !search.from && !search.until });
    const form = element('form', { className: 'search', role: 'search', onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const [first, last] = [dateOf(from, search.from), dateOf(until, search.until)];
        if (first === undefined || last === undefined) return;
        if (first && last && first >= last) return say('“Until” has to be later than “From”.');
        act({ text: text.value.trim(), from: first, until: last });
    } },
    element('label', {}, 'Search', text), element('label', {}, 'Day', day), element('label', {}, 'From', from), element('label', {}, 'Until', until),
    element('div', { className: 'buttons' }, element('button', { type: 'submit', className: 'main' }, 'Search'), clear));
    return form;
}
