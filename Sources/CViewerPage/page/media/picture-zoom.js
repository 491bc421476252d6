// @ts-check
// Digital zoom of one picture, live or recorded: by wheel with Control (which touchpads send for a pinch), two fingers, and keys. An
// enlarged picture can be dragged. Without Control, the wheel scrolls.

import { element, setText } from './element.js';

/** Maximum zoom: a pixel of the picture is as large as a letter. */
const most = 16;
/** Zoom factors of a key press, and of a line of the wheel. */
const step = 1.5;
const wheelFactor = 1.0015;
/** A pointer that moved less than this has clicked, CSS pixels. */
const clickDistance = 5;
/** Step of the keys, as a fraction of the visible part. */
const keyPart = 0.2;

/** @type {Record<string, [number, number]>} */
const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class PictureZoom {
    /** 1: the whole picture. */
    scale = 1;
    /** Centre of the visible part, as fractions of the picture's size. */
    x = 0.5;
    y = 0.5;
    /** @type {Map<number, { x: number, y: number }>} */
    #pointers = new Map();
    #moved = 0;

    /**
     * @param {string} name Of the source.
     * @param {HTMLElement} frame Clips the picture, and receives wheel and pointer events.
     * @param {HTMLElement} picture
     * @param {HTMLElement} tile Has the focus for the keys.
     */
    constructor(name, frame, picture, tile) {
        this.frame = frame;
        this.picture = picture;
        picture.style.transformOrigin = '0 0';
        this.whole = element('button', { type: 'button', className: 'whole', hidden: true, title: 'The whole picture (key X)', onclick: () => this.reset() });
        this.name = name;
        frame.append(this.whole);
        frame.classList.add('zoomable');
        frame.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
        frame.addEventListener('pointerdown', (event) => this.#press(event));
        frame.addEventListener('pointermove', (event) => this.#drag(event));
        for (const kind of /** @type {const} */ (['pointerup', 'pointercancel'])) frame.addEventListener(kind, (event) => this.#pointers.delete(event.pointerId));
        // A drag is not a click.
        frame.addEventListener('click', (event) => {
            // Clicks by keyboard have no position.
            if (event.detail === 0 || this.#moved < clickDistance || this.whole.contains(/** @type {Node} */ (event.target))) return;
            event.stopPropagation();
            event.preventDefault();
            this.#moved = 0;
        }, true);
        tile.addEventListener('keydown', (event) => {
            const way = arrows[event.key];
            if (!way || !event.shiftKey || this.scale === 1 || event.ctrlKey || event.altKey || event.metaKey) return;
            event.preventDefault();
            this.#show(this.scale, this.x + (way[0] * keyPart) / this.scale, this.y + (way[1] * keyPart) / this.scale);
        });
    }

    zoomIn() {
        this.#show(this.scale * step, this.x, this.y);
    }

    zoomOut() {
        this.#show(this.scale / step, this.x, this.y);
    }

    reset() {
        this.#show(1, 0.5, 0.5);
    }

    /**
     * @param {number} scale
     * @param {number} x
     * @param {number} y
     */
    #show(scale, x, y) {
        this.scale = Math.max(1, Math.min(most, scale < 1.02 ? 1 : scale));
        const half = 0.5 / this.scale;
        this.x = Math.max(half, Math.min(1 - half, x));
        this.y = Math.max(half, Math.min(1 - half, y));
        const isWhole = this.scale === 1;
        this.picture.style.transform = isWhole ? ''
            : `translate(${(0.5 - this.x * this.scale) * 100}%, ${(0.5 - this.y * this.scale) * 100}%) scale(${this.scale})`;
        this.frame.classList.toggle('zoomed', !isWhole);
        // Keeps the focus when the button is removed.
        if (isWhole && document.activeElement === this.whole) /** @type {HTMLElement | null} */ (this.frame.querySelector('button:not(.whole)'))?.focus();
        this.whole.hidden = isWhole;
        const text = `${this.scale.toFixed(1)}×`;
        setText(this.whole, text);
        this.whole.setAttribute('aria-label', `The whole picture of ${this.name}, now ${text}`);
    }

    /**
     * Zooms so that a point stays where it is.
     * @param {number} factor
     * @param {{ clientX: number, clientY: number }} point
     */
    #zoomAt(factor, { clientX, clientY }) {
        const box = this.frame.getBoundingClientRect();
        const [u, v] = [(clientX - box.left) / box.width - 0.5, (clientY - box.top) / box.height - 0.5];
        const [x, y] = [this.x + u / this.scale, this.y + v / this.scale];
        const scale = Math.max(1, Math.min(most, this.scale * factor));
        this.#show(scale, x - u / scale, y - v / scale);
    }

    /** @param {WheelEvent} event */
    #wheel(event) {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 200 : 1;
        // A pinch comes in steps of a few pixels.
        const speed = Math.abs(event.deltaY) < 20 && event.deltaMode === 0 ? 6 : 1;
        this.#zoomAt(wheelFactor ** (-event.deltaY * unit * speed), event);
    }

    /** @param {PointerEvent} event */
    #press(event) {
        if (event.button !== 0) return;
        if (this.#pointers.size === 0) this.#moved = 0;
        this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    }

    /** @param {PointerEvent} event */
    #drag(event) {
        const before = this.#pointers.get(event.pointerId);
        if (!before) return;
        const now = { x: event.clientX, y: event.clientY };
        const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
        const moved = Math.hypot(now.x - before.x, now.y - before.y);
        if (other) {
            const [was, is] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(now.x - other.x, now.y - other.y)];
            if (was > 8 && is > 8) this.#zoomAt(is / was, { clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2 });
            this.#moved += moved;
        } else if (this.scale > 1) {
            const box = this.frame.getBoundingClientRect();
            this.#moved += moved;
            if (this.#moved >= clickDistance && !this.frame.hasPointerCapture(event.pointerId)) this.frame.setPointerCapture(event.pointerId);
            this.#show(this.scale, this.x - (now.x - before.x) / box.width / this.scale, this.y - (now.y - before.y) / box.height / this.scale);
        }
        this.#pointers.set(event.pointerId, now);
    }
}

/**
 * The keys of the selected picture.
 * @param {() => PictureZoom | undefined} meant
 * @returns {import('./keys.js').Key[]}
 */
export function zoomKeys(meant) {
    return [
        { keys: ['z'], shown: 'Z', text: 'Zoom into the picture of the tile', act: () => meant()?.zoomIn() },
        { keys: ['Z'], shown: 'Shift Z', text: 'Zoom out of the picture', act: () => meant()?.zoomOut() },
        { keys: ['x'], shown: 'X', text: 'The whole picture again', act: () => meant()?.reset() },
        { keys: [], shown: 'Shift ← → ↑ ↓', text: 'Move the picture that is zoomed into', act: () => {} },
    ];
}
