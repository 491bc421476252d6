// @ts-check
// On a phone, what is not needed all the time is behind a button: a toolbar of five lines leaves no room for pictures.

import { button } from './element.js';

/**
 * A button that shows the parts of a toolbar that have the class `folds`; elsewhere than on phones all are shown, and the button is not.
 * @param {string} toolbar Its selector: what the button is in.
 */
export function foldButton(toolbar) {
    const made = button('More', () => {
        const isOpen = made.closest(toolbar)?.classList.toggle('unfolded') ?? false;
        made.setAttribute('aria-expanded', String(isOpen));
        made.textContent = isOpen ? 'Less' : 'More';
    }, { className: 'fold', 'aria-expanded': 'false' });
    return made;
}
