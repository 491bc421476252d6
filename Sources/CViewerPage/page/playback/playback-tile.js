// @ts-check
// One source: its picture at the clock's time, or the reason why there is none.

import { address } from './api.js';
import { causeBeginning, isOnPurpose } from './causes.js';
import { element, setText } from './element.js';
import { counted, duration, sessionTime } from './format.js';
import { PictureZoom } from './picture-zoom.js';
import { heldAt } from './playback-coverage.js';
import { PlaybackLevel } from './playback-level.js';
import { gap, PlaybackPicture } from './playback-picture.js';
import { renditionFor } from './renditions.js';
import { StillPictures } from './still-pictures.js';

/** @typedef {import('./playback-coverage.js').Lane} Lane */

/** Delay of loading messages, to avoid flicker, milliseconds. */
const patience = 400;
/** After this time without an index, a still picture of this width is shown; milliseconds. */
const stillPatience = 250;
const stillWidth = 640;
/** Interval at which the size of a tile is checked, milliseconds. */
const looking = 300;

/** @typedef {import('./renditions.js').Rendition} Rendition */

/** @typedef {{ name: string, index: import('./playback-index.js').MediaIndex }} Preview */

export class PlaybackTile {
    /**
     * @param {string} name
     * @param {import('./playback-index.js').MediaIndex} index
     * @param {Preview | undefined} preview
     * @param {number} base
     * @param {number} count Tiles that are shown.
     */
    constructor(name, index, preview, base, count) {
        this.name = name;
        this.base = base;
        this.count = count;
        this.main = index;
        this.preview = preview;
        /**
         * The shown rendition.
         * @type {Rendition}
         */
        this.rendition = preview && count > 1 ? 'preview' : 'main';
        this.picture = this.#made(this.rendition);
        this.picture.video.dataset.source = name;
        /**
         * The other rendition, until it can be shown.
         * @type {PlaybackPicture | undefined}
         */
        this.next = undefined;
        /**
         * The rendition for its size.
         * @type {Rendition}
         */
        this.target = this.rendition;
        this.lookedAt = 0;
        /**
         * The codecs of renditions that this browser cannot show.
         * @type {Partial<Record<Rendition, string>>}
         */
        this.trouble = {};
        this.words = element('p', { className: 'words', hidden: true });
        this.level = new PlaybackLevel(name, index);
        this.kind = element('span', { className: 'kind' });
        this.accuracy = element('span');
        this.detail = element('span', { className: 'detail' }, this.kind, this.accuracy);
        this.choice = element('button', { type: 'button', className: 'name', title: 'Steps go by the pictures of this source' }, name);
        this.screen = element('div', { className: 'screen' }, this.video, this.words, this.level.element);
        this.element = element('figure', { className: 'tile' },
            this.screen,
            element('figcaption', {}, this.choice, this.detail));
        this.zoom = new PictureZoom(name, this.screen, this.video, this.element);
        this.stills = new StillPictures(this.screen, name);
        /** Called when a picture is shown, or a wait is over. */
        this.changed = () => {};
        this.state = 'loading';
        this.lag = 0;
        this.made = performance.now();
        this.loadingSince = performance.now();
        /** Not waited for before this time. */
        this.skippedUntil = 0;
    }

    close() {
        this.picture.close();
        this.next?.close();
        this.level.close();
    }

    get video() {
        return this.picture.video;
    }

    get media() {
        return this.picture.media;
    }

    get index() {
        return this.picture.index;
    }

    /** Session time of the picture that is shown. */
    get at() {
        return this.picture.at;
    }

