// @ts-check
// The sound level of a source without pictures: its sound is decoded (WebCodecs) at the time of the other tiles, and not played.

import { codecsOf } from './codecs.js';
import { LevelBar, peakLevel } from './level-bar.js';
import { pictures } from './live-samples.js';
import { keepTracks } from './movie-tracks.js';
import { canDecodeSound, soundTrack } from './sound-track.js';

/** Limit of levels that wait for their time. */
const mostLevels = 600;
/** An older level is outdated, seconds. */
const stale = 1;
/** Limit of packets in the decoder. */
const mostDecoding = 50;

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
        this.bar = new LevelBar(name);
        this.element = this.bar.element;
    }

    close() {
        if (this.#decoder && this.#decoder.state !== 'closed') this.#decoder.close();
        this.#decoder = undefined;
        this.#levels = [];
        this.bar.hide();
    }

    /**
     * The source begins. Sound of a source with pictures is not decoded.
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {Uint8Array} body
     */
    begin(header, body) {
        this.close();
        const codecs = header.codecs ?? '';
        if (!canDecodeSound || codecsOf(codecs, 'video') || !codecsOf(codecs, 'audio')) return;
        const own = body.slice();
        if (keepTracks(own, 'audio').size === 0) return;
        const found = soundTrack(own, codecsOf(codecs, 'audio'));
        if (!found) return;
        this.#track = found.track;
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
        decoder.configure(found.configuration);
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
        this.#levels.push({ time: data.timestamp / 1e6, level: peakLevel(data) });
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
            this.bar.hide();
            return;
        } else return;
        this.bar.show(level);
    }
}
