// @ts-check
// Commands to the agent of a source, for operators.

import { address, ApiError, post } from './api.js';
import { openDialog } from './dialog.js';
import { button, element, setText } from './element.js';
import { bitRate, bytes } from './format.js';
import { say } from './shell.js';

/** Bit rates that are offered, bits per second. */
const bitRates = [500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000];

/**
 * Opens the commands of a source.
 * @param {string} source
 */
export function openCommands(source) {
    const path = address`/api/v1/sources/${source}/commands`;
    const doing = element('p', { className: 'doing', role: 'status' }, 'Asking the agent…');
    const rate = element('select', { 'aria-label': 'Bit rate' });
    for (const value of bitRates) rate.append(element('option', { value: String(value) }, bitRate(value)));
    const turn = element('select', { 'aria-label': 'Rotation' });
    for (const value of [0, 90, 180, 270]) turn.append(element('option', { value: String(value) }, value ? `${value}° clockwise` : 'Not rotated'));

    /**
     * @param {string} text What is done, in the past tense.
     * @param {object} order
     */
    const send = async (text, order) => {
        setText(doing, 'Asking the agent…');
        try {
            const answer = await post(path, order);
            if (answer && !(answer instanceof Blob)) showStatus(answer);
            if (text) say(`${source}: ${text}`);
            if (!answer) setText(doing, text);
            return answer;
        } catch (error) {
            const reason = error instanceof ApiError ? error.text : String(error);
            setText(doing, `Not done: ${reason}`);
            return undefined;
        }
    };
    /** @param {any} status AgentStatus of the interface. */
    const showStatus = (status) => {
        const size = status.width ? `${status.width} × ${status.height}, ` : '';
        setText(doing, `${status.isCapturing ? 'Captures' : 'Is stopped'}: ${size}${bitRate(status.videoBitsPerSecond)}, `
            + `${bytes(status.keptBytes)} kept at the agent, software ${status.software}.`);
        choose(rate, status.videoBitsPerSecond, bitRate(status.videoBitsPerSecond));
        choose(turn, status.rotation ?? 0, '');
        start.disabled = status.isCapturing;
        stop.disabled = !status.isCapturing;
    };
    const set = (/** @type {string} */ text, /** @type {object} */ change) => send(text, { command: 'set', set: change });
    const start = button('Start the capture', () => send('the capture runs.', { command: 'start' }));
    const stop = button('Stop the capture', () => send('the capture is stopped.', { command: 'stop' }), { className: 'danger' });
    const dialog = openDialog('commands', `Commands for ${source}`,
        doing,
        row('Bit rate', rate, button('Set', () => set('the bit rate is set.', { videoBitsPerSecond: Number(rate.value) }))),
        row('Rotation', turn, button('Set', () => set('the rotation is set.', { rotation: Number(turn.value) }))),
        row('Picture',
            button('Save a snapshot', () => snapshot(source, send)),
            button('Ask for a keyframe', () => send('the next picture is a keyframe.', { command: 'keyframe' }))),
        row('Capture', start, stop),
        element('div', { className: 'buttons' }, button('Close', () => dialog.close())));
    void send('', { command: 'status' });
}

/**
 * @param {string} title
 * @param {...Node} controls
 */
function row(title, ...controls) {
    return element('fieldset', {}, element('legend', {}, title), ...controls);
}

/**
 * Chooses a value, which is added where it is not offered.
 * @param {HTMLSelectElement} select
 * @param {number} value
 * @param {string} text
 */
function choose(select, value, text) {
    const known = [...select.options].find((option) => Number(option.value) === value);
    if (!known && text) select.prepend(element('option', { value: String(value) }, text));
    select.value = String(value);
}

/**
 * @param {string} source
 * @param {(text: string, order: object) => Promise<any>} send
 */
async function snapshot(source, send) {
    const picture = await send('the snapshot is saved.', { command: 'snapshot' });
    if (!(picture instanceof Blob)) return;
    const href = URL.createObjectURL(picture);
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
    element('a', { href, download: `${source}-${stamp}Z.jpg` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
