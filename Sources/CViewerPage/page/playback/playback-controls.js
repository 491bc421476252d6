// @ts-check
// Buttons, speed, sound and the two clocks below the pictures.

import { button, element, setText } from './element.js';
import { clock, day, duration, sessionTime } from './format.js';
import { icon } from './icons.js';
import { foldButton } from './toolbar-fold.js';
import { parseTime } from './playback-address.js';
import { say } from './shell.js';
import { localText, readInstant } from './zone.js';

/** Speeds that can be chosen; those below 0 go backwards. */
export const speeds = [-16, -8, -4, -2, -1, 0.25, 0.5, 1, 2, 4, 8, 16];

/** @param {number} rate */
const factor = (rate) => `${{ 0.25: '¼', 0.5: '½' }[Math.abs(rate)] ?? Math.abs(rate)}×`;

/** @param {number} rate */
export const speedText = (rate) => `${rate < 0 ? 'Backwards ' : ''}${factor(rate)}`;

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
        ...speeds.map((rate) => element('option', { value: String(rate), selected: rate === 1 }, `${rate < 0 ? '−' : ''}${factor(rate)}`)));
        this.sound = element('select', { 'aria-label': 'Sound', title: 'Whose sound is heard', onchange: () => actions.sound(this.sound.value) });
        /** The session's extent, for parsing input. */
        this.extent = { start: 0, end: 0 };
        this.now = 0;
        this.place = this.#field('place', 'Place in the session', 'Session time: 83.5 or 1:23.5', (text) => this.#sessionTime(text), actions.seek);
        this.clock = this.#field('wall', 'Time of day', 'Time of day, in the zone that is shown: 15:04:05, or 2026-11-20 15:04', (text) => this.#timeOfDay(text), actions.seek);
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
            element('div', { className: 'group' }, this.place, this.clock, foldButton('.controls')),
            element('div', { className: 'group folds' },
                button('‹ Gap', () => actions.gap(-1), { title: 'Previous gap (shift G)', 'aria-label': 'Previous gap' }),
                button('Gap ›', () => actions.gap(1), { title: 'Next gap (G)', 'aria-label': 'Next gap' })),
            element('div', { className: 'group folds' },
                button('‹ Mark', () => actions.mark(-1), { title: 'Previous mark (shift N)', 'aria-label': 'Previous mark' }),
                button('Mark ›', () => actions.mark(1), { title: 'Next mark (N)', 'aria-label': 'Next mark' })),
            element('div', { className: 'group folds' }, this.markIn, this.markOut, this.clear, this.loop),
            element('div', { className: 'group folds' }, this.sound),
            element('div', { className: 'group folds' },
                sign('zoomOut', 'Zoom out (−)', () => actions.zoom(2)), sign('zoomIn', 'Zoom in (+)', () => actions.zoom(0.5)),
                button('All', actions.showAll, { title: 'The whole timeline (A)' })),
            this.status);
        /** For the heading. */
        this.more = element('div', { className: 'group' }, button('Sources', actions.choose),
            button('Keys', actions.keys, { title: 'Keys (?)' }));
    }

    /**
     * A field that shows a time, and seeks to the entered one.
     * @param {string} className
     * @param {string} label
     * @param {string} title
     * @param {(text: string) => number | string} read Session time, or the error in the text.
     * @param {(time: number) => void} seek
     */
    #field(className, label, title, read, seek) {
        const field = element('input', { className: `${className} figures`, 'aria-label': label, title, size: 12, autocomplete: 'off', spellcheck: false });
        field.addEventListener('change', () => {
            const time = read(field.value);
            // Invalid input stays, to be corrected.
            if (typeof time === 'string') return say(time);
            seek(time);
            field.blur();
        });
        field.addEventListener('keydown', (event) => {
            if (event.key === 'Escape') field.blur();
        });
        field.addEventListener('focus', () => field.select());
        return field;
    }

    /** @param {string} text @returns {number | string} */
    #sessionTime(text) {
        const time = /[T-]\d\d-/.test(text) ? null : parseTime(text, this.zero);
        if (time === null) return `“${text.slice(0, 40)}” is no session time: write 83.5 or 1:23.5. The field beside it takes a time of day.`;
        const { start, end } = this.extent;
        if (time < start - 1 || time > end + 1) {
            return `The session is ${duration(end - start)} long: ${sessionTime(time, 0)} is not in it. The field beside it takes a time of day.`;
        }
        return time;
    }

    /** @param {string} text @returns {number | string} */
    #timeOfDay(text) {
        const { start, end } = this.extent;
        const found = readInstant(text, new Date(this.zero + this.now * 1000), (date) => {
            const time = (date.getTime() - this.zero) / 1000;
            return time >= start - 1 && time <= end + 1;
        });
        if ('flaw' in found) return found.flaw;
        let time = (found.date.getTime() - this.zero) / 1000;
        // Without a day, the session says which it can be.
        if (!found.hasDay) time = [time, time - 86_400, time + 86_400].find((time) => time >= start - 1 && time <= end + 1) ?? time;
        if (time >= start - 1 && time <= end + 1) return time;
        const [first, last] = [start, end].map((time) => new Date(this.zero + time * 1000));
        return `That is not in this session: it goes from ${day(first)}, ${clock(first)} to ${day(last) === day(first) ? '' : `${day(last)}, `}${clock(last)}.`;
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
        this.extent = player.extent;
        this.now = playing.now;
        // Does not overwrite input that is being edited.
        const show = (/** @type {HTMLInputElement} */ field, /** @type {string} */ text) => {
            if (document.activeElement !== field && field.value !== text) field.value = text;
        };
        show(this.place, sessionTime(playing.now));
        const instant = localText(new Date(this.zero + playing.now * 1000));
        show(this.clock, instant);
        if (this.clock.style.getPropertyValue('--length') !== String(instant.length)) this.clock.style.setProperty('--length', String(instant.length));
        setText(this.status, waitingFor.length > 0 && playing.isHeld && performance.now() - player.heldSince > 500
            ? `Waiting for ${waitingFor.map((tile) => tile.name).join(', ')}` : '');
        this.clear.disabled = markIn === null && markOut === null;
        this.markIn.setAttribute('aria-pressed', String(markIn !== null));
        this.markOut.setAttribute('aria-pressed', String(markOut !== null));
        this.loop.disabled = markIn === null || markOut === null;
        this.loop.setAttribute('aria-pressed', String(player.isLooping && !this.loop.disabled));
    }
}
