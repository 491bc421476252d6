// @ts-check
// The part of a session that a timeline shows, and the positions of times in it.

/** Shortest visible part: single pictures are distinguishable. Seconds. */
const shortest = 0.4;
/** Margin at both ends, as a fraction of the whole. */
const margin = 0.01;

/** Distances of marks, seconds. */
const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

export class TimelineScale {
    constructor() {
        /** The whole range. */
        this.whole = { start: 0, end: 1 };
        /** The visible range. */
        this.start = 0;
        this.end = 1;
        this.isWhole = true;
        /** Where it is drawn, CSS pixels. */
        this.left = 0;
        this.width = 1;
    }

    get span() {
        return this.end - this.start;
    }

    /** Duration of a pixel. */
    get secondsPerPixel() {
        return this.span / this.width;
    }

    /** @param {number} time */
    x(time) {
        return this.left + ((time - this.start) / this.span) * this.width;
    }

    /** @param {number} x */
    time(x) {
        return this.start + ((x - this.left) / this.width) * this.span;
    }

    /**
     * Sets the whole range; if all of it was visible, it stays so.
     * @param {{ start: number, end: number }} whole
     */
    setWhole(whole) {
        this.whole = whole;
        if (this.isWhole) this.showAll();
    }

    showAll() {
        const more = (this.whole.end - this.whole.start) * margin;
        this.start = this.whole.start - more;
        this.end = this.whole.end + more;
        this.isWhole = true;
    }

    /**
     * Shows a part; as much of it as there is.
     * @param {number} start
     * @param {number} end
     */
    show(start, end) {
        const more = (this.whole.end - this.whole.start) * margin;
        const [first, last] = [this.whole.start - more, this.whole.end + more];
        const span = Math.max(Math.min(shortest, last - first), end - start);
        if (span >= last - first) return this.showAll();
        this.start = Math.max(first, Math.min(last - span, start));
        this.end = this.start + span;
        this.isWhole = false;
    }

    /**
     * @param {number} factor Below 1: less is shown.
     * @param {number} time Stays where it is.
     */
    zoom(factor, time) {
        const span = Math.max(shortest, this.span * factor);
        const part = (time - this.start) / this.span;
        this.show(time - part * span, time - part * span + span);
    }

    /** @param {number} seconds */
    pan(seconds) {
        if (!this.isWhole) this.show(this.start + seconds, this.end + seconds);
    }

    /**
     * Scrolls by a page if a time is outside of the visible range.
     * @param {number} time
     */
    reveal(time) {
        if (this.isWhole || (time >= this.start && time <= this.end)) return;
        const before = time < this.start ? 0.9 : 0.1;
        this.show(time - this.span * before, time + this.span * (1 - before));
    }

    /**
     * Marks with a minimum distance.
     * @param {number} pixels
     * @param {number} [origin] Marks are multiples of their distance from here.
     */
    marks(pixels, origin = 0) {
        const least = this.secondsPerPixel * pixels;
        const step = steps.find((step) => step >= least) ?? Math.ceil(least / 86400) * 86400;
        const times = [];
        for (let number = Math.ceil((this.start - origin) / step); origin + number * step <= this.end; number += 1) {
            times.push(origin + number * step);
        }
        return { step, times };
    }
}
