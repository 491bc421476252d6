// @ts-check
// The sound of one source, which follows the same clock as the pictures.

import { follow } from './playback-follow.js';
import { TrackMedia } from './playback-media.js';

/** Playback speeds at which sound is understandable. */
const audible = { least: 0.5, most: 2 };
/** Tolerated error, seconds: smaller than visible between lips and sound, while a correction would be audible. */
const tolerance = 0.05;

export class PlaybackSound {
    constructor() {
        this.audio = document.createElement('audio');
        this.audio.hidden = true;
        /** @type {TrackMedia | undefined} */
        this.media = undefined;
        this.base = 0;
    }

    /**
     * @param {import('./playback-index.js').MediaIndex | undefined} index Undefined: silence.
     * @param {number} base
     */
    choose(index, base) {
        this.media?.close();
        this.base = base;
        this.media = index ? new TrackMedia(this.audio, 'audio', index, base, 1) : undefined;
    }

    /**
     * @param {number} time
     * @param {number} rate
     * @param {boolean} isRunning
     */
    follow(time, rate, isRunning) {
        const { media, audio } = this;
        if (!media) return;
        const isAudible = isRunning && rate >= audible.least && rate <= audible.most;
        if (!isAudible) {
            if (!audio.paused) audio.pause();
            return;
        }
        media.want(time, rate);
        const sample = media.samples.at(time);
        if (sample && time < sample.end + 0.1 && media.has(sample)) follow(audio, time - this.base, rate, tolerance);
        else if (!audio.paused) audio.pause();
    }

    close() {
        this.choose(undefined, 0);
    }
}
