// @ts-check
// Buttons, speed, sound and the two clocks below the pictures.

import { button, element, setText } from './element.js';
import { clock, day, sessionTime, utc } from './format.js';
import { icon } from './icons.js';
import { parseTime } from './playback-address.js';

/** Speeds that can be chosen; those below 0 go backwards. */
export const speeds = [-16, -8, -4, -2, -1, 0.25, 0.5, 1, 2, 4, 8, 16];

/** @param {number} rate */
export const speedText = (rate) =>
    `${rate < 0 ? 'Backwards ' : ''}${{ 0.25: '¼', 0.5: '½' }[Math.abs(rate)] ?? Math.abs(rate)}×`;

/**
 * @typedef {object} Actions
 * @property {() => void} toggle
 * @property {(direction: 1 | -1) => void} step
 * @property {(direction: 1 | -1) => void} gap
 * @property {(direction: 1 | -1) => void} mark
 * @property {(rate: number) => void} rate
 * @property {(time: number) => void} seek
 * @property {(name: string) => void} sound
 * @property {() => void} markIn
 * @property {() => void} markOut
 * @property {() => void} clearMarks
 * @property {() => void} loop
 * @property {(factor: number) => void} zoom
 * @property {() => void} showAll
 * @property {() => void} keys
 * @property {() => void} choose
 */

export class PlaybackControls {
    /**
     * @param {Actions} actions
     * @param {number} zero
     */
    constructor(actions, zero) {
        this.zero = zero;
        const sign = (/** @type {import('./icons.js').Icon} */ name, /** @type {string} */ text, /** @type {() => void} */ act) => {
            const made = button('', act, { 'aria-label': text.replace(/ \(.*/, ''), title: text, className: 'sign' });
            made.append(icon(name));
            return made;
        };
        this.toggle = sign('play', 'Play (space)', actions.toggle);
        this.toggle.classList.add('main');
        this.speed = element('select', { className: 'speed', 'aria-label': 'Speed', title: 'Speed (J and L)',
            onchange: () => actions.rate(Number(this.speed.value)) },
        ...speeds.map((rate) => element('option', { value: String(rate), selected: rate === 1 }, speedText(rate))));
        this.sound = element('select', { 'aria-label': 'Sound', title: 'Whose sound is heard', onchange: () => actions.sound(this.sound.value) });
        this.place = element('input', { className: 'place figures', 'aria-label': 'Place in the session', title: 'Go to: 83.5, 1:23.5, or 2026-11-20 15:00Z',
            size: 12, autocomplete: 'off', spellcheck: false });
        this.place.addEventListener('change', () => {
            const time = parseTime(this.place.value, zero);
            if (time !== null) actions.seek(time);
            this.place.blur();
            this.shownPlace = '';
        });
        this.place.addEventListener('keydown', (event) => {
            if (event.key === 'Escape') {
                this.shownPlace = '';
                this.place.blur();
            }
        });
        this.shownPlace = '';
        this.clock = element('time', { className: 'wall' });
        this.status = element('span', { className: 'status muted', role: 'status' });
        this.markIn = button('In', actions.markIn, { title: 'In point here (I)' });
        this.markOut = button('Out', actions.markOut, { title: 'Out point here (O)' });
        this.clear = button('Clear', actions.clearMarks, { title: 'No in and out points', disabled: true });
        this.loop = sign('loop', 'Loop between in and out (P)', actions.loop);
        this.loop.setAttribute('aria-pressed', 'false');
        this.element = element('div', { className: 'controls', role: 'group', 'aria-label': 'Playback' },
            element('div', { className: 'group' },
                sign('back', 'One picture back (left arrow)', () => actions.step(-1)), this.toggle,
                sign('on', 'One picture on (right arrow)', () => actions.step(1)), this.speed),
            element('div', { className: 'group' }, this.place, this.clock),
            element('div', { className: 'group' },
                button('‹ Gap', () => actions.gap(-1), { title: 'Previous gap (shift G)', 'aria-label': 'Previous gap' }),
                button('Gap ›', () => actions.gap(1), { title: 'Next gap (G)', 'aria-label': 'Next gap' })),
            element('div', { className: 'group' },
                button('‹ Mark', () => actions.mark(-1), { title: 'Previous mark (shift N)', 'aria-label': 'Previous mark' }),
                button('Mark ›', () => actions.mark(1), { title: 'Next mark (N)', 'aria-label': 'Next mark' })),
            element('div', { className: 'group' }, this.markIn, this.markOut, this.clear, this.loop),
            element('div', { className: 'group' }, this.sound),
            element('div', { className: 'group' },
                sign('zoomOut', 'More of the timeline (−)', () => actions.zoom(2)), sign('zoomIn', 'Less of the timeline (+)', () => actions.zoom(0.5)),
                button('All', actions.showAll, { title: 'The whole timeline (0)' })),
            this.status);
        /** For the heading. */
        this.more = element('div', { className: 'group' }, button('Sources', actions.choose),
            button('Keys', actions.keys, { title: 'Keys (?)' }));
    }

    /** @param {string[]} names @param {string} chosen */
    setSources(names, chosen) {
        this.sound.replaceChildren(element('option', { value: '' }, 'No sound'),
            ...names.map((name) => element('option', { value: name, selected: name === chosen }, `Sound: ${name}`)));
    }

    /** @param {import('./playback-player.js').PlaybackPlayer} player */
    update(player) {
        const { clock: playing, waitingFor, markIn, markOut } = player;
        const name = playing.isPlaying ? 'pause' : 'play';
        if (this.toggle.dataset.icon !== name) {
            this.toggle.dataset.icon = name;
            this.toggle.replaceChildren(icon(name));
            this.toggle.setAttribute('aria-label', name === 'play' ? 'Play' : 'Pause');
            this.toggle.title = name === 'play' ? 'Play (space)' : 'Pause (space)';
        }
        const rate = String(playing.rate);
        if (this.speed.value !== rate) this.speed.value = rate;
        const time = sessionTime(playing.now);
        if (time !== this.shownPlace && document.activeElement !== this.place) {
            this.place.value = time;
            this.shownPlace = time;
        }
        const date = new Date(this.zero + playing.now * 1000);
        const wall = `${day(date)}, ${clock(date)}`;
        if (this.clock.textContent !== wall) {
            this.clock.textContent = wall;
            this.clock.dateTime = date.toISOString();
            this.clock.title = utc(date);
        }
        setText(this.status, waitingFor.length > 0 && playing.isHeld && performance.now() - player.heldSince > 500
            ? `Waiting for ${waitingFor.map((tile) => tile.name).join(', ')}` : '');
        this.clear.disabled = markIn === null && markOut === null;
        this.markIn.setAttribute('aria-pressed', String(markIn !== null));
        this.markOut.setAttribute('aria-pressed', String(markOut !== null));
        this.loop.disabled = markIn === null || markOut === null;
        this.loop.setAttribute('aria-pressed', String(player.isLooping && !this.loop.disabled));
    }
}
