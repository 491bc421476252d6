// @ts-check
// The timeline of a session: a lane per source with coverage and gaps. Click: seek. Drag on ruler or playhead: scrub. Drag on lanes, or
// with shift: pan. Wheel, pinch: zoom.

import { causeBeginning, causeProperty, isOnPurpose } from './causes.js';
import { element } from './element.js';
import { clock, sessionTime } from './format.js';
import { extent, readCoverage } from './playback-coverage.js';
import { axisHeight, draw, heightOf, laneSizes, laneTop } from './timeline-draw.js';
import { gapWords, TimelineHover } from './timeline-hover.js';
import { TimelineScale } from './timeline-scale.js';

/** A pointer that moved less than this has clicked, CSS pixels. */
const clickDistance = 5;
/** As near to the playhead as this is on it, CSS pixels. */
const grip = 8;
/** Zoom factor of a line of the wheel. */
const wheelFactor = 1.0015;
/** Finer coverage is requested when the visible range has not changed for this long, milliseconds. */
const settle = 250;
/** In a longer session a minute has few pixels, and this range around a time is shown, seconds. */
const longSession = 3600;
const around = { before: 600, after: 120 };

export class Timeline {
    /**
     * @param {string} session
     * @param {number} zero Milliseconds since 1970.
     * @param {(time: number) => void} seek
     */
    constructor(session, zero, seek) {
        this.session = session;
        this.zero = zero;
        this.seek = seek;
        this.scale = new TimelineScale();
        /** @type {string[]} */
        this.names = [];
        /** @type {import('./playback-coverage.js').Lane[]} Of the whole session. */
        this.lanes = [];
        /** @type {typeof import('./timeline-collectors.js') | undefined} */
        this.places = undefined;
        /** @type {string[]} Of all lanes. */
        this.collectors = [];
        /** @type {{ start: number, end: number, lanes: import('./playback-coverage.js').Lane[] } | undefined} */
        this.fine = undefined;
        this.settling = 0;
        this.at = 0;
        /** @type {number | null} */
        this.markIn = null;
        /** @type {number | null} */
        this.markOut = null;
        /** @type {import('./playback-marks.js').Mark[]} */
        this.marks = [];
        this.reference = '';
        /** @type {(source: string) => import('./playback-samples.js').SampleTable | undefined} */
        this.samples = () => undefined;
        /** @type {number | null} */
        this.pointer = null;
        this.pointerY = 0;
        /** @type {Map<number, { x: number, start: number, from: number, isScrub: boolean, hasMoved: boolean }>} */
        this.drags = new Map();
        this.height = 0;
        this.isDirty = true;
        this.frame = 0;
        this.canvas = element('canvas');
        this.hover = new TimelineHover(session, zero);
        this.slider = element('div', {
            className: 'slider', tabIndex: 0, role: 'slider', 'aria-label': 'Place in the session', 'aria-orientation': 'horizontal',
        }, this.canvas);
        this.legend = element('ul', { className: 'legend', 'aria-label': 'What the colours mean' });
        this.legendOf = '';
        this.element = element('div', { className: 'timeline' }, this.slider, this.legend, this.hover.element);
        this.resizing = new ResizeObserver(() => this.redraw());
        this.resizing.observe(this.slider);
        this.redraw = this.redraw.bind(this);
        addEventListener('tributary:theme', this.redraw);
        this.#listen();
    }

    close() {
        this.resizing.disconnect();
        removeEventListener('tributary:theme', this.redraw);
        cancelAnimationFrame(this.frame);
        clearTimeout(this.settling);
        this.hover.close();
    }

    /** @param {string[]} names Sources with a lane, in their order. */
    setNames(names) {
        this.names = names;
        this.height = heightOf(names.length);
        this.slider.style.height = `${this.height}px`;
        this.redraw();
    }

    /** @param {import('./playback-coverage.js').Lane[]} lanes */
    setLanes(lanes) {
        this.lanes = lanes;
        if (lanes.some(({ copies, held }) => copies ?? held?.length)) void this.#loadPlaces();
        this.scale.setWhole(extent(lanes));
        const { start, end } = this.scale.whole;
        this.slider.setAttribute('aria-valuemin', start.toFixed(3));
        this.slider.setAttribute('aria-valuemax', end.toFixed(3));
        this.#refine();
        this.#tellColours();
        this.redraw();
    }

