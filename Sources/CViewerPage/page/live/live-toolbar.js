// @ts-check
// Toolbar of the wall: mode, delay, and the shown time.

import { button, element, setText } from './element.js';
import { clock, sessionTime, utc } from './format.js';
import { foldButton } from './toolbar-fold.js';

/** Delays that can be chosen, seconds. */
const delays = [0.3, 0.5, 1, 2, 5, 10];
/** Renditions that tiles of sources with a preview can show. */
const qualities = { size: 'by size', preview: 'previews', main: 'full size' };

/**
 * @typedef {object} ToolbarActions
 * @property {(mode: import('./live-wall.js').Mode) => void} setMode
 * @property {(delay: number | null) => void} setDelay
 * @property {(quality: import('./renditions.js').Quality) => void} setQuality
 * @property {() => void} mark The instant that is shown.
 * @property {() => void} choose Which sources.
 * @property {() => void} walls That are saved.
 * @property {(pages: number) => void} turn
 * @property {(isTurning: boolean) => void} setTurning
 * @property {() => void} fullScreen
 * @property {() => void} keys
 */

export class LiveToolbar {
    /** @param {ToolbarActions} actions */
    constructor(actions) {
        this.step = button('In step', () => actions.setMode('step'), { title: 'Every tile shows the same instant (key I)' });
        this.fastest = button('Fastest', () => actions.setMode('fastest'), { title: 'Each tile as soon as it can (key I)' });
        this.delay = element('select', { 'aria-label': 'Delay', onchange: () => actions.setDelay(this.delay.value ? Number(this.delay.value) : null) },
            element('option', { value: '' }, 'follows the slowest'),
            ...delays.map((delay) => element('option', { value: String(delay) }, `${delay} s`)));
        this.shown = element('output', { className: 'delay figures' });
        this.quality = element('select', { 'aria-label': 'Pictures', title: 'What sources with a preview show (key Q)',
            onchange: () => actions.setQuality(/** @type {import('./renditions.js').Quality} */ (this.quality.value)) },
        ...Object.entries(qualities).map(([value, text]) => element('option', { value }, text)));
        this.qualities = element('label', { className: 'delays folds', hidden: true }, element('span', {}, 'Pictures'), this.quality);
        this.time = element('time', { className: 'figures' });
        this.session = element('span', { className: 'muted figures' });
        this.notice = element('span', { className: 'connection' });
        this.page = element('output', { className: 'figures' });
        this.turning = button('Turn', () => actions.setTurning(this.turning.getAttribute('aria-pressed') !== 'true'), { title: 'Show the next tiles by themselves' });
        this.pages = element('div', { className: 'pages', role: 'group', 'aria-label': 'Tiles of this wall', hidden: true },
            button('‹', () => actions.turn(-1), { 'aria-label': 'Tiles before', title: 'Tiles before (key P)' }), this.page,
            button('›', () => actions.turn(1), { 'aria-label': 'Next tiles', title: 'Next tiles (key N)' }), this.turning);
        this.root = element('div', { className: 'toolbar', role: 'toolbar', 'aria-label': 'Live wall' },
            element('div', { className: 'pair', role: 'group', 'aria-label': 'Which instant' }, this.step, this.fastest),
            element('label', { className: 'delays folds' }, element('span', {}, 'Delay'), this.delay, this.shown),
            this.qualities,
            element('span', { className: 'times' }, this.time, ' ', this.session),
            this.pages, this.notice,
            this.mark = button('Mark', actions.mark, { className: 'mark', hidden: true, title: 'Mark the instant that is shown (key K)' }),
            foldButton('.toolbar'),
            element('div', { className: 'end folds' },
                button('Walls', actions.walls, { 'aria-haspopup': 'dialog' }),
                button('Sources', actions.choose, { 'aria-haspopup': 'dialog' }),
                button('Full screen', actions.fullScreen, { title: 'Key F' }),
                button('Keys', actions.keys, { title: 'Key ?', 'aria-haspopup': 'dialog' })));
        this.setMode('step');
    }

    /** @param {import('./live-wall.js').Mode} mode */
    setMode(mode) {
        this.step.setAttribute('aria-pressed', String(mode === 'step'));
        this.fastest.setAttribute('aria-pressed', String(mode === 'fastest'));
        this.delay.disabled = mode === 'fastest';
    }

    /** @param {import('./live-pages.js').WallPages} pages */
    showPages({ index, count, canTurn, isTurning }) {
        this.pages.hidden = count === 1;
        setText(this.page, `${index + 1} of ${count}`);
        this.turning.hidden = !canTurn;
        this.turning.setAttribute('aria-pressed', String(isTurning));
    }

    /** @param {number | null} delay */
    setDelay(delay) {
        this.delay.value = delay === null ? '' : String(delay);
    }

    /**
     * @param {import('./renditions.js').Quality} quality
     * @param {boolean} canChoose Whether a source has a preview.
     */
    showQuality(quality, canChoose) {
        this.quality.value = quality;
        this.qualities.hidden = !canChoose;
    }

    /**
     * The one after a choice.
     * @param {import('./renditions.js').Quality} quality
     */
    static nextQuality(quality) {
        const all = /** @type {import('./renditions.js').Quality[]} */ (Object.keys(qualities));
        return all[(all.indexOf(quality) + 1) % all.length];
    }

    /**
     * The delay after or before the chosen one.
     * @param {number | null} delay
     * @param {number} direction
     */
    static nextDelay(delay, direction) {
        const all = [null, ...delays];
        return all[Math.max(0, Math.min(all.length - 1, all.indexOf(delay) + direction))];
    }

    /**
     * @param {number | null} at Session time that is shown.
     * @param {number | null} delay
     * @param {Date | undefined} zero The session's.
     */
    draw(at, delay, zero) {
        setText(this.shown, delay === null ? '' : `${delay.toFixed(2)} s`);
        const date = at !== null && zero ? new Date(zero.getTime() + at * 1000) : undefined;
        setText(this.time, date ? clock(date) : '');
        setText(this.session, at === null ? '' : sessionTime(at, 0));
        if (!date) return;
        this.time.dateTime = date.toISOString();
        this.time.title = utc(date);
        this.session.title = 'Session time';
    }
}
