// @ts-check
// One source on the wall: its picture and its state.

import { codecsOf } from './codecs.js';
import { element, setText } from './element.js';
import { address } from './api.js';
import { clock, shortTime } from './format.js';
import { icon } from './icons.js';
import { limits } from './limits.js';
import { Follower } from './live-follower.js';
import { canPaint, Painter } from './live-painter.js';
import { canPlay } from './media-buffer.js';
import { LevelMeter } from './live-level.js';
import { MissingNow } from './live-missing.js';
import { SourceCollector } from './live-collector.js';
import { recordedPicture } from './live-recorded.js';
import { LiveRenditions } from './live-renditions.js';
import { PictureZoom } from './picture-zoom.js';
import { StillPictures } from './still-pictures.js';

/** Bounds of fragments that may still be shown: of ten seconds of pictures that come one by one. */
const mostBounds = 800;

const pathWords = {
    WebCodecs: 'Decoded picture by picture (WebCodecs).',
    'Media Source': canPaint ? 'Decoded by a media element (Media Source Extensions), which is later.'
        : 'Decoded by a media element (Media Source Extensions), which is later: WebCodecs needs https or localhost.',
    keyframes: '',
};

/** The collector's status of a source, once a second (proto/json/schema.json, "liveSource").
 * @typedef {object} SourceStatus
 * @property {string} name
 * @property {string} [previewOf] The source that it is the preview of.
 * @property {string} [collector] In the status of a site: the collector whose status has this source.
 * @property {boolean} isConnected
 * @property {boolean} isRecorded
 * @property {boolean} isStopped
 * @property {number} picturesPerSecond
 * @property {number} bitsPerSecond
 * @property {number} [lagSeconds]
 * @property {number} [spoolBytes]
 * @property {number} [clockBoundSeconds]
 * @property {number} persistedAgeSeconds
 * @property {number} lostSamples
 * @property {string} [elsewhere] The name of the collector that records it now, or `another collector` if it is unknown.
 * @property {string} [trouble] The tracks that its agent does not capture at present, and the reason.
 * @property {string} [moved] The collector that its agent has left for this one, and why.
 * @property {{ collector: string, records: number, bytes: number }[]} [owed] What its box keeps for each of two collectors.
 * @property {{ cause: string, count: number, samples: number }[]} gaps
 */

/**
 * @typedef {object} TileActions
 * @property {() => number | null} now Session time.
 * @property {(name: string) => void} enlarge
 * @property {(name: string) => void} listen
 */

export class LiveTile {
    name;
    follower;
    /** The session of its pictures. */
    session = '';
    /** @type {Date | undefined} */
    zero;
    /** @type {SourceStatus | undefined} */
    status;
    /** @type {SourceStatus | undefined} Of its preview. */
    previewStatus;
    renditions = new LiveRenditions();
    /** Whether the site has several collectors. */
    hasCollectors = false;
    /** Whether the status lists it; ended sources are not listed. */
    isListed = true;
    /** Why no live pictures are shown: `paused`, `lost`; empty if they are. */
    hindrance = '';
    /** Whether it is visible on the wall; invisible tiles are not decoded. */
    isSeen = true;
    #now;
    #missing = new MissingNow();
    #place = new SourceCollector();
    #heard = 0;
    /** @type {number | null} */
    #lastAt = null;
    #hasBegun = false;
    /** @type {{ at: number, bound: number }[]} */
    #bounds = [];
    /**
     * The picture that is shown, session time.
     * @type {number | null}
     */
    #shown = null;
    #quality = { shown: 0, dropped: 0 };
    /** Ends the request for a recorded picture. */
    #stillRequest = new AbortController();

