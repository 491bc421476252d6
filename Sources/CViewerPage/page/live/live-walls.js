// @ts-check
// Walls that are saved: the list of them, and the form for one: its name, its sources in their order, how many at once, and whether they turn.

import { account, address, get, post, put, remove } from './api.js';
import { openDialog } from './dialog.js';
import { button, element } from './element.js';
import { askForm, wordsOf } from './form-dialog.js';
import { counted } from './format.js';
import { navigate } from './main.js';
import { say } from './shell.js';

/** Limit of the viewer (proto/openapi.yaml, "WallRequest"). */
const longestName = 64;
const mostTiles = 64;
const turns = { least: 5, most: 3600, usual: 15 };

/**
 * @typedef {object} Wall
 * @property {string} id
 * @property {string} name
 * @property {string[]} sources In the order of the tiles.
 * @property {number} [tiles] At once; missing: all.
 * @property {number} [turnSeconds] Missing: they stay.
 * @property {boolean} isShared
 * @property {boolean} isChangeable
 */

/** @returns {Promise<Wall[]>} */
export const readWalls = () => get('/api/v1/walls');

/** @param {{ id: string }} wall */
export const wallAddress = ({ id }) => address`/live?wall=${id}`;

/** @param {Wall} wall */
export function wallFacts({ sources, tiles, turnSeconds, isShared }) {
    const size = tiles && tiles < sources.length ? `${tiles} at once` : '';
    const turning = size && turnSeconds ? `turning every ${turnSeconds} s` : '';
    return [counted(sources.length, 'source'), size, turning, isShared ? 'shared' : ''].filter(Boolean).join(', ');
}

/**
 * Lists the walls.
 * @param {string[]} known Names of all sources, in the order of the tiles.
 * @param {Wall | undefined} current The one that is shown.
 */
export async function openWalls(known, current) {
    const [walls, { role }] = await Promise.all([readWalls(), account()]);
    const isOperator = role === 'operator';
    walls.sort((one, other) => one.name.localeCompare(other.name, undefined, { numeric: true }));
    const list = element('ul', { className: 'walls' }, ...walls.map((wall) => element('li', {},
        element('a', { href: wallAddress(wall), ...(wall.id === current?.id ? { 'aria-current': 'true' } : {}), onclick: () => dialog.close() }, wall.name),
        element('span', { className: 'muted' }, wallFacts(wall)),
        wall.isChangeable && button('Edit', () => {
            dialog.close();
            editWall(wall, known, isOperator);
        }, { className: 'plain', 'aria-label': `Edit ${wall.name}` }),
        wall.isChangeable && button('Remove', () => {
            dialog.close();
            void removeWall(wall, wall.id === current?.id);
        }, { className: 'plain', 'aria-label': `Remove ${wall.name}` }))));
    const dialog = openDialog('choice', 'Walls',
        walls.length > 0 ? list : element('p', {}, 'No wall is saved yet.'),
        element('div', { className: 'buttons' },
            element('a', { className: 'button', href: '/live', onclick: () => dialog.close() }, 'All sources'),
            button('Close', () => dialog.close()),
            button('New wall', () => {
                dialog.close();
                editWall(undefined, known, isOperator);
            }, { className: 'main', disabled: known.length === 0 })));
}

/**
 * @param {Wall} wall
 * @param {boolean} isShown
 */
async function removeWall({ id, name, sources, tiles, turnSeconds, isShared }, isShown) {
    try {
        await remove(address`/api/v1/walls/${id}`);
        if (isShown) navigate('/live');
        say(`The wall ${name} is removed.`, { text: 'Undo', act: async () => {
            try {
                await post('/api/v1/walls', { name, sources, tiles, turnSeconds, isShared });
                say(`The wall ${name} is there again.`);
            } catch (error) {
                say(wordsOf(error));
            }
        } });
    } catch (error) {
        say(wordsOf(error));
    }
}

/**
 * The form for a wall.
 * @param {Wall | undefined} wall Undefined: a new one.
 * @param {string[]} known
 * @param {boolean} isOperator
 */
function editWall(wall, known, isOperator) {
    const name = element('input', { required: true, maxLength: longestName, value: wall?.name ?? '', autocomplete: 'off', autofocus: true });
    const rows = [...new Set([...(wall?.sources ?? []), ...known])].map((source) => {
        const box = element('input', { type: 'checkbox', value: source, checked: wall?.sources.includes(source) ?? true });
        const row = element('li', {}, element('label', {}, box, source));
        const move = (/** @type {string} */ sign, /** @type {string} */ words, /** @type {-1 | 1} */ way) => button(sign, () => shift(row, way),
            { className: 'plain', 'aria-label': `${source} ${words}`, title: words });
        row.append(move('↑', 'earlier', -1), move('↓', 'later', 1));
        return row;
    });
    const list = element('ul', { className: 'order', 'aria-label': 'Sources, in the order of the tiles' }, ...rows);
    const shift = (/** @type {HTMLElement} */ row, /** @type {-1 | 1} */ way) => {
        const other = way < 0 ? row.previousElementSibling : row.nextElementSibling;
        if (!other) return;
        const focus = document.activeElement;
        list.insertBefore(way < 0 ? row : other, way < 0 ? other : row);
        if (focus instanceof HTMLElement) focus.focus();
    };
    const number = (/** @type {number | undefined} */ value, /** @type {number} */ least, /** @type {number} */ most, /** @type {string} */ empty) =>
        element('input', { type: 'number', min: String(least), max: String(most), step: '1', value: value === undefined ? '' : String(value), placeholder: empty });
    const tiles = number(wall?.tiles, 1, mostTiles, 'all');
    const period = number(wall?.turnSeconds, turns.least, turns.most, 'by hand');
    const shared = element('input', { type: 'checkbox', checked: wall?.isShared ?? false });
    askForm(wall ? `Edit ${wall.name}` : 'New wall', [
        element('label', {}, 'Name', name), list,
        element('label', {}, 'Tiles at once', tiles), element('label', {}, 'Turn every so many seconds', period),
        ...(isOperator ? [element('label', { className: 'tick' }, shared, 'For everybody who may see one of its sources')] : []),
    ], { text: 'Save', doing: 'Saving…', className: 'main', act: async () => {
        const body = {
            name: name.value.trim(), sources: [...list.querySelectorAll('input')].filter((box) => box.checked).map((box) => box.value),
            ...(tiles.value ? { tiles: Number(tiles.value) } : {}), ...(period.value ? { turnSeconds: Number(period.value) } : {}), isShared: shared.checked,
        };
        const saved = wall ? await put(address`/api/v1/walls/${wall.id}`, body) : await post('/api/v1/walls', body);
        say(`The wall ${saved.name} is saved.`);
        navigate(wallAddress(saved), true);
    } });
}
