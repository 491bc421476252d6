// @ts-check
// Which sources are shown: a dialog.

import { button, element } from './element.js';
import { counted } from './format.js';

/** Tiles at most. */
export const mostSources = 16;

/**
 * Asks which sources are to be shown.
 * @param {import('./playback-coverage.js').Lane[]} lanes
 * @param {string[]} shown
 * @param {(names: string[]) => void} choose
 */
export function chooseSources(lanes, shown, choose) {
    const boxes = lanes.map((lane) => element('input', { type: 'checkbox', value: lane.source, checked: shown.includes(lane.source), onchange: update }));
    const words = element('p', { className: 'muted', role: 'status' });
    const take = button('Show', () => {
        dialog.close();
        choose(chosen());
    }, { className: 'main' });
    const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
    /** @type {HTMLDialogElement} */
    const dialog = element('dialog', { className: 'choice', 'aria-label': 'Sources', onclose: () => dialog.remove() },
        element('h2', {}, 'Sources'),
        element('ul', {}, ...lanes.map((lane, index) => element('li', {}, element('label', {}, boxes[index], lane.source),
            lane.missing.length > 0 && element('span', { className: 'muted' },
                ` ${counted(lane.missing.reduce((sum, gap) => sum + gap.samples, 0), 'sample')} missing`)))),
        words, element('div', { className: 'buttons' }, button('Cancel', () => dialog.close()), take));
    function update() {
        const count = chosen().length;
        words.textContent = count > mostSources ? `At most ${mostSources} at once.` : `${counted(count, 'source')} of ${lanes.length}`;
        take.disabled = count === 0 || count > mostSources;
    }
    update();
    document.body.append(dialog);
    dialog.showModal();
}