    /**
     * @param {string} name
     * @param {TileActions} actions
     */
    constructor(name, actions) {
        this.name = name;
        this.#now = actions.now;
        const common = { dataset: { source: name }, 'aria-hidden': 'true' };
        /** @type {HTMLVideoElement | undefined} */
        this.video = canPaint ? undefined
            : element('video', { muted: true, playsInline: true, disablePictureInPicture: true, tabIndex: -1, ...common });
        const canvas = element('canvas', common);
        this.follower = this.video ? new Follower(this.video, 'video', actions.now) : new Painter(canvas, actions.now);
        this.enlarge = element('button', { type: 'button', className: 'enlarge', 'aria-label': `Enlarge ${name}`, 'aria-pressed': 'false', onclick: () => actions.enlarge(name) });
        this.sound = element('button', { type: 'button', 'aria-pressed': 'false', onclick: () => actions.listen(name) });
        this.showSound(false);
        const text = `Recording of ${name} at this instant`;
        this.recording = element('a', { className: 'button', hidden: true, title: `${text} (key R)`, 'aria-label': text }, icon('past'));
        this.buttons = element('div', { className: 'buttons' }, this.recording, this.sound);
        this.words = element('p', { className: 'words' });
        this.meter = new LevelMeter(name);
        this.gap = element('p', { className: 'missing' });
        this.moved = element('p', { className: 'missing moved' });
        this.from = element('span', { className: 'from' });
        this.figures = element('span', { className: 'figures' });
        this.light = element('span', { className: 'light' });
        this.screen = element('div', { className: 'screen' }, this.video ?? canvas, this.enlarge);
        this.root = element('figure', { className: 'live-tile', role: 'group', 'aria-label': name },
            this.screen, this.words, this.meter.element,
            element('figcaption', {}, this.gap, this.moved, element('div', { className: 'bar' },
                element('strong', {}, this.light, name), this.from, this.figures)),
            this.buttons);
        this.zoom = new PictureZoom(name, this.screen, this.video ?? canvas, this.root);
        this.stills = new StillPictures(this.screen, name);
        if (this.video) this.#watchPictures(this.video);
    }

    close() {
        this.#stillRequest.abort();
        this.follower.close();
        this.meter.close();
        this.root.remove();
    }

    /**
     * Offers the commands of its agent.
     * @param {(name: string) => void} command Opens them.
     */
    setCommand(command) {
        const text = `Commands for ${this.name}`;
        this.buttons.replaceChildren(this.recording, this.sound, element('button', {
            type: 'button', title: text, 'aria-label': text, 'aria-haspopup': 'dialog', onclick: () => command(this.name),
        }, icon('menu')));
    }

    /** @param {boolean} isHeard */
    showSound(isHeard) {
        this.sound.setAttribute('aria-pressed', String(isHeard));
        this.sound.title = isHeard ? 'Silence' : 'Hear';
        this.sound.setAttribute('aria-label', `Sound of ${this.name}`);
        this.sound.replaceChildren(icon(isHeard ? 'sound' : 'silent'));
    }

    /**
     * The decoder of its pictures.
     * @returns {'WebCodecs' | 'Media Source' | 'keyframes'}
     */
    get path() {
        if (this.follower.trouble) return 'keyframes';
        return this.follower instanceof Painter ? 'WebCodecs' : 'Media Source';
    }

    /**
     * Sets whether each picture is shown as soon as it is decoded. A `<video>` shows each at its time.
     * @param {boolean} isHurried
     */
    hurry(isHurried) {
        if (this.follower instanceof Painter) this.follower.isHurried = isHurried;
    }

    /** Switches to a media element: for codecs that WebCodecs of this browser does not decode (H.265 in Firefox), and after repeated failures. */
    #useElement() {
        const { begin } = this.renditions;
        if (!(this.follower instanceof Painter) || !begin) return;
        if (!this.follower.trouble && !this.follower.hasGivenUp) return;
        const { header, body } = begin;
        const kind = 'video';
        if (!canPlay(`${kind}/mp4; codecs="${codecsOf(header.codecs ?? '', kind)}"`)) return;
        const video = element('video', { muted: true, playsInline: true, disablePictureInPicture: true, tabIndex: -1,
            dataset: { source: this.name }, 'aria-hidden': 'true' });
        this.follower.canvas.replaceWith(video);
        this.follower.close();
        this.video = video;
        this.zoom.picture = video;
        this.follower = new Follower(video, kind, this.#now);
        this.#watchPictures(video);
        this.follower.begin(header, body.slice());
    }

