// @ts-check
// The frame of every page: the header, and the message line.

import { account, ApiError, post } from './api.js';
import { button, element, setText } from './element.js';
import { applyTheme, setTheme, theme } from './theme.js';
import { ownZone, setZone, zone, zoneText } from './zone.js';

/** How long a message stays, in milliseconds. */
const stay = 6000;

/** @type {[string, string, string][]} Name, address and text of each page. */
const places = [
    ['live', '/live', 'Live'],
    ['calendar', '/calendar', 'Calendar'],
    ['sessions', '/sessions', 'Sessions'],
    ['health', '/health', 'Health'],
];

/** @type {Map<string, HTMLAnchorElement>} */
const links = new Map();
const who = element('a', { className: 'who', href: '/account', hidden: true, title: 'Account: password and links' });
const zones = element('select', { className: 'zone', 'aria-label': 'Time zone', title: 'The zone of all times on this page', onchange: () => {
    setZone(zones.value);
    dispatchEvent(new Event('tributary:zone'));
} });
const leave = button('Log out', logOut, { hidden: true });

/** Draws the header, and requests the account. */
export async function showHeader() {
    const list = element('ul');
    for (const [name, href, text] of places) {
        const link = element('a', { href }, text);
        links.set(name, link);
        list.append(element('li', {}, link));
    }
    markPlace(current);
    const choice = element('select', { 'aria-label': 'Colours', title: 'Colours of the page', onchange: () => {
        setTheme(/** @type {import('./theme.js').Theme} */ (choice.value));
    } });
    for (const [value, text] of [['system', 'System'], ['light', 'Light'], ['dark', 'Dark']]) {
        choice.append(element('option', { value, selected: value === theme() }, text));
    }
    const header = /** @type {HTMLElement} */ (document.getElementById('header'));
    header.replaceChildren(
        element('a', { className: 'brand', href: '/live', 'aria-label': 'Tributary, live' },
            element('img', { src: '/page/icon.svg', alt: '', width: 24, height: 24 }),
            element('span', {}, 'Tributary')),
        element('nav', { 'aria-label': 'Pages' }, list),
        element('div', { className: 'account' }, who, zones, choice, leave));
    applyTheme();
    addEventListener('tributary:account', () => void showAccount());
    await showAccount();
}

/** Names the zone that times are shown in. */
export function showZone() {
    const names = [...new Set([ownZone, 'UTC', zone()])];
    zones.replaceChildren(...names.map((value) => element('option', { value, selected: value === zone() }, zoneText(value))));
}

async function showAccount() {
    try {
        const known = await account();
        leave.hidden = !known.needsLogIn;
        who.hidden = !known.needsLogIn;
        who.replaceChildren(...(known.needsLogIn ? [known.name, element('span', { className: 'role' }, known.role === 'operator' ? ', operator' : '')] : []));
    } catch (error) {
        if (error instanceof ApiError) say(error.text);
    }
}

async function logOut() {
    try {
        await post('/api/v1/logout');
    } catch (error) {
        if (error instanceof ApiError) return say(error.text);
        throw error;
    }
    // Discards all data in memory.
    location.reload();
}

let current = '';

/**
 * Marks which page is shown.
 * @param {string} name
 */
export function markPlace(name) {
    current = name;
    for (const [other, link] of links) {
        if (other === name) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
    }
}

/**
 * Names the page in the browser's tab.
 * @param {string} text
 */
export function setTitle(text) {
    document.title = text ? `${text} · Tributary` : 'Tributary';
}

let clearing = 0;

/**
 * Shows a message: for a while at the bottom of the page, and to screen readers (`polite`).
 * @param {string} text
 * @param {{ text: string, act: () => void }} [action] An action offered with the message.
 */
export function say(text, action) {
    const place = /** @type {HTMLElement} */ (document.getElementById('said'));
    setText(place, text);
    if (action) {
        place.append(' ', button(action.text, () => {
            setText(place, '');
            action.act();
        }));
    }
    clearTimeout(clearing);
    clearing = setTimeout(() => setText(place, ''), (action ? 2 : 1) * stay + 60 * text.length);
}
