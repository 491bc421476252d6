// @ts-check
// Light and dark theme: the system's, or the user's choice.

/** @typedef {'system' | 'light' | 'dark'} Theme */

const place = 'tributary.theme';

/** Media query of the dark style sheet. */
const media = { system: '(prefers-color-scheme: dark)', light: 'not all', dark: 'all' };

/** @returns {Theme} */
export function theme() {
    const kept = localStorage.getItem(place);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** @param {Theme} theme */
export function setTheme(theme) {
    if (theme === 'system') localStorage.removeItem(place);
    else localStorage.setItem(place, theme);
    applyTheme();
}

/** Applies the chosen colours. */
export function applyTheme() {
    const sheet = /** @type {HTMLLinkElement} */ (document.getElementById('dark'));
    sheet.media = media[theme()];
    document.documentElement.style.colorScheme = theme() === 'system' ? '' : theme();
    colours.clear();
    dispatchEvent(new Event('tributary:theme'));
}

/** @type {Map<string, string>} */
const colours = new Map();

/**
 * A colour of the page, for a canvas. After the event `tributary:theme` on the window it may be another one.
 * @param {string} name Of a custom property, such as `--text`.
 */
export function colour(name) {
    let value = colours.get(name);
    if (value === undefined) {
        value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        if (value) colours.set(name, value);
    }
    return value || '#808080';
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colours.clear();
    dispatchEvent(new Event('tributary:theme'));
});
