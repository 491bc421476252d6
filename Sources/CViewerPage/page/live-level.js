// @ts-check
// How loud a source without pictures is: its sound, decoded (WebCodecs) at the time of the other tiles, and not heard.

import { element, setText } from './element.js';
import { keptTrack, pictures } from './live-samples.js';
import { boxes, child, codecsOf, keepTracks } from './movie-tracks.js';

/** Below this is silence, dBFS. */
const floor = -60;
/** Levels that are kept until their time has come. */
const mostLevels = 600;
/** A level that is older than this is not what is there now, seconds. */
const stale = 1;
/** Packets that wait in the decoder. */
const mostDecoding = 50;

const canDecode = 'AudioDecoder' in window && isSecureContext;

export class LevelMeter {
    /** @type {AudioDecoder | undefined} */
    #decoder;
    /** @type {import('./live-samples.js').PictureTrack | undefined} */
    #track;
    /** @type {{ time: number, level: number }[]} */
    #levels = [];
    /** Session time when a level was shown last. */
    #shown = -Infinity;

    /** @param {string} name Of the source. */
    constructor(name) {
        this.bar = element('span', {});
        this.text = element('span', { className: 'figures' });
        this.element = element('div', { className: 'level', role: 'meter', hidden: true, 'aria-label': `Sound level of ${name}`, 'aria-valuemin': String(floor), 'aria-valuemax': '0' },
            element('span', { className: 'scale' }, this.bar), this.text);
    }

    close() {
        if (this.#decoder && this.#decoder.state !== 'closed') this.#decoder.close();
        this.#decoder = undefined;
        this.#levels = [];
        this.element.hidden = true;
    }

    /**
     * The source begins. Of one with pictures, nothing is decoded.
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {Uint8Array} body
     */
    begin(header, body) {
        this.close();
        const codecs = header.codecs ?? '';
        if (!canDecode || codecsOf(codecs, 'video') || !codecsOf(codecs, 'audio')) return;
        const own = body.slice();
        if (keepTracks(own, 'audio').size === 0) return;
        const found = keptTrack(own);
        const entry = found && [...boxes(found.view, found.stsd.body + 8, found.stsd.end)][0];
        if (!found || !entry) return;
        this.#track = found.track;
        // AudioSampleEntry (ISO/IEC 14496-12 §12.2.3): channels and rate, then its boxes.
        const [channels, rate] = [found.view.getUint16(entry.body + 16), found.view.getUint32(entry.body + 24) >>> 16];
        const esds = child(found.view, { body: entry.body + 28, end: entry.end }, 'esds');
        const description = esds && specificInfo(own.subarray(esds.body + 4, esds.end));
        /** @type {AudioDecoder} */
        const decoder = new AudioDecoder({
            output: (data) => (decoder === this.#decoder ? this.#take(data) : data.close()),
            error: (error) => {
                if (decoder !== this.#decoder) return;
                console.warn(`the level of a live source is not shown: ${error.message}`);
                this.close();
            },
        });
        this.#decoder = decoder;
        decoder.configure({ codec: codecsOf(codecs, 'audio'), sampleRate: rate, numberOfChannels: channels, ...(description ? { description } : {}) });
    }

    /** @param {Uint8Array} body Of a fragment. */
    take(body) {
        if (!this.#decoder || !this.#track) return;
        for (const { time, duration, bytes } of pictures(body, this.#track)) {
            if (this.#decoder.decodeQueueSize > mostDecoding) return;
            this.#decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp: Math.round(time * 1e6), duration: Math.round(duration * 1e6), data: bytes }));
        }
    }

    /** @param {AudioData} data */
    #take(data) {
        let peak = 0;
        for (let channel = 0; channel < data.numberOfChannels; channel += 1) {
            const samples = new Float32Array(data.numberOfFrames);
            data.copyTo(samples, { planeIndex: channel, format: 'f32-planar' });
            for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
        }
        this.#levels.push({ time: data.timestamp / 1e6, level: peak > 0 ? Math.max(floor, 20 * Math.log10(peak)) : floor });
        if (this.#levels.length > mostLevels) this.#levels.shift();
        data.close();
    }

    /**
     * Shows the loudest since the last step.
     * @param {number} target Session time that is shown.
     */
    step(target) {
        if (!this.#decoder) return;
        let [level, last] = [-Infinity, -Infinity];
        while (this.#levels.length > 0 && this.#levels[0].time <= target) {
            const entry = /** @type {{ time: number, level: number }} */ (this.#levels.shift());
            level = Math.max(level, entry.level);
            last = entry.time;
        }
        if (last > target - stale) this.#shown = target;
        else if (target - this.#shown > stale) {
            // Nothing has come: no level is known.
            this.element.hidden = true;
            return;
        } else return;
        this.element.hidden = false;
        this.bar.style.width = `${(1 - level / floor) * 100}%`;
        setText(this.text, level <= floor ? 'silent' : `${level.toFixed(0).replace('-', '−')} dB`);
        this.element.setAttribute('aria-valuenow', level.toFixed(0));
        this.element.setAttribute('aria-valuetext', this.text.textContent ?? '');
    }
}

/**
 * DecoderSpecificInfo of an ES_Descriptor (ISO/IEC 14496-1 §7.2.6.5), which is AudioSpecificConfig.
 * @param {Uint8Array} bytes
 * @returns {Uint8Array | undefined}
 */
function specificInfo(bytes) {
    let at = 0;
    const header = () => {
        const tag = bytes[at];
        at += 1;
        let [size, more] = [0, 0x80];
        while (more && at < bytes.length) {
            size = size * 128 + (bytes[at] & 0x7f);
            more = bytes[at] & 0x80;
            at += 1;
        }
        return { tag, size };
    };
    while (at < bytes.length) {
        const { tag, size } = header();
        if (tag === 3) at += 3;
        else if (tag === 4) at += 13;
        else if (tag === 5) return bytes.slice(at, at + size);
        else at += size;
    }
    return undefined;
}
