// @ts-check
// On phones, rarely used controls are behind a button, because a toolbar of five lines leaves no space for pictures.

import { button } from './element.js';

/**
 * A button that shows the parts of a toolbar with the class `folds`; on larger screens all parts are shown, without the button.
 * @param {string} toolbar Selector of the toolbar.
 */
export function foldButton(toolbar) {
    const made = button('More', () => {
        const isOpen = made.closest(toolbar)?.classList.toggle('unfolded') ?? false;
        made.setAttribute('aria-expanded', String(isOpen));
        made.textContent = isOpen ? 'Less' : 'More';
    }, { className: 'fold', 'aria-expanded': 'false' });
    return made;
}
