// @ts-check
// A list of gaps, between the in and out points or of the whole session: an accessible alternative to the timeline.

import { causeBeginning, causeProperty, isOnPurpose, missingText } from './causes.js';
import { button, element, setText } from './element.js';
import { counted, sessionTime } from './format.js';
import { readCoverage } from './playback-coverage.js';
import { lengthWords, whatWords } from './timeline-hover.js';

/** Gaps that are listed; the timeline shows all. */
const mostLines = 100;
/** Finer coverage of a part is requested when it has not changed for this long, milliseconds. */
const settle = 300;

/**
 * @typedef {object} Part
 * @property {import('./playback-coverage.js').Lane[]} lanes Of the sources that are shown.
 * @property {number | null} markIn
 * @property {number | null} markOut
 * @property {{ start: number, end: number }} extent
 */

export class MissingPanel {
    /**
     * @param {string} session
     * @param {(time: number) => void} seek
     */
    constructor(session, seek) {
        this.session = session;
        this.seek = seek;
        this.words = element('p', { className: 'sum' });
        this.list = element('ul', { className: 'gaps', 'aria-label': 'Gaps' });
        this.element = element('section', { className: 'card', 'aria-label': 'What is missing' },
            element('h2', {}, 'What is missing'), this.words, this.list);
        this.listed = '';
        this.settling = 0;
    }

    close() {
        clearTimeout(this.settling);
    }

    /** @param {Part} part */
    update(part) {
        clearTimeout(this.settling);
        this.#draw(part);
        const { markIn, markOut, extent } = part;
        if (markIn === null && markOut === null) return;
        this.settling = setTimeout(async () => {
            const waiting = this.settling;
            const [from, until] = [markIn ?? extent.start, markOut ?? extent.end];
            if (until <= from) return;
            try {
                // In a long session, adjacent gaps were merged.
                const lanes = await readCoverage(this.session, { from, until });
                const names = new Set(part.lanes.map((lane) => lane.source));
                if (waiting === this.settling) this.#draw({ ...part, lanes: lanes.filter((lane) => names.has(lane.source)) });
            } catch {
                // The list is not changed.
            }
        }, settle);
    }

    /** @param {Part} part */
    #draw({ lanes, markIn, markOut }) {
        const [from, until] = [markIn ?? -Infinity, markOut ?? Infinity];
        const gaps = lanes.flatMap(({ source, missing }) => missing
            .filter((gap) => gap.endSeconds >= from && gap.startSeconds <= until).map((gap) => ({ source, gap })))
            .sort((one, other) => one.gap.startSeconds - other.gap.startSeconds);
        // The time of these is unknown: they may be in any part.
        const unplaced = lanes.flatMap(({ source, unplaced }) => unplaced.map((gap) => ({ source, gap })));
        const held = lanes.flatMap(({ source, held = [] }) => held
            .filter(({ startSeconds = -Infinity, endSeconds = Infinity }) => endSeconds >= from && startSeconds <= until)
            .map(({ collector, records }) => ` Of ${source}, ${counted(records, 'record')} held by ${collector}, which is not read.`));
        const isPart = markIn !== null || markOut !== null;
        const listed = JSON.stringify([isPart, markIn === null, markOut === null, gaps, unplaced, held]);
        if (listed === this.listed) return;
        this.listed = listed;
        const part = !isPart ? 'In the whole session' : markIn === null ? 'Before the out point'
            : markOut === null ? 'After the in point' : 'Between the in and out points';
        const isCut = gaps.some(({ gap }) => gap.startSeconds < from || gap.endSeconds > until);
        setText(this.words, `${part}: ${missingText([...gaps, ...unplaced].map(({ gap }) => gap))}.`
            + (isCut ? ' A gap that reaches beyond it is counted whole.' : '') + held.join(''));
        this.list.replaceChildren(
            ...gaps.slice(0, mostLines).map(({ source, gap }) => this.#line(source, gap)),
            ...unplaced.slice(0, mostLines).map(({ source, gap }) =>
                line(gap.cause, `${source}: ${causeBeginning(gap.cause)}, at an unknown time: ${whatWords(gap)}.`)),
            ...(gaps.length > mostLines ? [element('li', {}, `${(gaps.length - mostLines).toLocaleString()} more are on the timeline.`)] : []));
    }

    /**
     * @param {string} source
     * @param {import('./playback-coverage.js').Missing} gap
     */
    #line(source, gap) {
        const time = sessionTime(gap.startSeconds);
        const length = lengthWords(gap);
        return line(gap.cause,
            button(time, () => this.seek(gap.startSeconds), { className: 'plain figures', title: 'Go there', 'aria-label': `Go to ${time}` }),
            element('span', {}, `${source}: ${causeBeginning(gap.cause)}${length && `, for ${length}`}${isOnPurpose(gap) ? '' : `: ${whatWords(gap)}`}.`));
    }
}

/**
 * @param {string} cause
 * @param {...(Node | string)} content
 */
function line(cause, ...content) {
    return element('li', { style: { borderLeftColor: `var(${causeProperty(cause)})` } }, ...content);
}
