// @ts-check
// A bar that shows the sound level of a source, and the level as text.

import { element, setText } from './element.js';

/** Below this is silence, dBFS. */
const floor = -60;

/**
 * The peak of decoded sound, dBFS.
 * @param {AudioData} data
 */
export function peakLevel(data) {
    let peak = 0;
    for (let channel = 0; channel < data.numberOfChannels; channel += 1) {
        const samples = new Float32Array(data.numberOfFrames);
        data.copyTo(samples, { planeIndex: channel, format: 'f32-planar' });
        for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
    }
    return peak > 0 ? Math.max(floor, 20 * Math.log10(peak)) : floor;
}

export class LevelBar {
    /** @param {string} name Of the source. */
    constructor(name) {
        this.bar = element('span', {});
        this.text = element('span', { className: 'figures' });
        this.element = element('div', { className: 'level', role: 'meter', hidden: true, 'aria-label': `Sound level of ${name}`, 'aria-valuemin': String(floor), 'aria-valuemax': '0' },
            element('span', { className: 'scale' }, this.bar), this.text);
    }

    /** No level is known. */
    hide() {
        this.element.hidden = true;
    }

    /** @param {number} level dBFS. */
    show(level) {
        this.element.hidden = false;
        this.bar.style.width = `${(1 - level / floor) * 100}%`;
        setText(this.text, level <= floor ? 'silent' : `${level.toFixed(0).replace('-', '−')} dB`);
        this.element.setAttribute('aria-valuenow', level.toFixed(0));
        this.element.setAttribute('aria-valuetext', this.text.textContent ?? '');
    }
}
