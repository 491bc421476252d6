// @ts-check
// One live track of a source: a media element that follows a session time.

import { codecsOf } from './codecs.js';
import { correction, NeedEstimate } from './live-clock.js';
import { canPlay, MediaBuffer } from './media-buffer.js';
import { keepRuns, keepTracks } from './movie-tracks.js';

/** A source that comes later than this does not hold back the others, seconds. */
export const latest = 3;
/** Beyond this distance it jumps instead of changing its rate. */
const farAway = 0.35;
/** Browsers stall shortly before the end of the buffer; the margin grows with each stall. */
const shortestMargin = 0.05;
const longestMargin = 0.4;
/** Maximum correction of the rate: a quarter is not visible for half a second, a twentieth not audible. */
const mostCorrection = { video: 0.25, audio: 0.04 };
/** Minimum time between two restarts after failures, seconds. */
const pause = 2;

export class Follower {
    /** @type {MediaBuffer | undefined} */
    #buffer;
    /** @type {Set<number>} */
    #tracks = new Set();
    #session = '';
    #need = new NeedEstimate();
    #margin = shortestMargin + 0.02;
    /**
     * End of the buffer at the last append.
     * @type {number | null}
     */
    #knownEnd = null;
    #now;
    /**
     * The initialization segment, for a restart after a failure.
     * @type {{ header: import('./live-frames.js').FrameHeader, body: Uint8Array } | undefined}
     */
    #begin;
    #failedAt = -Infinity;
    #isWaitingForKeyframe = true;
    /** Only keyframes are decoded, to spare the computer. */
    isReduced = false;
    /** Difference of the shown from the wanted time, seconds. */
    error = 0;
    /** Why it cannot be shown; empty: it can. */
    trouble = '';
    /** Whether its source has such a track at all. */
    hasTrack = false;

    /**
     * @param {HTMLMediaElement} media
     * @param {'video' | 'audio'} kind
     * @param {() => number | null} now Session time.
     */
    constructor(media, kind, now) {
        this.media = media;
        this.kind = kind;
        this.#now = now;
        media.addEventListener('waiting', () => {
            this.#margin = Math.min(longestMargin, this.#margin + 0.02);
        });
    }

    close() {
        this.#buffer?.close();
        this.#buffer = undefined;
    }

    /**
     * The source begins, or its format changes.
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {Uint8Array} body Is changed.
     */
    begin(header, body) {
        if (header.session !== this.#session) this.close();
        this.#session = header.session ?? '';
        this.#begin = { header, body };
        this.#tracks = keepTracks(body, this.kind);
        this.hasTrack = this.#tracks.size > 0;
        this.#isWaitingForKeyframe = true;
        this.#knownEnd = null;
        const codecs = codecsOf(header.codecs ?? '', this.kind);
        this.trouble = '';
        if (!this.hasTrack) return;
        if (!canPlay(`${this.kind}/mp4; codecs="${codecs}"`)) {
            this.trouble = `This browser cannot decode ${codecs}.`;
            return;
        }
        this.#buffer ??= this.#made();
        this.#buffer.begin(codecs, body);
    }

    #made() {
        return new MediaBuffer(this.media, this.kind, {
            appended: () => this.#appended(),
            failed: (text) => {
                console.warn(`${this.kind} of a live source begins anew: ${text}`);
                this.close();
                this.#failedAt = performance.now() / 1000;
            },
        });
    }

    /**
     * @param {import('./live-frames.js').FrameHeader} header
     * @param {Uint8Array} body Is changed.
     */
    take(header, body) {
        if (!this.#begin || !this.hasTrack || this.trouble) return;
        if (!this.#buffer && header.isKeyframe && performance.now() / 1000 > this.#failedAt + pause) {
            this.begin(this.#begin.header, this.#begin.body);
        }
        if (this.#isWaitingForKeyframe && !header.isKeyframe && this.kind === 'video') return;
        this.#isWaitingForKeyframe = this.isReduced && this.kind === 'video';
        if (keepRuns(body, this.#tracks)) this.#buffer?.append(body);
    }

    /** Media is missing: the next fragment starts with a keyframe. */
    skipped() {
        this.#isWaitingForKeyframe = true;
        this.#knownEnd = null;
    }

    #appended() {
        const end = this.#buffer?.end ?? null;
        const now = this.#now();
        if (end === null || now === null) return;
        if (this.#knownEnd !== null && end > this.#knownEnd + 0.001 && !this.isReduced) {
            this.#need.observe(now - this.#knownEnd, performance.now() / 1000, latest);
        }
        if (this.#knownEnd === null || end > this.#knownEnd) this.#knownEnd = end;
    }

    /** The delay with which it can be played, seconds; null: not known. */
    get need() {
        const need = this.#need.value;
        return need === null ? null : need + this.#margin;
    }

    /**
     * End of the received media, session time; null without media.
     */
    get end() {
        return this.#buffer?.end ?? null;
    }

    /** Whether the computer does not keep up with decoding. */
    get isStrained() {
        return this.error < -0.25;
    }

    /**
     * Follows a time.
     * @param {number} target Session time.
     * @param {number} rate Of the target time.
     */
    step(target, rate) {
        const ranges = this.#buffer?.buffered;
        this.#margin = Math.max(shortestMargin, this.#margin - 0.001);
        if (!ranges?.length) return;
        const media = this.media;
        const last = ranges.length - 1;
        const [range, isInside] = rangeOf(ranges, target);
        const at = media.currentTime;
        const isHere = at >= ranges.start(range) - 0.05 && at <= ranges.end(range) + 0.05;
        if (isInside) {
            this.#play();
            const error = at - target;
            this.error = error;
            if (!isHere || Math.abs(error) > farAway) {
                this.#seek(target);
                return;
            }
            this.#setRate(correction(error, mostCorrection[this.kind], rate));
        } else if (target > ranges.end(last)) {
            // The media is late: its newest picture is shown.
            this.#play();
            if (!isHere || at < ranges.end(last) - farAway) this.#seek(Math.max(ranges.start(last), ranges.end(last) - 0.05));
            this.#setRate(1);
        } else if (range === 0) {
            // All media is later: its first picture is shown until its time.
            if (at < ranges.start(0) || at > ranges.start(0) + farAway) this.#seek(ranges.start(0));
            media.pause();
        } else {
            // A gap: the last picture before it stays.
            const [start, end] = [ranges.start(range - 1), ranges.end(range - 1)];
            if (at < start - 0.05 || at > end + 0.05) this.#seek(Math.max(start, end - 0.05));
        }
    }

    /** @param {number} time */
    #seek(time) {
        if (this.media.seeking) return;
        this.media.currentTime = time;
        this.#setRate(1);
    }

    /** @param {number} rate */
    #setRate(rate) {
        if (this.media.playbackRate !== rate) this.media.playbackRate = rate;
    }

    #play() {
        if (!this.media.paused) return;
        this.media.play().catch((error) => {
            // Browsers do not play audio before a user gesture; it is retried.
            if (this.kind === 'audio') console.warn(`no sound: ${error.message}`);
        });
    }
}

/**
 * The range that has a time; or the one after it, or the last.
 * @param {TimeRanges} ranges
 * @param {number} time
 * @returns {[number, boolean]} Which, and whether it has the time.
 */
function rangeOf(ranges, time) {
    for (let index = 0; index < ranges.length; index += 1) {
        if (time < ranges.start(index)) return [index, false];
        if (time <= ranges.end(index)) return [index, true];
    }
    return [ranges.length - 1, false];
}
