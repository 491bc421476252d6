// @ts-check
// One source: its picture at the clock's time, and in words why there is none.

import { address } from './api.js';
import { causeBeginning, isOnPurpose } from './causes.js';
import { element, setText } from './element.js';
import { counted, duration, sessionTime } from './format.js';
import { PictureZoom } from './picture-zoom.js';
import { follow } from './playback-follow.js';
import { PlaybackLevel } from './playback-level.js';
import { TrackMedia } from './playback-media.js';
import { StillPictures } from './still-pictures.js';

/** @typedef {import('./playback-coverage.js').Lane} Lane */

/** Minimum length of a gap between pictures; seconds. */
const gap = 0.25;
/** Delay of loading messages, to avoid flicker, milliseconds. */
const patience = 400;
/** After this time without an index, a still picture of this width is shown; milliseconds. */
const stillPatience = 250;
const stillWidth = 640;
/** A source that jumps so often within `window` shows single pictures for a while, milliseconds. */
const giving = { jumps: 3, window: 4000, rest: 6000 };

export class PlaybackTile {
    /**
     * @param {string} name
     * @param {import('./playback-index.js').MediaIndex} index
     * @param {number} base
     * @param {number} count Tiles that are shown.
     */
    constructor(name, index, base, count) {
        this.name = name;
        this.base = base;
        this.index = index;
        this.video = element('video', { muted: true, playsInline: true, preload: 'auto', disablePictureInPicture: true,
            dataset: { source: name }, 'aria-label': `Picture of ${name}` });
        this.words = element('p', { className: 'words', hidden: true });
        this.level = new PlaybackLevel(name, index);
        this.detail = element('span', { className: 'detail' });
        this.choice = element('button', { type: 'button', className: 'name', title: 'Steps go by the pictures of this source' }, name);
        this.screen = element('div', { className: 'screen' }, this.video, this.words, this.level.element);
        this.element = element('figure', { className: 'tile' },
            this.screen,
            element('figcaption', {}, this.choice, this.detail));
        this.zoom = new PictureZoom(name, this.screen, this.video, this.element);
        this.stills = new StillPictures(this.screen, name);
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
        this.state = 'loading';
        this.lag = 0;
        this.made = performance.now();
        this.loadingSince = performance.now();
        /** @type {number[]} */
        this.jumps = [];
        this.restsUntil = 0;
        /** Not waited for before this time. */
        this.skippedUntil = 0;
        this.#watchPictures();
    }

    close() {
        this.media.close();
        this.level.close();
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
     * Shows a time.
     * @param {number} time
     * @param {number} rate
     * @param {boolean} isRunning
     * @param {Lane | undefined} lane
     * @param {boolean} hasPictures
     */
    follow(time, rate, isRunning, lane, hasPictures) {
        const { media } = this;
        if (hasPictures && !this.index.isRead && !this.video.poster && performance.now() - this.made > stillPatience && lane?.recorded.length) {
            const path = address`/api/v1/sessions/${this.index.session}/sources/${this.name}/picture.jpg`;
            this.video.poster = `${path}?at=${time.toFixed(3)}&nearest=yes&width=${stillWidth}`;
        }
        media.want(time, isRunning ? rate : 0);
        this.#showStill(time, isRunning);
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
        this.#tell(time, sample, isThere, isGap, lane);
        if (media.isAbsent) this.level.follow(time, isRunning ? Math.abs(rate) : 0);
        else this.level.bar.hide();
        this.lag = this.at === null ? 0 : Math.max(0, time - this.at);
    }

    /**
     * For codecs that this browser cannot decode: shows the keyframe before a time, or its exact picture while paused.
     * @param {number} time
     * @param {boolean} isRunning
     */
    #showStill(time, isRunning) {
        if (!this.media.unsupported) return this.stills.hide();
        const segment = this.index.segments.filter(({ start, end }) => start <= time && time < end + gap).at(-1);
        if (!segment) return this.stills.hide();
        const path = address`/api/v1/sessions/${this.index.session}/sources/${this.name}/picture.jpg`;
        this.stills.show(`${path}?at=${(isRunning ? segment.start + 0.001 : time).toFixed(3)}&nearest=yes`, false);
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

    /**
     * @param {number} time
     * @param {import('./playback-samples.js').Sample | null | undefined} sample
     * @param {boolean} isThere
     * @param {boolean} isGap
     * @param {Lane | undefined} lane
     */
    #tell(time, sample, isThere, isGap, lane) {
        const [state, words] = this.#words(time, sample, isThere, isGap, lane);
        const isLoading = state === 'loading';
        if (!isLoading) this.loadingSince = performance.now();
        const isTold = words !== '' && (!isLoading || performance.now() - this.loadingSince > patience);
        this.state = state;
        this.words.hidden = !isTold;
        if (isTold) setText(this.words, words);
        const hasPicture = !!sample && !this.media.isAbsent;
        this.element.dataset.state = isLoading && !isTold && hasPicture ? 'shown' : state;
        if (sample === null || this.media.isAbsent) this.at = null;
        const bound = this.bound;
        // An import has no clock that was measured.
        setText(this.detail, this.at === null || bound === null ? '' : bound === 0 ? 'clock not measured'
            : `± ${(bound * 1000).toFixed(bound < 0.00095 ? 2 : 1)} ms`);
        this.detail.title = bound ? 'Error bound of the time of this picture' : '';
    }

