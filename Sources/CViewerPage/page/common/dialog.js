// @ts-check
// Dialogs, labelled by their title and removed when they close.

import { element } from './element.js';

/** Closes open dialogs when their page is left. */
export function closeDialogs() {
    for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}

/**
 * Shows a modal dialog. When it closes it is removed, and the focus goes back to where it was.
 * @param {string} name Of its style.
 * @param {string} title
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLDialogElement}
 */
export function openDialog(name, title, ...children) {
    const before = document.activeElement;
    const heading = `${name}-title`;
    const dialog = element('dialog', { className: name, 'aria-labelledby': heading },
        element('h2', { id: heading }, title), ...children);
    dialog.addEventListener('close', () => {
        dialog.remove();
        if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    });
    document.body.append(dialog);
    dialog.showModal();
    // The first field or button has the focus: in a long one it may be at the end.
    dialog.scrollTop = 0;
    return dialog;
}
