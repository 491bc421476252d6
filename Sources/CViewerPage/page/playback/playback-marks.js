// @ts-check
// Marked instants, as a list. Operators add and remove marks.

import { account, address, ApiError, get, post, remove } from './api.js';
import { button, element } from './element.js';
import { askForm, wordsOf } from './form-dialog.js';
import { sessionTime } from './format.js';
import { say } from './shell.js';

/** Marks that are listed; the timeline shows all. */
const mostLines = 100;
/** Limit of the viewer, bytes of UTF-8. */
const longestText = 512;

/**
 * @typedef {object} Mark
 * @property {string} id
 * @property {number} atSeconds
 * @property {string} text
 * @property {string} [source]
 */

export class MarkPanel {
    /**
     * @param {string} session
     * @param {(time: number) => void} seek
     * @param {() => void} changed
     */
    constructor(session, seek, changed) {
        this.session = session;
        this.seek = seek;
        this.changed = changed;
        /** @type {Mark[]} By time. */
        this.marks = [];
        this.isOperator = false;
        this.empty = element('p', { className: 'muted' });
        this.list = element('ul', { className: 'marks', 'aria-label': 'Marks' });
        this.element = element('section', { className: 'card', 'aria-label': 'Marks' }, element('h2', {}, 'Marks'), this.empty, this.list);
        account().then(({ role }) => {
            this.isOperator = role === 'operator';
            this.#draw();
        }).catch(() => {
            // Later requests report the error.
        });
        this.#draw();
        void this.read();
    }

    async read() {
        try {
            this.marks = await get(address`/api/v1/sessions/${this.session}/marks`);
        } catch (error) {
            if (error instanceof ApiError) say(error.text);
            return;
        }
        this.#draw();
        this.changed();
    }

    /**
     * The next mark from here; undefined: there is none.
     * @param {number} now
     * @param {1 | -1} direction
     */
    next(now, direction) {
        // The mark at the present position is not the next one.
        const beyond = this.marks.filter(({ atSeconds }) => (atSeconds - now) * direction > 0.002);
        return direction > 0 ? beyond[0] : beyond[beyond.length - 1];
    }

    /**
     * Asks for a line of text, and marks an instant.
     * @param {number} at
     */
    add(at) {
        if (!this.isOperator) return say('Only operators mark instants of a session.');
        const text = element('input', { maxLength: longestText, autocomplete: 'off', autofocus: true });
        askForm(`Mark ${sessionTime(at)}`, [element('label', {}, 'Text', text)], {
            text: 'Mark', doing: 'Marking…', className: 'main', act: async () => {
                await post('/api/v1/marks', { session: this.session, at: Number(at.toFixed(6)), text: text.value.trim() });
                say(`Marked ${sessionTime(at)}.`);
                await this.read();
            },
        });
    }

    /** @param {Mark} mark */
    async #remove(mark) {
        try {
            await remove(address`/api/v1/sessions/${this.session}/marks/${mark.id}`);
            say(`The mark at ${sessionTime(mark.atSeconds)} is removed.`, { text: 'Undo', act: () => void this.#restore(mark) });
        } catch (error) {
            say(wordsOf(error));
        }
        await this.read();
        // The button that was pressed is gone.
        const other = this.list.querySelector('button') ?? this.element;
        if (other instanceof HTMLElement) other.focus({ preventScroll: true });
    }

    /**
     * Restores a removed mark.
     * @param {Mark} mark
     */
    async #restore({ atSeconds, text, source }) {
        try {
            await post('/api/v1/marks', { session: this.session, at: atSeconds, text, ...(source ? { source } : {}) });
            say(`The mark at ${sessionTime(atSeconds)} is there again.`);
        } catch (error) {
            say(wordsOf(error));
        }
        await this.read();
    }

    #draw() {
        const { marks } = this;
        this.empty.hidden = marks.length > 0;
        this.empty.textContent = this.isOperator ? 'None yet. Key M marks the picture that is shown.' : 'None.';
        this.list.replaceChildren(
            ...marks.slice(0, mostLines).map((mark) => this.#line(mark)),
            ...(marks.length > mostLines ? [element('li', {}, `${(marks.length - mostLines).toLocaleString()} more are on the timeline.`)] : []));
    }

    /** @param {Mark} mark */
    #line(mark) {
        const time = sessionTime(mark.atSeconds);
        const words = markWords(mark);
        return element('li', {},
            button(time, () => this.seek(mark.atSeconds), { className: 'plain figures', title: 'Go there', 'aria-label': `Go to ${time}` }),
            element('span', {}, words),
            this.isOperator && button('Remove', () => void this.#remove(mark), { className: 'plain', 'aria-label': `Remove the mark at ${time}` }));
    }
}

/** @param {Mark} mark */
export const markWords = ({ text, source }) => [source, text || 'mark'].filter(Boolean).join(': ');
