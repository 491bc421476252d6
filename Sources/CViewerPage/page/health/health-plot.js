// @ts-check
// A plot of the last hour: one line on a canvas, its value now as text beside it.

import { element, setText } from './element.js';
import { clock, clockMinutes } from './format.js';
import { capacity } from './health-history.js';
import { colour } from './theme.js';

/** Height of a plot, CSS pixels. */
const height = 56;

export class Plot {
    /**
     * Where the pointer is, CSS pixels; null: elsewhere.
     * @type {number | null}
     */
    #pointer = null;
    #span = capacity;

    /**
     * @param {string} title
     * @param {(value: number) => string} format
     * @param {import('./health-history.js').Series} series
     * @param {number} least The plot's upper end is at least this, so that noise does not look like trouble.
     */
    constructor(title, format, series, least) {
        this.format = format;
        this.series = series;
        this.least = least;
        this.value = element('output', { className: 'figures' });
        this.greatest = element('span', { className: 'muted figures greatest' });
        this.canvas = element('canvas', { height, 'aria-hidden': 'true' });
        this.root = element('div', { className: 'plot' },
            element('div', { className: 'title' }, element('span', {}, title), this.value), this.canvas,
            this.axis = element('div', { className: 'axis muted figures' }, element('span'), element('span'), element('span')), this.greatest);
        this.canvas.addEventListener('pointermove', (event) => { this.#pointer = event.offsetX; });
        this.canvas.addEventListener('pointerleave', () => { this.#pointer = null; });
    }

    /**
     * @param {number} second The newest.
     * @param {number} span How many seconds are drawn.
     */
    draw(second, span) {
        this.#span = span;
        const width = this.canvas.clientWidth;
        if (!width) return;
        this.#say(second, width);
        // Start, middle and end of the plot.
        [...this.axis.children].forEach((mark, index) => setText(mark, index === 2 ? 'now' : clockMinutes(new Date(Date.now() - (1 - index / 2) * span * 1000))));
        const scale = devicePixelRatio || 1;
        const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
        if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
        const context = this.canvas.getContext('2d');
        if (!context) return;
        context.clearRect(0, 0, w, h);
        const columns = this.#columns(second, w);
        const greatest = Math.max(0, ...columns.filter((value) => !Number.isNaN(value)));
        setText(this.greatest, greatest > 0 ? `greatest ${this.format(greatest)}` : '');
        const top = Math.max(greatest, this.least) * 1.1 || 1;
        const y = (/** @type {number} */ value) => h - scale - (value / top) * (h - 2 * scale);
        context.strokeStyle = colour('--line');
        context.lineWidth = scale;
        context.beginPath();
        context.moveTo(0, h - scale / 2);
        context.lineTo(w, h - scale / 2);
        context.stroke();
        context.strokeStyle = colour('--plot-first');
        context.fillStyle = colour('--plot-fill');
        context.lineWidth = 1.5 * scale;
        this.#line(context, columns, y, h);
        if (this.#pointer !== null) {
            context.fillStyle = colour('--muted');
            context.fillRect(this.#pointer * scale, 0, scale, h);
        }
    }

    /**
     * @param {number} second
     * @param {number} width
     */
    #say(second, width) {
        if (this.#pointer === null) {
            const value = this.series.newest(second);
            return setText(this.value, Number.isNaN(value) ? '–' : this.format(value));
        }
        const ago = Math.round((1 - this.#pointer / width) * this.#span);
        const value = this.series.at(second - ago);
        setText(this.value, `${clock(new Date(Date.now() - ago * 1000))}  ${Number.isNaN(value) ? '–' : this.format(value)}`);
    }

    /**
     * The greatest value of each column; NaN where nothing is known.
     * @param {number} second
     * @param {number} width
     */
    #columns(second, width) {
        const columns = new Array(width).fill(NaN);
        for (let ago = 0; ago < this.#span; ago += 1) {
            const value = this.series.at(second - ago);
            if (Number.isNaN(value)) continue;
            const column = Math.min(width - 1, Math.floor((1 - ago / this.#span) * width));
            if (!(columns[column] >= value)) columns[column] = value;
        }
        // A wide screen has more columns than seconds.
        const step = Math.ceil(width / this.#span);
        for (let column = 1; step > 1 && column < width; column += 1) {
            if (Number.isNaN(columns[column]) && column % (2 * step)) columns[column] = columns[column - 1];
        }
        return columns;
    }

    /**
     * @param {CanvasRenderingContext2D} context
     * @param {number[]} columns
     * @param {(value: number) => number} y
     * @param {number} bottom
     */
    #line(context, columns, y, bottom) {
        for (let from = 0; from < columns.length; from += 1) {
            if (Number.isNaN(columns[from])) continue;
            let until = from;
            while (until < columns.length && !Number.isNaN(columns[until])) until += 1;
            context.beginPath();
            for (let column = from; column < until; column += 1) context.lineTo(column + 0.5, y(columns[column]));
            if (until - from === 1) context.lineTo(from + 1.5, y(columns[from]));
            context.stroke();
            context.lineTo(until - 0.5, bottom);
            context.lineTo(from + 0.5, bottom);
            context.fill();
            from = until;
        }
    }
}
