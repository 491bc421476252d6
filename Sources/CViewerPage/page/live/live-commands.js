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

    // `own` is the device's default; the API has the same names.
    const size = element('input', { 'aria-label': 'Size', size: 12, autocomplete: 'off' });
    const frames = element('input', { 'aria-label': 'Frame rate', size: 8, placeholder: '25 or own', autocomplete: 'off' });
    const crop = element('input', { 'aria-label': 'Crop', size: 16, placeholder: 'WIDTHxHEIGHT+X+Y', autocomplete: 'off' });
    const mirror = element('select', { 'aria-label': 'Mirrored' }, element('option', { value: '' }, 'Not mirrored'), element('option', { value: 'yes' }, 'Mirrored'));

    /**
     * @param {string} text The action, in the past tense.
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
        const pictures = status.width ? `${status.width} × ${status.height}, ` : '';
        setText(doing, `${status.isCapturing ? 'Captures' : 'Is stopped'}: ${pictures}${bitRate(status.videoBitsPerSecond)}, `
            + `${bytes(status.keptBytes)} kept at the agent, software ${status.software}.`);
        choose(rate, status.videoBitsPerSecond, bitRate(status.videoBitsPerSecond));
        choose(turn, status.rotation ?? 0, '');
        fill(size, status.width ? `${status.width}x${status.height}` : '');
        fill(crop, status.crop ? `${status.crop.width}x${status.crop.height}+${status.crop.x}+${status.crop.y}` : 'own');
        mirror.value = status.isMirrored ? 'yes' : '';
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
        row('Size', size, button('Set', () => set('the size is set.', { size: size.value.trim() }))),
        row('Frame rate', frames, button('Set', () => set('the frame rate is set.', { frameRate: frames.value.trim() }))),
        row('Crop', crop, button('Set', () => set('the crop is set.', { crop: crop.value.trim() }))),
        row('Mirrored', mirror, button('Set', () => set('the mirroring is set.', { isMirrored: mirror.value !== '' }))),
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
 * Shows a value, unless the user is editing it.
 * @param {HTMLInputElement} field
 * @param {string} text
 */
function fill(field, text) {
    if (document.activeElement !== field) field.value = text;
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
