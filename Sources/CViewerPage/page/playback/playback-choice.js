// @ts-check
// Which sources are shown: a dialog.

import { missingText } from './causes.js';
import { openDialog } from './dialog.js';
import { button, element, setText } from './element.js';
import { counted } from './format.js';

/**
 * Asks which sources are to be shown.
 * @param {import('./playback-coverage.js').Lane[]} lanes
 * @param {string[]} shown
 * @param {number} mostSources At once.
 * @param {(names: string[]) => void} choose
 */
export function chooseSources(lanes, shown, mostSources, choose) {
    const boxes = lanes.map((lane) => element('input', { type: 'checkbox', value: lane.source, checked: shown.includes(lane.source), onchange: update }));
    const words = element('p', { className: 'muted', role: 'status' });
    const take = button('Show', () => {
        dialog.close();
        choose(chosen());
    }, { className: 'main' });
    const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
    function update() {
        const count = chosen().length;
        setText(words, count > mostSources ? `At most ${mostSources} at once.` : `${counted(count, 'source')} of ${lanes.length}`);
        take.disabled = count === 0 || count > mostSources;
    }
    update();
    const dialog = openDialog('choice', 'Sources that are shown',
        element('ul', {}, ...lanes.map((lane, index) => element('li', {}, element('label', {}, boxes[index], lane.source),
            lane.missing.length > 0 && element('span', { className: 'muted' }, ` ${missingText(lane.missing)}`)))),
        words, element('div', { className: 'buttons' }, button('Cancel', () => dialog.close()), take));
}
