// @ts-check
// Paints a timeline: axes, a lane per source, error bounds, marks, and the playhead.

import { causeColour, isOnPurpose } from './causes.js';
import { clock, clockMinutes, dayMinutes, sessionTime } from './format.js';
import { colour } from './theme.js';

/** Heights, CSS pixels: the axis has two lines of times, and the flags of marks below them. */
const sizes = { axis: 52, lane: 22, between: 5, plot: 44, bottom: 6 };
/** Height above the lanes. */
export const axisHeight = sizes.axis;
/** With more lanes than this, lanes are lower. */
const manyLanes = 6;
const lowLane = { lane: 13, between: 2 };

/** Minimum width of a picture to be drawn separately, pixels. */
const pictureWidth = 8;
/** A longer part is drawn with days, seconds: three quarters of a day. */
const longestWithoutDay = 64_800;

/** The flag of a mark, CSS pixels. */
const flag = 10;

/** The end that grows, CSS pixels. */
const growingWidth = 14;

/** Marks of the collectors that have a time, in lanes and low lanes, CSS pixels. */
const strip = { high: 3, low: 2 };

/**
 * @typedef {object} View
 * @property {import('./timeline-scale.js').TimelineScale} scale
 * @property {import('./playback-coverage.js').Lane[]} lanes Of the sources that are shown, in their order.
 * @property {number} zero Milliseconds since 1970.
 * @property {number} at
 * @property {number | null} markIn
 * @property {number | null} markOut
 * @property {number | null} pointer X.
 * @property {import('./playback-marks.js').Mark[]} marks
 * @property {typeof import('./timeline-collectors.js')} [places] Missing: there is one archive.
 * @property {string[]} collectors All that have something, in their order; empty: there is one archive.
 * @property {string} reference The source whose pictures are stepped by.
 * @property {(source: string) => import('./playback-samples.js').SampleTable | undefined} samples
 */

/** @param {number} lanes */
export const laneSizes = (lanes) => (lanes > manyLanes ? lowLane : sizes);

/** @param {number} lanes */
export function heightOf(lanes) {
    const { lane, between } = laneSizes(lanes);
    return sizes.axis + lanes * (lane + between) + sizes.plot + sizes.bottom;
}

/**
 * @param {number} index
 * @param {number} lanes
 */
export function laneTop(index, lanes) {
    const { lane, between } = laneSizes(lanes);
    return sizes.axis + between + index * (lane + between);
}

/**
 * @param {CanvasRenderingContext2D} context Scaled to CSS pixels.
 * @param {View} view
 * @param {number} width
 * @param {number} height
 */
export function draw(context, view, width, height) {
    const { scale } = view;
    context.clearRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(scale.left, 0, scale.width, height);
    context.clip();
    drawAxes(context, view, height);
    const count = view.lanes.length;
    view.lanes.forEach((lane, index) => drawLane(context, view, lane, laneTop(index, count), laneSizes(count).lane));
    drawBounds(context, view, laneTop(count, count) + 4);
    drawRange(context, view, height);
    drawMarks(context, view, height);
    context.restore();
    drawNames(context, view);
    drawPointer(context, view, height);
    drawHead(context, view, height);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} height
 */
