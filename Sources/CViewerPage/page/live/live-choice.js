// @ts-check
// The dialog that chooses which sources the wall shows.

import { openDialog } from './dialog.js';
import { button, element } from './element.js';

/**
 * @param {string[]} known All names.
 * @param {string[] | undefined} chosen Undefined: all.
 * @param {(chosen: string[] | undefined) => void} choose
 */
export function openChoice(known, chosen, choose) {
    const names = [...new Set([...known, ...(chosen ?? [])])].sort((one, other) => one.localeCompare(other, undefined, { numeric: true }));
    const boxes = names.map((name) => element('input', { type: 'checkbox', value: name, checked: chosen?.includes(name) ?? true }));
    const list = element('ul', {}, ...boxes.map((box) => element('li', {}, element('label', {}, box, box.value))));
    const show = () => {
        const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
        dialog.close();
        choose(ticked.length === 0 || ticked.length === names.length ? undefined : ticked);
    };
    const dialog = openDialog('choice', 'Sources on the wall',
        names.length ? list : element('p', {}, 'No source is known yet.'),
        element('div', { className: 'buttons' },
            button('All', () => boxes.forEach((box) => { box.checked = true; })),
            button('None', () => boxes.forEach((box) => { box.checked = false; })),
            button('Cancel', () => dialog.close()),
            button('Show', show, { className: 'main' })));
}