    /** Loads the module that paints the collectors of a session of several archives. */
    async #loadPlaces() {
        try {
            this.places ??= await import('./timeline-collectors.js');
        } catch {
            // The viewer is unreachable: requested again with the next coverage.
            return;
        }
        this.hover.places = this.places;
        this.#tellColours();
        this.redraw();
    }

    /** A legend of the colours in use. */
    #tellColours() {
        const causes = [...new Set(this.lanes.flatMap(({ missing }) => missing.map(({ cause }) => cause)))].sort();
        const isGrowing = this.lanes.some(({ recorded }) => recorded.at(-1)?.isGrowing);
        this.collectors = this.places?.collectorsOf(this.lanes) ?? [];
        const places = this.places?.legend(this.lanes) ?? [];
        const text = [causes, isGrowing, ...places.map(({ words }) => words)].join();
        if (text === this.legendOf) return;
        this.legendOf = text;
        const item = (/** @type {string} */ property, /** @type {string} */ words, look = '') =>
            element('li', {}, element('span', { className: `swatch ${look}`, style: { color: `var(${property})` } }), words);
        this.legend.replaceChildren(item('--recorded', 'Recorded'), ...(isGrowing ? [item('--growing', 'Being recorded')] : []),
            ...places.map(({ property, words, look }) => item(property, words, look)),
            ...causes.map((cause) => item(causeProperty(cause), causeBeginning(cause), isOnPurpose({ cause }) ? 'striped' : '')));
    }

    /**
     * Shows the surroundings of a time, if the whole session would have minutes per pixel.
     * @param {number} time
     */
    showAround(time) {
        const { start, end } = this.scale.whole;
        if (end - start < longSession) return;
        this.scale.show(time - around.before, time + around.after);
        this.#moved();
    }

    /**
     * The clock has moved.
     * @param {number} at
     * @param {boolean} isFollowed The part that is shown moves with it.
     */
    setPlace(at, isFollowed) {
        if (at === this.at) return;
        this.at = at;
        if (isFollowed && this.drags.size === 0) this.scale.reveal(at);
        this.redraw();
    }

    /** Reports the position to screen readers; not for every picture during playback. */
    describe() {
        const { slider, at } = this;
        slider.setAttribute('aria-valuenow', at.toFixed(3));
        const gaps = this.lanes.filter(({ source }) => this.names.includes(source)).flatMap((lane) => lane.missing
            .filter((gap) => gap.startSeconds <= at && at <= gap.endSeconds)
            .map((gap) => `${lane.source}: ${gapWords(gap)}`));
        const places = this.lanes.filter(({ source }) => source === this.reference).flatMap((lane) =>
            (this.places?.placeWords(lane, at) ?? []).map((words) => `${lane.source}: ${words}`));
        slider.setAttribute('aria-valuetext',
            [`${sessionTime(at)}, ${clock(new Date(this.zero + at * 1000))}`, ...places, ...gaps].join('. '));
    }

    /** @param {number} factor */
    zoom(factor) {
        const { scale } = this;
        const isSeen = this.at >= scale.start && this.at <= scale.end;
        scale.zoom(factor, isSeen ? this.at : (scale.start + scale.end) / 2);
        this.#moved();
    }

    showAll() {
        this.scale.showAll();
        this.#moved();
    }

    redraw() {
        this.isDirty = true;
        if (this.frame) return;
        this.frame = requestAnimationFrame(() => {
            this.frame = 0;
            if (this.isDirty) this.#draw();
        });
    }

    /** Lanes of the sources that are shown, as fine as they are known. */
    get shownLanes() {
        const { fine, scale } = this;
        const lanes = fine && fine.start <= scale.start && fine.end >= scale.end ? fine.lanes : this.lanes;
        return this.names.map((source) => lanes.find((lane) => lane.source === source)
            ?? { source, recorded: [], missing: [], unplaced: [] });
    }

    #draw() {
        this.isDirty = false;
        const { canvas, slider, scale } = this;
        const [width, height] = [slider.clientWidth, slider.clientHeight];
        if (width === 0 || height === 0) return;
        const ratio = devicePixelRatio || 1;
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(height * ratio);
        }
        scale.left = width < 600 ? 64 : 110;
        scale.width = Math.max(1, width - scale.left - 8);
        const context = canvas.getContext('2d');
        if (!context) return;
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        draw(context, {
            scale, lanes: this.shownLanes, zero: this.zero, at: this.at, markIn: this.markIn, markOut: this.markOut,
            pointer: this.pointer, reference: this.reference, samples: this.samples, marks: this.marks,
            places: this.places, collectors: this.collectors,
        }, width, height);
    }

    #moved() {
        this.#refine();
        this.redraw();
    }

    /** Requests finer coverage of a part. The present one is shown until it arrives, to avoid flicker. */
    #refine() {
        clearTimeout(this.settling);
        const { scale } = this;
        if (scale.isWhole) {
            this.fine = undefined;
            return;
        }
        this.settling = setTimeout(async () => {
            const [start, end] = [scale.start - scale.span, scale.end + scale.span];
            try {
                const lanes = await readCoverage(this.session, { from: start, until: end, pixels: scale.width * 3 });
                if (scale.isWhole) return;
                this.fine = { start, end, lanes };
                this.redraw();
            } catch {
                // The present coverage stays; errors are reported by the reader of the whole session.
            }
        }, settle);
    }

    #listen() {
        const { slider } = this;
        slider.addEventListener('wheel', (event) => {
            event.preventDefault();
            const { scale } = this;
            const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 200 : 1;
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
                scale.pan((event.deltaX || event.deltaY) * unit * scale.secondsPerPixel);
            } else {
                scale.zoom(wheelFactor ** (event.deltaY * unit), scale.time(this.#x(event)));
            }
            this.#moved();
        }, { passive: false });
        slider.addEventListener('pointerdown', (event) => this.#press(event));
        slider.addEventListener('pointermove', (event) => this.#drag(event));
        slider.addEventListener('pointerup', (event) => this.#release(event, true));
        slider.addEventListener('pointercancel', (event) => this.#release(event, false));
        slider.addEventListener('pointerleave', () => {
            this.pointer = null;
            this.hover.hide();
            this.redraw();
        });
    }

    /** @param {MouseEvent} event */
    #x(event) {
        return event.clientX - this.slider.getBoundingClientRect().left;
    }

    /** @param {PointerEvent} event */
    #press(event) {
        if (event.button !== 0) return;
        const x = this.#x(event);
        this.slider.setPointerCapture(event.pointerId);
        for (const drag of this.drags.values()) [drag.from, drag.start] = [drag.x, this.scale.start];
        const y = event.clientY - this.slider.getBoundingClientRect().top;
        // Where all of the session is shown there is nothing to be moved.
        const isScrub = !event.shiftKey && this.drags.size === 0
            && (this.scale.isWhole || y < axisHeight || Math.abs(x - this.scale.x(this.at)) < grip);
        this.drags.set(event.pointerId, { x, from: x, start: this.scale.start, isScrub, hasMoved: false });
    }

    /** @param {PointerEvent} event */
    #drag(event) {
        const { scale } = this;
        const x = this.#x(event);
        this.pointer = event.pointerType === 'touch' ? null : x;
        this.pointerY = event.clientY - this.slider.getBoundingClientRect().top;
        const drag = this.drags.get(event.pointerId);
        if (!drag) {
            this.#showHover(x);
            return this.redraw();
        }
        const other = [...this.drags].find(([id]) => id !== event.pointerId)?.[1];
        if (other) {
            const [before, now] = [Math.abs(drag.x - other.x), Math.abs(x - other.x)];
            if (before > 8 && now > 8) scale.zoom(before / now, scale.time((x + other.x) / 2));
            drag.from = -1e9;
            other.from = -1e9;
        } else if (drag.isScrub && (drag.hasMoved || Math.abs(x - drag.from) >= clickDistance)) {
            drag.hasMoved = true;
            this.#seekTo(x);
            this.#showHover(Math.max(scale.left, Math.min(scale.left + scale.width, x)));
        } else if (Math.abs(x - drag.from) >= clickDistance && drag.from > -1e8) {
            scale.pan(drag.start - (x - drag.from) * scale.secondsPerPixel - scale.start);
            this.hover.hide();
        }
        drag.x = x;
        if (drag.isScrub) this.redraw();
        else this.#moved();
    }

    /**
     * @param {PointerEvent} event
     * @param {boolean} isClick
     */
    #release(event, isClick) {
        const drag = this.drags.get(event.pointerId);
        this.drags.delete(event.pointerId);
        if (!drag || !isClick || (!drag.hasMoved && Math.abs(this.#x(event) - drag.from) >= clickDistance)) return;
        this.#seekTo(this.#x(event));
    }

    /** @param {number} x */
    #seekTo(x) {
        const { start, end } = this.scale.whole;
        const time = Math.round(this.scale.time(x) * 1000) / 1000;
        this.seek(Math.max(start, Math.min(end, time)));
    }

    /** @param {number} x */
    #showHover(x) {
        const { scale } = this;
        const time = scale.time(x);
        if (x < scale.left || time < scale.whole.start || time > scale.whole.end) return this.hover.hide();
        const lanes = this.shownLanes;
        const { lane: height, between } = laneSizes(lanes.length);
        const index = Math.floor((this.pointerY - laneTop(0, lanes.length)) / (height + between));
        const lane = lanes[index] ?? lanes.find(({ source }) => source === this.reference) ?? lanes[0];
        const bound = lane ? (this.samples(lane.source)?.bound(time) ?? null) : null;
        this.hover.show(x, time, scale.secondsPerPixel * 3, lane, this.slider.clientWidth, bound);
    }
}
