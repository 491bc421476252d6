// @ts-check
// A dialog with a form, which stays open and shows the error if its action fails.

import { ApiError } from './api.js';
import { openDialog } from './dialog.js';
import { button, element, setText } from './element.js';

/** @param {unknown} error */
export const wordsOf = (error) => (error instanceof ApiError ? error.text : String(error));

/**
 * @param {string} title
 * @param {(Node | string)[]} content
 * @param {{ text: string, doing: string, className: string, act: () => Promise<void> }} action
 */
export function askForm(title, content, action) {
    const wrong = element('p', { className: 'wrong', role: 'alert' });
    const take = element('button', { type: 'submit', className: action.className }, action.text);
    const isDanger = action.className === 'danger';
    const dialog = openDialog('edit', title,
        element('form', { onsubmit: async (/** @type {Event} */ event) => {
            event.preventDefault();
            if (take.disabled) return;
            take.disabled = true;
            setText(wrong, '');
            setText(take, action.doing);
            try {
                await action.act();
                dialog.close();
            } catch (error) {
                setText(wrong, wordsOf(error));
            }
            setText(take, action.text);
            take.disabled = false;
        } }, ...content, wrong,
        // If the action is irreversible, 'Cancel' has the initial focus.
        element('div', { className: 'buttons' }, button('Cancel', () => dialog.close(), { autofocus: isDanger }), take)));
}
