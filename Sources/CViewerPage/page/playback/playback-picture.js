// @ts-check
// One rendition of a source in a `<video>`: the picture of a time, stepped, played or sought.

import { element } from './element.js';
import { follow } from './playback-follow.js';
import { TrackMedia } from './playback-media.js';

/** Minimum length of a gap between pictures; seconds. */
export const gap = 0.25;
/** After this number of jumps within `window`, a source shows single pictures for `rest`; milliseconds. */
const giving = { jumps: 3, window: 4000, rest: 6000 };

export class PlaybackPicture {
    /**
     * @param {string} label
     * @param {import('./playback-index.js').MediaIndex} index
     * @param {number} base
     * @param {number} count Tiles that are shown.
     */
    constructor(label, index, base, count) {
        this.index = index;
        this.base = base;
        this.video = element('video', { muted: true, playsInline: true, preload: 'auto', disablePictureInPicture: true, 'aria-label': label });
        this.media = new TrackMedia(this.video, 'video', index, base, count);
        /** Called when a picture is shown, or a wait is over. */
        this.changed = () => {};
        this.media.changed = () => this.changed();
        this.video.addEventListener('seeked', () => {
            // The picture is decoded; the callback follows with the next frame of the screen.
            if (this.video.paused && this.asked !== null) this.at = this.asked;
            this.changed();
        });
        // The decoder was lost, and the element is empty.
        this.video.addEventListener('emptied', () => {
            this.at = null;
            this.asked = null;
        });
        /**
         * Session time of the picture that is shown.
         * @type {number | null}
         */
        this.at = null;
        /**
         * The picture that was sought last.
         * @type {number | null}
         */
        this.asked = null;
        /** @type {number[]} */
        this.jumps = [];
        this.restsUntil = 0;
        this.#watchPictures();
    }

    close() {
        this.media.close();
    }

    /** Notes which picture is on the screen. */
    #watchPictures() {
        const note = (/** @type {number} */ _, /** @type {{ mediaTime: number }} */ metadata) => {
            this.#shown(metadata.mediaTime);
            this.video.requestVideoFrameCallback(note);
        };
        if ('requestVideoFrameCallback' in this.video) this.video.requestVideoFrameCallback(note);
        else /** @type {HTMLVideoElement} */ (this.video).addEventListener('seeked', () => this.#shown(this.video.currentTime));
    }

    /** @param {number} mediaTime */
    #shown(mediaTime) {
        const time = mediaTime + this.base;
        this.at = this.media.samples.at(time + 5e-5)?.start ?? time;
        if (this.video.paused) this.changed();
    }

    /**
     * Goes to the picture of a time.
     * @param {number} time
     * @param {number} rate
     * @param {boolean} isRunning
     */
    follow(time, rate, isRunning) {
        const { media } = this;
        media.want(time, isRunning ? rate : 0);
        const sample = media.samples.at(time);
        const isThere = !!sample && media.has(sample);
        const isGap = !!sample && time > sample.end + gap;
        if (isThere) {
            const now = performance.now();
            if (!isRunning || rate < 0 || isGap || now < this.restsUntil) {
                if (!this.video.paused) this.video.pause();
                this.#seek(sample);
            } else {
                this.asked = null;
                if (follow(this.video, time - this.base, rate)) this.#noteJump(now);
            }
        } else if (!this.video.paused) {
            this.video.pause();
        }
        return { sample, isThere, isGap };
    }

    /**
     * Whether a time's picture is shown, by either rendition while they are being switched.
     * @param {number} time
     */
    shows(time) {
        const sample = this.media.samples.at(time);
        if (!sample || this.at === null || this.video.readyState < 2 || this.video.seeking) return false;
        return this.video.paused ? this.at === sample.start : Math.abs(this.at - time) < gap;
    }

    /** @param {import('./playback-samples.js').Sample} sample */
    #seek(sample) {
        if (this.asked === sample.start || this.video.seeking) return;
        this.asked = sample.start;
        // Within the picture, so that no rounding finds the one before.
        const middle = sample.start - this.base + Math.min(0.01, (sample.end - sample.start) / 2);
        if (this.at === sample.start && Math.abs(this.video.currentTime - middle) < 0.01) return;
        this.video.currentTime = middle;
    }

    /** @param {number} now */
    #noteJump(now) {
        this.jumps = this.jumps.filter((time) => time > now - giving.window);
        this.jumps.push(now);
        if (this.jumps.length < giving.jumps) return;
        this.jumps = [];
        this.restsUntil = now + giving.rest;
    }
}