    /**
     * @param {number} time
     * @param {import('./playback-samples.js').Sample | null | undefined} sample
     * @param {boolean} isThere
     * @param {boolean} isGap
     * @param {Lane | undefined} lane
     * @returns {[string, string]} A word for programs, and words for people.
     */
    #words(time, sample, isThere, isGap, lane) {
        const { media } = this;
        if (media.unsupported) return ['unsupported', `This browser cannot play ${media.unsupported}: keyframes are shown as pictures.`];
        if (media.failure) return ['failed', media.failure];
        if (media.isAbsent) return ['soundOnly', 'Sound only: this source has no pictures here.'];
        if (this.index.segments.length === 0) {
            if (this.index.failure) return ['failed', this.index.failure];
            if (!this.index.isRead) return ['loading', 'Loading…'];
            return ['notBegun', lane && lane.recorded.length > 0
                ? 'Recorded, and not to be played yet.' : 'Nothing of it is recorded.'];
        }
        const missing = lane?.missing.find((gap) => gap.track !== 'audio'
            && gap.startSeconds <= time && time < gap.endSeconds && gap.endSeconds - gap.startSeconds > 0.001);
        // The picture before a gap may say that it lasts until the next one.
        if (missing && (isGap || !sample || time >= sample.end - 1e-5 || sample.start < missing.startSeconds)) {
            const count = missing.samples > 0 ? `: ${counted(missing.samples, 'sample')} missing` : isOnPurpose(missing) ? '' : ': pictures are missing';
            const isBack = lane?.recorded.some(({ startSeconds, endSeconds }) => startSeconds <= missing.endSeconds + gap && endSeconds > missing.endSeconds);
            return ['missing', `${causeBeginning(missing.cause)}${count}.${isBack ? ` Back at ${sessionTime(missing.endSeconds)}.` : ''}`];
        }
        if (media.isBroken(time, sample)) return ['failed', 'This browser cannot decode this part of the recording.'];
        if (sample === undefined || (sample && !isThere)) return ['loading', 'Loading…'];
        if (sample === null) {
            const first = media.samples.beside(time, 1)?.start ?? lane?.recorded[0]?.startSeconds ?? this.index.start ?? 0;
            return ['notBegun', `Not begun yet: its first picture is at ${sessionTime(first)}.`];
        }
        if (!isGap) return ['shown', ''];
        const next = media.samples.beside(time, 1);
        if (next) {
            return ['missing', `No picture for ${duration(next.start - sample.end)}: back at ${sessionTime(next.start)}.`];
        }
        if (next === undefined) return ['missing', 'No picture at this time.'];
        if (this.index.failure) return ['failed', this.index.failure];
        if (lane?.recorded.at(-1)?.isGrowing || !this.index.isComplete) {
            return ['ahead', 'The recording has not got here yet.'];
        }
        return ['ended', `Ended at ${sessionTime(sample.end)}.`];
    }

    /** Error bound of the picture that is shown, seconds. */
    get bound() {
        return this.at === null ? null : this.media.samples.bound(this.at);
    }
}