    /** @param {HTMLVideoElement} video */
    #watchPictures(video) {
        if (!('requestVideoFrameCallback' in video)) return;
        const seen = (/** @type {number} */ _, /** @type {{ mediaTime: number }} */ picture) => {
            this.#shown = picture.mediaTime;
            video.requestVideoFrameCallback(seen);
        };
        video.requestVideoFrameCallback(seen);
    }

    /**
     * Shows the picture whose time it is, where the page does that itself; called at each refresh of the screen.
     * @param {number} [time] Session time that is shown, where that is not the wanted time.
     */
    paint(time) {
        if (this.follower instanceof Painter) this.follower.paint(time);
    }

    /** Where its decoded pictures end, session time; null: other tiles do not wait for it. */
    get until() {
        return this.isSeen && !this.hindrance && this.follower instanceof Painter ? this.follower.until : null;
    }

    /**
     * Shows a recorded picture until the first live one.
     * @param {string} session
     */
    async #showRecorded(session) {
        this.#stillRequest.abort();
        this.#stillRequest = new AbortController();
        const { follower } = this;
        if (!(follower instanceof Painter) || !follower.hasTrack || follower.at !== null) return;
        const { signal } = this.#stillRequest;
        const picture = await recordedPicture(session, this.#stillName, signal);
        if (picture) follower.showRecorded(picture);
    }

    /** Pixels of a row of the picture that is shown; 0: none is. */
    get pictureWidth() {
        return this.follower instanceof Painter ? this.follower.canvas.width : (this.video?.videoWidth ?? 0);
    }

    /** Freezes the picture. */
    pause() {
        this.follower.skipped();
        this.video?.pause();
    }

    /** @param {boolean} isSeen */
    see(isSeen) {
        if (isSeen === this.isSeen) return;
        this.isSeen = isSeen;
        // Pictures were skipped: continues with a keyframe.
        this.follower.skipped();
    }

    /** The source of single pictures: fewer pixels are sooner there. */
    get #stillName() {
        return (this.renditions.hasPreview && this.renditions.preview) || this.name;
    }

    /** Shows the pictures of a rendition from its next keyframe on; until then, the last picture stays. */
    #begin() {
        const { begin } = this.renditions;
        if (!begin) return;
        const { header, body } = begin;
        this.session = header.session ?? '';
        this.zero = header.zero ? new Date(header.zero) : undefined;
        this.#hasBegun = true;
        this.#bounds = [];
        this.follower.begin(header, body.slice());
        void this.#showRecorded(this.session);
    }

    /**
     * @param {import('./live-frames.js').Frame} frame
     * @param {import('./renditions.js').Rendition} rendition
     */
    take({ header, body }, rendition) {
        const { renditions } = this;
        this.#place.take(rendition, header, Date.now());
        if (header.type === 'begin' && rendition === 'main') {
            this.sound.hidden = !codecsOf(header.codecs ?? '', 'audio');
            this.meter.begin(header, body);
        }
        const isFirst = renditions.take(rendition, header.type === 'begin' ? { header, body: body.slice() } : { header, body }, this.at);
        if (isFirst) this.#begin();
        if (rendition !== renditions.shown) return;
        switch (header.type) {
            case 'begin':
                if (!isFirst) this.#begin();
                break;
            case 'media':
                this.#heard = Date.now();
                this.#bounds.push({ at: header.atSeconds ?? 0, bound: header.boundSeconds ?? 0 });
                if (this.#bounds.length > mostBounds) this.#bounds.splice(0, mostBounds / 2);
                this.#stillRequest.abort();
                if (this.isSeen) this.meter.take(body);
                if (this.isSeen) this.follower.take(header, body);
                break;
            case 'skipped':
                this.follower.skipped();
                break;
            case 'gone':
                this.follower.skipped();
                break;
            default:
        }
    }

    /** @param {import('./live-missing.js').GapEvent} event */
    takeGap(event) {
        this.#missing.take(event, this.#now() ?? 0);
    }

    /** Session time of the picture that is shown, seconds; null: none is. */
    get at() {
        if (this.follower instanceof Painter) return this.follower.at ?? this.follower.recordedAt;
        if (!this.video || this.video.readyState < 2) return null;
        const { currentTime } = this.video;
        return this.#shown ?? ('requestVideoFrameCallback' in this.video ? null : currentTime);
    }

    /** The site's collector that the pictures come from, or else the one that has the source; undefined: there is only one. */
    get collector() {
        return this.hasCollectors ? this.#place.collector(this.renditions.shown) ?? this.status?.collector : undefined;
    }

    /** Error bound of that time, seconds. */
    get bound() {
        const at = this.at ?? Infinity;
        return (lastOf(this.#bounds, at + 0.001) ?? this.#bounds[0])?.bound ?? null;
    }

    get lag() {
        const [now, at] = [this.#now(), this.at];
        return now === null || at === null ? null : Math.max(0, now - at);
    }

    /** To the picture that is shown, or to the last that was. */
    #leadToRecording() {
        const at = this.at ?? this.#lastAt;
        this.#lastAt = at;
        this.recording.hidden = at === null || !this.session;
        if (at !== null) this.recording.href = `${address`/sessions/${this.session}`}?at=${at.toFixed(3)}&sources=${encodeURIComponent(this.name)}`;
    }

    /**
     * Decoding statistics since the last call; undefined if not everything is being decoded.
     * @returns {{ shown: number, dropped: number, isBehind: boolean } | undefined}
     */
    strain() {
        const { shown, dropped } = this.#pictures;
        const before = this.#quality;
        this.#quality = { shown, dropped };
        const isShown = this.state === 'live' || this.state === 'late';
        if (!isShown || this.follower.isReduced || shown < before.shown) return undefined;
        return { shown: shown - before.shown, dropped: dropped - before.dropped, isBehind: this.follower.isStrained };
    }

    /** A decoded picture that the page did not paint costs little: only those that were not decoded count as dropped. */
    get #pictures() {
        if (this.follower instanceof Painter) return { shown: this.follower.painted, dropped: this.follower.cut };
        const quality = this.video?.getVideoPlaybackQuality();
        return { shown: quality?.totalVideoFrames ?? 0, dropped: quality?.droppedVideoFrames ?? 0 };
    }

    /** The state in one word. */
    get state() {
        if (this.hindrance) return this.hindrance;
        if (!this.isSeen) return 'hidden';
        if (this.follower.trouble) return 'unsupported';
        const { status } = this;
        if (!this.isListed && (this.renditions.isGone || !this.#heard)) return this.#heard ? 'ended' : 'waiting';
        // The status is sent once a second: media since then is newer.
        const isHeard = !this.renditions.isGone && Date.now() - this.#heard < 1500;
        if (status && !status.isConnected && !isHeard) return status.isRecorded ? 'away' : 'ended';
        if (status?.isStopped) return 'stopped';
        if (this.renditions.isGone) return 'away';
        if (this.#hasBegun && !this.follower.hasTrack) return 'sound';
        if (this.at === null) return 'waiting';
        if (this.follower instanceof Painter && this.follower.at === null) return 'recorded';
        return (this.lag ?? 0) > limits.lateSeconds ? 'late' : 'live';
    }

    get #words() {
        const since = this.#heard ? ` since ${clock(new Date(this.#heard))}` : '';
        const trouble = (this.status?.trouble ?? '').replace(/^./, (letter) => letter.toUpperCase());
        switch (this.state) {
            case 'paused': return 'Paused while the page is hidden';
            case 'lost': return `No connection to the viewer${since}; trying again`;
            case 'unsupported': return `${this.follower.trouble} Keyframes are shown as pictures.`;
            case 'away':
                if (this.status?.elsewhere) return `Recorded by ${this.status.elsewhere}; no pictures from there${since}`;
                return `No contact${since}`;
            case 'ended': return `Ended${since}`;
            case 'stopped': return `Stopped on purpose${since}`;
            case 'sound': return trouble || 'Sound only';
            case 'late': return trouble;
            case 'waiting':
                if (trouble) return trouble;
                return this.#hasBegun ? 'The first picture comes with the next keyframe' : 'Waiting for the first picture';
            default: return '';
        }
    }

    /** The shown rendition, as text; empty without a preview. */
    get #renditionWords() {
        const { shown, preview, mainTrouble } = this.renditions;
        if (preview === undefined) return '';
        if (shown !== 'preview') return 'Pictures of the source itself.';
        return mainTrouble ? `Pictures of its preview: ${mainTrouble}` : 'Pictures of its preview.';
    }

    /** Updates the texts; called a few times a second. */
    draw() {
        this.#useElement();
        if (this.follower.trouble) this.renditions.fail(this.follower.trouble);
        const { state, renditions } = this;
        this.root.dataset.state = state;
        if (state === 'unsupported' && !renditions.isPreviewDue) this.stills.show(address`/api/v1/live/${this.#stillName}/picture.jpg`, true);
        else this.stills.hide();
        setText(this.words, this.#words);
        const [lag, bound] = [this.lag, this.bound];
        // The source's own rate: while the page catches up, it shows more pictures a second than there are.
        const rate = (renditions.shown === 'preview' ? this.previewStatus : this.status)?.picturesPerSecond;
        this.#leadToRecording();
        const parts = [];
        if (state === 'live' || state === 'late' || state === 'recorded') {
            if (lag !== null) parts.push(state === 'late' ? `${shortTime(lag)} late` : `${lag.toFixed(2)} s ago`);
            if (bound !== null) parts.push(bound > 0 ? `±${shortTime(bound)}` : 'clock not measured');
            if (state === 'recorded') parts.push('recorded');
            else if (this.follower.isReduced) parts.push('keyframes only');
            else if (rate !== undefined) parts.push(`${rate.toFixed(rate < 9.95 ? 1 : 0)}/s`);
            if (renditions.shown === 'preview') parts.push('preview');
            // The usual path is in the tooltip only.
            if (this.path === 'Media Source') parts.push('by MSE');
        }
        this.root.dataset.path = this.path;
        this.root.dataset.rendition = renditions.shown ?? '';
        setText(this.figures, parts.join('  '));
        const words = ['How long ago this picture was captured; error bound of its time; pictures per second of the source.', this.#renditionWords, pathWords[this.path]];
        this.figures.title = parts.length ? words.join(' ') : '';
        const missing = this.#missing.at(this.#now() ?? 0, this.zero);
        setText(this.gap, missing?.text ?? '');
        this.gap.style.borderLeftColor = missing?.colour ?? '';
        this.#drawPlace();
    }

    #drawPlace() {
        const { collector, renditions: { shown } } = this;
        setText(this.from, collector ?? '');
        setText(this.moved, collector ? this.#place.news(shown, Date.now()) : '');
        const move = this.#place.lastMove(shown);
        this.from.title = collector ? `The collector of these pictures is ${collector}.${move && ` Moved ${move}.`}` : '';
    }
}

/**
 * The last that is not after a time.
 * @template {{ at: number }} Item
 * @param {Item[]} items
 * @param {number} time
 * @returns {Item | undefined}
 */
function lastOf(items, time) {
    for (let index = items.length - 1; index >= 0; index -= 1) if (items[index].at <= time) return items[index];
    return undefined;
}