    /** @param {Rendition} rendition */
    #made(rendition) {
        const index = rendition === 'preview' && this.preview ? this.preview.index : this.main;
        const picture = new PlaybackPicture(`Picture of ${this.name}`, index, this.base, this.count);
        picture.changed = () => this.changed();
        return picture;
    }

    /**
     * Shows a time.
     * @param {number} time
     * @param {number} rate
     * @param {boolean} isRunning
     * @param {{ main: Lane | undefined, preview: Lane | undefined }} lanes
     * @param {boolean} hasPictures
     */
    follow(time, rate, isRunning, lanes, hasPictures) {
        this.#choose(time, rate, isRunning, lanes.preview);
        const lane = this.rendition === 'preview' ? lanes.preview : lanes.main;
        const { media } = this;
        if (hasPictures && !this.index.isRead && !this.video.poster && performance.now() - this.made > stillPatience && lane?.recorded.length) {
            this.video.poster = `${this.#still(lanes.preview)}?at=${time.toFixed(3)}&nearest=yes&width=${stillWidth}`;
        }
        const { sample, isThere, isGap } = this.picture.follow(time, rate, isRunning);
        this.#showStill(time, isRunning, lanes.preview);
        this.#tell(time, sample, isThere, isGap, lane);
        if (media.hasNoTrack) this.level.follow(time, isRunning ? Math.abs(rate) : 0);
        else this.level.bar.hide();
        this.lag = this.at === null ? 0 : Math.max(0, time - this.at);
    }

    /**
     * The address of single pictures: of a preview they are made sooner.
     * @param {Lane | undefined} preview
     */
    #still(preview) {
        const source = (preview?.recorded.length && this.preview?.name) || this.name;
        return address`/api/v1/sessions/${this.main.session}/sources/${source}/picture.jpg`;
    }

    /**
     * Chooses the rendition, and shows it as soon as it has the picture of the time.
     * @param {number} time
     * @param {number} rate
     * @param {boolean} isRunning
     * @param {Lane | undefined} preview
     */
    #choose(time, rate, isRunning, preview) {
        if (!this.preview) return;
        const now = performance.now();
        if (now > this.lookedAt + looking) {
            this.lookedAt = now;
            const width = this.screen.clientWidth;
            if (width) this.target = renditionFor('size', width * this.zoom.scale, this.rendition === 'preview' ? this.video.videoWidth : undefined);
        }
        if (this.media.unsupported) this.trouble[this.rendition] = this.media.unsupported;
        const wanted = this.#wanted(time, preview);
        if (wanted === this.rendition) {
            this.next?.close();
            this.next?.video.remove();
            this.next = undefined;
            return;
        }
        if (!this.next) {
            this.next = this.#made(wanted);
            this.next.video.classList.add('next');
            this.screen.prepend(this.next.video);
        }
        this.next.follow(time, rate, isRunning);
        if (this.next.media.unsupported) this.trouble[wanted] = this.next.media.unsupported;
        else if (this.next.shows(time)) this.#swap(this.next, wanted);
    }

    /**
     * @param {number} time
     * @param {Lane | undefined} preview
     * @returns {Rendition}
     */
    #wanted(time, preview) {
        const isThere = preview?.recorded.some(({ startSeconds, endSeconds, isGrowing }) =>
            startSeconds <= time && (isGrowing || time < endSeconds)) && !preview.missing.some(({ startSeconds, endSeconds }) =>
            startSeconds <= time && time < endSeconds && endSeconds - startSeconds > gap);
        if (!isThere || this.trouble.preview) return 'main';
        return this.trouble.main ? 'preview' : this.target;
    }

    /**
     * @param {PlaybackPicture} next
     * @param {Rendition} rendition
     */
    #swap(next, rendition) {
        const before = this.picture;
        next.video.classList.remove('next');
        next.video.dataset.source = this.name;
        next.video.style.cssText = before.video.style.cssText;
        this.zoom.picture = next.video;
        before.video.remove();
        this.picture = next;
        this.next = undefined;
        this.rendition = rendition;
        before.close();
    }

    /**
     * The segment with the picture of a time; undefined: before the first picture, in a gap, or after the last one.
     * @param {number} time
     */
    #segment(time) {
        return this.index.segments.filter(({ start, end }) => start <= time && time < end + gap).at(-1);
    }

    /**
     * For codecs that this browser cannot decode: shows the keyframe before a time, or its exact picture while paused.
     * @param {number} time
     * @param {boolean} isRunning
     * @param {Lane | undefined} preview
     */
    #showStill(time, isRunning, preview) {
        if (!this.media.unsupported) return this.stills.hide();
        const segment = this.#segment(time);
        if (!segment) return this.stills.hide();
        this.stills.show(`${this.#still(preview)}?at=${(isRunning ? segment.start + 0.001 : time).toFixed(3)}&nearest=yes`, false);
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
        if (sample === null || this.media.isAbsent) this.picture.at = null;
        const bound = this.bound;
        const isPreview = this.rendition === 'preview';
        // An import has no clock that was measured.
        const text = this.at === null || bound === null ? '' : bound === 0 ? 'clock not measured'
            : `± ${(bound * 1000).toFixed(bound < 0.00095 ? 2 : 1)} ms`;
        setText(this.kind, isPreview && text ? 'preview ' : '');
        setText(this.accuracy, text);
        const role = !this.preview ? '' : isPreview ? (this.trouble.main ? `Pictures of its preview: this browser cannot play ${this.trouble.main}.`
            : 'Pictures of its preview.') : 'Pictures of the source itself.';
        this.detail.title = [bound ? 'Error bound of the time of this picture.' : '', role].filter(Boolean).join(' ');
        this.element.dataset.rendition = this.rendition;
    }

    /**
     * @param {number} time
     * @param {import('./playback-samples.js').Sample | null | undefined} sample
     * @param {boolean} isThere
     * @param {boolean} isGap
     * @param {Lane | undefined} lane
     * @returns {[string, string]} A state for programs, and a text for users.
     */
    #words(time, sample, isThere, isGap, lane) {
        const { media } = this;
        if (media.failure) return ['failed', media.failure];
        if (media.hasNoTrack) return ['soundOnly', 'Sound only: this source has no pictures here.'];
        if (this.index.segments.length === 0) {
            if (this.index.failure) return ['failed', this.index.failure];
            if (!this.index.isRead) return ['loading', 'Loading…'];
            return ['notBegun', lane && lane.recorded.length > 0
                ? 'Recorded, and not to be played yet.' : 'Nothing of it is recorded.'];
        }
        const missing = lane?.missing.find((gap) => gap.track !== 'audio'
            && gap.startSeconds <= time && time < gap.endSeconds && gap.endSeconds - gap.startSeconds > 0.001);
        // The duration of the picture before a gap may extend to the next one.
        if (missing && (isGap || !sample || time >= sample.end - 1e-5 || sample.start < missing.startSeconds)) {
            const count = isOnPurpose(missing) ? '' : missing.samples > 0 ? `: ${counted(missing.samples, 'sample')} missing` : ': pictures are missing';
            const isBack = lane?.recorded.some(({ startSeconds, endSeconds }) => startSeconds <= missing.endSeconds + gap && endSeconds > missing.endSeconds);
            return ['missing', `${causeBeginning(missing.cause)}${count}.${isBack ? ` Back at ${sessionTime(missing.endSeconds)}.` : ''}`];
        }
        if (media.unsupported) return this.#unsupportedWords(time, lane);
        if (media.isBroken(time, sample)) return ['failed', 'This browser cannot decode this part of the recording.'];
        if (sample === undefined || (sample && !isThere)) return ['loading', 'Loading…'];
        const held = lane && (isGap || sample === null) ? heldAt(lane, time)[0] : undefined;
        if (held) return this.#heldWords(held);
        if (sample === null) {
            return this.#beginWords(media.samples.beside(time, 1)?.start ?? lane?.recorded[0]?.startSeconds ?? this.index.start ?? 0);
        }
        if (!isGap) return ['shown', ''];
        const next = media.samples.beside(time, 1);
        if (next) return this.#gapWords(sample.end, next.start);
        if (next === undefined) return ['missing', 'No picture at this time.'];
        return this.#endWords(sample.end, lane);
    }

    /**
     * Message for a codec that this browser cannot decode: no sample of it is known.
     * @param {number} time
     * @param {Lane | undefined} lane
     * @returns {[string, string]}
     */
    #unsupportedWords(time, lane) {
        if (this.#segment(time)) return ['unsupported', `This browser cannot play ${this.media.unsupported}: keyframes are shown as pictures.`];
        const held = lane && heldAt(lane, time)[0];
        if (held) return this.#heldWords(held);
        const { segments } = this.index;
        const number = segments.findIndex(({ start }) => start > time);
        if (number < 0) return this.#endWords(segments[segments.length - 1].end, lane);
        const next = segments[number].start;
        return number > 0 ? this.#gapWords(segments[number - 1].end, next) : this.#beginWords(next);
    }

    /** @param {import('./playback-coverage.js').Held} held @returns {[string, string]} */
    #heldWords({ collector }) {
        return ['held', `Held by ${collector}, which is not read.`];
    }

    /** @param {number} first @returns {[string, string]} */
    #beginWords(first) {
        return ['notBegun', `Not begun yet: its first picture is at ${sessionTime(first)}.`];
    }

    /** @param {number} end @param {number} next @returns {[string, string]} */
    #gapWords(end, next) {
        return ['missing', `No picture for ${duration(next - end)}: back at ${sessionTime(next)}.`];
    }

    /** @param {number} end @param {Lane | undefined} lane @returns {[string, string]} */
    #endWords(end, lane) {
        if (this.index.failure) return ['failed', this.index.failure];
        if (lane?.recorded.at(-1)?.isGrowing || !this.index.isComplete) return ['ahead', 'The recording has not got here yet.'];
        return ['ended', `Ended at ${sessionTime(end)}.`];
    }

    /** Error bound of the picture that is shown, seconds. */
    get bound() {
        return this.at === null ? null : this.media.samples.bound(this.at);
    }
}