function drawAxes(context, view, height) {
    const { scale } = view;
    context.font = font(12);
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const hasDays = scale.span > longestWithoutDay;
    const { step, times } = scale.marks(hasDays ? 120 : 96);
    const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 2;
    for (const time of times) {
        const x = Math.round(scale.x(time)) + 0.5;
        line(context, x, 0, x, height, colour('--line'));
        const date = new Date(view.zero + time * 1000);
        const fraction = digits ? (date.getMilliseconds() / 1000).toFixed(digits).slice(1) : '';
        const wall = hasDays ? dayMinutes(date) : step >= 60 ? clockMinutes(date) : clock(date) + fraction;
        const texts = [sessionTime(time, digits), wall];
        const room = scale.left + scale.width - x - 4;
        if (texts.some((text) => context.measureText(text).width > room)) continue;
        context.fillStyle = colour('--text');
        context.fillText(texts[0], x + 4, 10);
        context.fillStyle = colour('--muted');
        context.fillText(texts[1], x + 4, 28);
    }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {import('./playback-coverage.js').Lane} lane
 * @param {number} top
 * @param {number} height
 */
function drawLane(context, view, lane, top, height) {
    const { scale } = view;
    const inset = Math.round(height / 7);
    const isLow = height < sizes.lane;
    const { places, collectors } = view;
    const mark = places && collectors.length ? (isLow ? strip.low : strip.high) : 0;
    const size = height - 2 * inset - (mark && mark + 1);
    bar(context, scale, scale.whole.start, scale.whole.end, top, height, colour('--lane'));
    for (const part of lane.recorded) {
        bar(context, scale, part.startSeconds, part.endSeconds, top + inset, size, colour('--recorded'));
        if (!part.isGrowing) continue;
        const tail = Math.max(part.startSeconds, part.endSeconds - growingWidth * scale.secondsPerPixel);
        bar(context, scale, tail, part.endSeconds, top + inset, size, colour('--growing'));
    }
    drawPictures(context, view, lane.source, top + inset, size);
    places?.drawHeld(context, scale, lane, top + inset, size);
    for (const gap of lane.missing) {
        // Sound alone: the lower third. Pictures: all of it.
        const isSound = gap.track === 'audio';
        const [upper, size] = isSound ? [top + height * 0.66, height * 0.34] : [top, height];
        if (isOnPurpose(gap)) hatch(context, scale, gap, upper, size, causeColour(gap.cause), 1);
        else bar(context, scale, gap.startSeconds, gap.endSeconds, upper, size, causeColour(gap.cause));
    }
    if (mark) places?.drawCollectors(context, scale, lane, collectors, top + height - inset - mark, mark, isLow ? null : top + inset + size / 2);
}

/**
 * Lines between single pictures, as far as they are known.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {string} source
 * @param {number} top
 * @param {number} height
 */
function drawPictures(context, view, source, top, height) {
    const { scale } = view;
    if (scale.secondsPerPixel * pictureWidth > 0.1) return;
    const table = view.samples(source);
    if (!table) return;
    for (const { starts } of table.known.values()) {
        const count = starts.length;
        if (count < 2 || starts[count - 1] < scale.start || starts[0] > scale.end) continue;
        if ((starts[count - 1] - starts[0]) / (count - 1) / scale.secondsPerPixel < pictureWidth) continue;
        for (const start of starts) {
            if (start < scale.start || start > scale.end) continue;
            const x = Math.round(scale.x(start)) + 0.5;
            line(context, x, top, x, top + height, colour('--surface'));
        }
    }
}

/**
 * Error bounds on a logarithmic scale from 0.1 ms to 1 s.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} top
 */
function drawBounds(context, view, top) {
    const { scale } = view;
    const height = sizes.plot - 10;
    const place = (/** @type {number} */ bound) =>
        top + height - (Math.min(4, Math.max(0, Math.log10(Math.max(bound, 1e-4)) + 4)) / 4) * height;
    bar(context, scale, scale.whole.start, scale.whole.end, top, height, colour('--lane'));
    for (const bound of [0.001, 0.01, 0.1]) {
        const y = Math.round(place(bound)) + 0.5;
        line(context, scale.left, y, scale.left + scale.width, y, colour('--line'));
    }
    view.lanes.forEach(({ source }, index) => {
        const table = view.samples(source);
        if (!table) return;
        context.strokeStyle = colour(index % 2 ? '--plot-second' : '--plot-first');
        context.lineWidth = 1.5;
        context.setLineDash(index < 2 ? [] : [4, 3]);
        context.beginPath();
        for (const { boundStarts, bounds, ends } of table.known.values()) {
            boundStarts.forEach((start, number) => {
                const end = boundStarts[number + 1] ?? ends[ends.length - 1] ?? start;
                // The clock of an import is not measured: its bound is 0.
                if (bounds[number] === 0 || end < scale.start || start > scale.end) return;
                const y = place(bounds[number]);
                context.moveTo(scale.x(start), y);
                context.lineTo(Math.max(scale.x(end), scale.x(start) + 1), y);
            });
        }
        context.stroke();
    });
    context.setLineDash([]);
}

/**
 * Shades the part outside of the in and out points.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} height
 */
function drawRange(context, view, height) {
    const { scale, markIn, markOut } = view;
    if (markIn === null && markOut === null) return;
    context.fillStyle = colour('--accent');
    const left = markIn === null ? scale.left : scale.x(markIn);
    const right = markOut === null ? scale.left + scale.width : scale.x(markOut);
    context.globalAlpha = 0.14;
    context.fillRect(left, 0, Math.max(1, right - left), height);
    context.globalAlpha = 1;
    for (const [mark, x] of [[markIn, left], [markOut, right]]) {
        if (mark !== null && x !== null) context.fillRect(x - 1, 0, 2, height);
    }
}

/**
 * A flag at each mark, with its text where there is room.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} height
 */
function drawMarks(context, view, height) {
    const { scale, marks } = view;
    const right = scale.left + scale.width;
    marks.forEach(({ atSeconds, text }, index) => {
        const x = scale.x(atSeconds);
        if (x < scale.left || x > right) return;
        line(context, Math.round(x) + 0.5, sizes.axis - flag, Math.round(x) + 0.5, height, colour('--accent'));
        context.fillStyle = colour('--accent');
        context.beginPath();
        context.moveTo(x, sizes.axis - flag);
        context.lineTo(x + flag, sizes.axis - flag / 2);
        context.lineTo(x, sizes.axis);
        context.fill();
        const next = marks[index + 1];
        const room = (next ? Math.min(right, scale.x(next.atSeconds)) : right) - x - flag - 8;
        if (!text || room < 24) return;
        context.font = font(11);
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        const words = fitted(context, text, room);
        const width = context.measureText(words).width;
        // A background makes the text readable over lanes.
        context.fillStyle = colour('--surface');
        context.fillRect(x + flag + 1, sizes.axis - flag - 2, width + 6, flag + 4);
        context.fillStyle = colour('--text');
        context.fillText(words, x + flag + 4, sizes.axis - flag / 2);
    });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 */
function drawNames(context, view) {
    const { scale } = view;
    const room = scale.left - 10;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const count = view.lanes.length;
    const { lane } = laneSizes(count);
    view.lanes.forEach(({ source }, index) => {
        context.font = font(Math.min(13, lane - 1), source === view.reference ? 650 : 400);
        context.fillStyle = colour('--text');
        context.fillText(fitted(context, source, room), 2, laneTop(index, count) + lane / 2);
    });
    context.font = font(11);
    context.fillStyle = colour('--muted');
    const top = laneTop(count, count) + 4;
    context.fillText(fitted(context, '± 1 s', room), 2, top + 5);
    context.fillText(fitted(context, '± 0.1 ms', room), 2, top + sizes.plot - 15);
    context.fillText(fitted(context, 'session', room), 2, 10);
    context.fillText(fitted(context, 'clock', room), 2, 28);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} height
 */
function drawPointer(context, view, height) {
    const { pointer, scale } = view;
    if (pointer === null || pointer < scale.left) return;
    const x = Math.round(pointer) + 0.5;
    line(context, x, 0, x, height, colour('--muted'));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {number} height
 */
function drawHead(context, view, height) {
    const x = view.scale.x(view.at);
    if (x < view.scale.left - 1 || x > view.scale.left + view.scale.width + 1) return;
    context.fillStyle = colour('--surface');
    context.fillRect(x - 2.5, 0, 5, height);
    context.fillStyle = colour('--bad');
    context.fillRect(x - 1, 0, 2, height);
    context.beginPath();
    context.moveTo(x - 7, 0);
    context.lineTo(x + 7, 0);
    context.lineTo(x, 9);
    context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('./timeline-scale.js').TimelineScale} scale
 * @param {number} start
 * @param {number} end
 * @param {number} top
 * @param {number} height
 * @param {string} fill
 */
export function bar(context, scale, start, end, top, height, fill) {
    if (end < scale.start || start > scale.end) return;
    const left = Math.max(scale.left, scale.x(start));
    const right = Math.min(scale.left + scale.width, scale.x(end));
    context.fillStyle = fill;
    // Spans shorter than a pixel must be visible, too.
    context.fillRect(left, top, Math.max(2, right - left), height);
}

/**
 * A requested stop, or a part held elsewhere: an outline with stripes, unlike losses.
 * @param {CanvasRenderingContext2D} context
 * @param {import('./timeline-scale.js').TimelineScale} scale
 * @param {{ startSeconds: number, endSeconds: number }} part
 * @param {number} top
 * @param {number} height
 * @param {string} stroke
 * @param {1 | -1} direction 1: stripes rise to the right; -1: they fall.
 */
export function hatch(context, scale, part, top, height, stroke, direction) {
    if (part.endSeconds < scale.start || part.startSeconds > scale.end) return;
    const left = Math.max(scale.left, scale.x(part.startSeconds));
    const width = Math.max(2, Math.min(scale.left + scale.width, scale.x(part.endSeconds)) - left);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.fillStyle = colour('--surface');
    context.fillRect(left, top, width, height);
    const [low, high] = direction > 0 ? [top + height, top] : [top, top + height];
    for (let x = left - height; x < left + width; x += 6) line(context, x, low, x + height, high, stroke);
    context.strokeStyle = stroke;
    context.lineWidth = 2;
    context.strokeRect(left, top, width, height);
    context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} toX
 * @param {number} toY
 * @param {string} stroke
 */
function line(context, x, y, toX, toY, stroke) {
    context.strokeStyle = stroke;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
function fitted(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let length = text.length - 1;
    while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
    return `${text.slice(0, length)}…`;
}

/**
 * @param {number} size
 * @param {number} [weight]
 */
export function font(size, weight = 400) {
    return `${weight} ${size}px ${colour('--letters')}`;
}
