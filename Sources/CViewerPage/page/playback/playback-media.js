// @ts-check
// One track of a source in a media element: fetches segments around a time and appends them (Media Source Extensions).
//
// The element's time is session time minus `base`, for every source: the `timestampOffset` of samples is their file's origin.

import { ApiError, request } from './api.js';
import { readFragments, readInitialization } from './playback-boxes.js';
import { SampleTable, segmentKey } from './playback-samples.js';

/** @typedef {import('./playback-index.js').Segment} Segment */
/** @typedef {import('./playback-boxes.js').Track} Track */

/** Media buffered from the wanted time on, seconds at normal speed. */
const ahead = 8;
/** Memory of one element, bytes; all of them together have `totalBytes`. */
const usualBytes = 60e6;
const totalBytes = 480e6;
/** Pause after a failure, milliseconds. */
const pause = 2000;
/** Minimum length of a gap between samples; seconds. */
const gap = 0.25;
/** A decoder that fails twice within this time in the same segment cannot decode it, milliseconds. */
const suspicion = 60_000;

const Source = /** @type {typeof MediaSource | undefined} */ (Reflect.get(window, 'ManagedMediaSource') ?? window.MediaSource);

/** Whether media may come from the object store, where the viewer redirects to it. */
let isDirect = true;

/**
 * Fetches bytes of a recorded file. From a store that does not answer this browser, the viewer fetches them.
 * @param {string} path
 * @param {string} range
 * @param {AbortSignal} signal
 */
export async function fetchMedia(path, range, signal) {
    const options = { headers: { range }, signal };
    if (isDirect) {
        try {
            const response = await request(path, options);
            return await response.arrayBuffer();
        } catch (error) {
            if (signal.aborted || (error instanceof ApiError && ![0, 403].includes(error.status))) throw error;
        }
    }
    const response = await request(`${path}?redirect=no`, options);
    isDirect = false;
    return response.arrayBuffer();
}

/**
 * The range of a segment in its file (RFC 9110 §14.1.2).
 * @param {Segment} segment
 */
export const byteRange = (segment) => `bytes=${segment.offset}-${segment.offset + segment.size - 1}`;

/** The browser has rejected appended media. */
class Undecodable extends Error {}

/** @returns {import('./playback-samples.js').Samples} */
const noSamples = () => ({ starts: new Float64Array(), ends: new Float64Array(), boundStarts: [], bounds: [] });

/**
 * @param {ArrayBuffer} buffer
 * @param {Track} track
 * @returns {import('./playback-boxes.js').Fragments | null} Null: its boxes are damaged.
 */
function readOrNull(buffer, track) {
    try {
        return readFragments(buffer, track);
    } catch {
        return null;
    }
}

export class TrackMedia {
    /**
     * @param {HTMLMediaElement} element
     * @param {import('./playback-boxes.js').Kind} kind
     * @param {import('./playback-index.js').MediaIndex} index
     * @param {number} base
     * @param {number} tracks How many are played together.
     */
    constructor(element, kind, index, base, tracks) {
        this.element = element;
        this.kind = kind;
        this.index = index;
        this.base = base;
        this.samples = new SampleTable(index);
        this.capacity = Math.min(usualBytes, totalBytes / tracks);
        /** Called when awaited media may have arrived. */
        this.changed = () => {};
        /** Why no media arrives, as text. */
        this.failure = '';
        /** No file that was read has a track of this kind. */
        this.hasNoTrack = false;
        /** @type {Map<string, string>} Codecs that this browser cannot decode, by the initialization section. */
        this.refused = new Map();
        /** @type {Map<string, { size: number, start: number, end: number, when: number }>} Appended segments. */
        this.appended = new Map();
        /** @type {Set<string>} Segments that this browser cannot decode, which are neither fetched nor waited for again. */
        this.broken = new Set();
        /** @type {Map<string, number>} Times of decoder failures, by segment. */
        this.suspected = new Map();
        /** The segment that is being appended. */
        this.appending = '';
        /** @type {Map<string, Promise<Track | null>>} */
        this.tracks = new Map();
        this.time = 0;
        this.speed = 1;
        this.isClosed = false;
        this.isPumping = false;
        this.retryAt = 0;
        /** @type {{ number: number, abort: AbortController } | undefined} */
        this.loading = undefined;
        /** @type {SourceBuffer | undefined} */
        this.buffer = undefined;
        /** @type {Track | undefined} The one whose initialization section was appended last. */
        this.current = undefined;
        /** @type {MediaSource | undefined} */
        this.source = undefined;
        this.url = '';
        /** @type {Promise<unknown>} */
        this.isOpen = Promise.resolve();
        /** The decoder has failed and closed the source. */
        this.isSpent = false;
        element.addEventListener('error', this.#mediaError);
        this.#open();
    }

    /** The codec at the wanted time that this browser cannot decode; empty: none. */
    get unsupported() {
        const segment = this.index.segments[Math.max(0, this.index.at(this.time))];
        return (segment && this.refused.get(segment.initialization)) ?? '';
    }

    /** Nothing of this kind can be played at the wanted time. */
    get isAbsent() {
        return this.hasNoTrack || this.unsupported !== '';
    }

    /** Gives the element an empty media source. */
    #open() {
        if (!Source) {
            this.failure = 'This browser cannot play recordings (it has no Media Source Extensions).';
            return;
        }
        const source = new Source();
        const before = this.url;
        this.source = source;
        this.buffer = undefined;
        this.current = undefined;
        this.appended.clear();
        this.isSpent = false;
        this.failure = '';
        if ('ManagedMediaSource' in window) this.element.disableRemotePlayback = true;
        this.url = URL.createObjectURL(source);
        this.isOpen = new Promise((resolve) => {
            source.addEventListener('sourceopen', resolve, { once: true });
        });
        this.element.src = this.url;
        if (before) URL.revokeObjectURL(before);
    }

    close() {
        this.isClosed = true;
        this.loading?.abort.abort();
        this.element.removeEventListener('error', this.#mediaError);
        this.element.removeAttribute('src');
        this.element.load();
        if (this.url) URL.revokeObjectURL(this.url);
    }

    /**
     * Sets the wanted time and speed.
     * @param {number} time Session time.
     * @param {number} speed Below 0: backwards; 0: paused.
     */
    want(time, speed) {
        this.time = time;
        this.speed = speed;
        const { loading } = this;
        if (loading) {
            const segment = this.index.segments[loading.number];
            const isFar = segment && (segment.end < time - 2 * ahead || segment.start > time + 4 * ahead);
            // Fetches for other times only cause delay. The adjacent segment is needed at any distance.
            if (isFar && !this.wanted().includes(loading.number)) loading.abort.abort();
        }
        void this.#pump();
    }

    /**
     * Whether the media element has the sample of a time.
     * @param {import('./playback-samples.js').Sample} sample
     */
    has(sample) {
        if (!this.appended.has(sample.key)) return false;
        const at = sample.start - this.base + Math.min(0.001, (sample.end - sample.start) / 2);
        const { buffered } = this.element;
        for (let index = 0; index < buffered.length; index += 1) {
            if (buffered.start(index) <= at && at < buffered.end(index)) return true;
        }
        // The browser has removed it to make room.
        const part = this.appended.get(sample.key);
        if (part && performance.now() - part.when > pause) this.appended.delete(sample.key);
        return false;
    }

    /**
     * Whether playing can go on for a while from a time.
     * @param {number} time
     */
    isReady(time) {
        if (this.isAbsent || this.failure) return true;
        const sample = this.samples.at(time);
        if (sample === undefined) return false;
        if (sample === null || this.isBroken(time, sample)) return true;
        return time > sample.end + gap || this.has(sample);
    }

    /**
     * Whether the sample of a time cannot be decoded.
     * @param {number} time
     * @param {import('./playback-samples.js').Sample | null | undefined} sample The sample at that time.
     */
    isBroken(time, sample) {
        if (sample && time <= sample.end + gap && this.broken.has(sample.key)) return true;
        // No sample is known in a segment with damaged boxes.
        const segment = this.index.segments[this.index.at(time)];
        return !!segment && time < segment.end && this.broken.has(segmentKey(segment));
    }

    /**
     * The indices of the segments to fetch now, the most urgent first.
     * @returns {number[]}
     */
    wanted() {
        const { segments } = this.index;
        if (segments.length === 0) return [];
        const here = Math.max(0, this.index.at(this.time));
        /** @type {number[]} */
        const numbers = [here];
        const missing = this.samples.missing(this.time);
        if (missing >= 0 && missing !== here) numbers.push(missing);
        const reach = Math.max(1, Math.abs(this.speed)) * ahead;
        if (this.speed >= 0) {
            for (let number = here + 1; number < segments.length; number += 1) {
                // The next segment is always fetched: a step may go there, over a gap.
                if (number > here + 1 && segments[number].start > this.time + reach) break;
                numbers.push(number);
            }
        }
        for (let number = here - 1; number >= 0; number -= 1) {
            if (number < here - 1 && (this.speed >= 0 || segments[number].end < this.time - reach)) break;
            numbers.push(number);
        }
        return numbers;
    }

    async #pump() {
        if (this.isPumping || this.isClosed || !this.source || performance.now() < this.retryAt) return;
        this.isPumping = true;
        try {
            if (this.isSpent) this.#open();
            await this.isOpen;
            while (!this.isClosed && !this.isSpent) {
                const number = this.wanted().find((number) => !this.#isDone(this.index.segments[number]));
                if (number === undefined) break;
                try {
                    await this.#load(number);
                } catch (error) {
                    // Another time is wanted now.
                    if (this.loading?.abort.signal.aborted) continue;
                    throw error;
                }
                if (!this.isSpent) this.failure = '';
                this.changed();
            }
            this.#finish();
        } catch (error) {
            // Further errors of a closed source are consequences.
            if (!this.isSpent) this.failure = error instanceof Error ? error.message : String(error);
            this.retryAt = performance.now() + pause;
            if (error instanceof Error && Reflect.get(error, 'status') === 404) {
                await this.index.read().catch(() => {});
            }
            this.changed();
        } finally {
            this.loading = undefined;
            this.isPumping = false;
        }
    }

    /**
     * Whether there is nothing to fetch of a segment.
     * @param {Segment} segment
     */
    #isDone(segment) {
        const key = segmentKey(segment);
        return this.appended.has(key) || this.broken.has(key);
    }

    /** @param {number} number */
    async #load(number) {
        const segment = this.index.segments[number];
        const abort = new AbortController();
        this.loading = { number, abort };
        const fetchSegment = () => fetchMedia(segment.media, byteRange(segment), abort.signal);
        // Media are fetched together with their initialization section only after an earlier one could be decoded.
        const isLikely = this.buffer !== undefined && !this.refused.has(segment.initialization);
        const [track, early] = await Promise.all([this.#track(segment), isLikely ? fetchSegment() : undefined]);
        const key = segmentKey(segment);
        if (!track || this.refused.has(segment.initialization)) {
            this.loading = undefined;
            this.samples.known.set(key, noSamples());
            this.appended.set(key, { size: 0, start: segment.start, end: segment.end, when: performance.now() });
            this.hasNoTrack = !track && !this.buffer;
            return;
        }
        const response = early ?? await fetchSegment();
        this.loading = undefined;
        const read = readOrNull(response, track);
        if (!read) {
            this.samples.known.set(key, noSamples());
            this.broken.add(key);
            return;
        }
        // Only files of other programs have no origin: their position in the playlist is used.
        const origin = read.origin ?? segment.start - (read.starts[0] ?? 0);
        this.samples.known.set(key, {
            starts: Float64Array.from(read.starts, (time) => origin + time),
            ends: Float64Array.from(read.ends, (time) => origin + time),
            boundStarts: read.boundStarts.map((time) => origin + time),
            bounds: read.bounds,
        });
        if (this.isClosed) return;
        await this.#makeRoom(response.byteLength);
        if (read.parts.length > 0) {
            this.appending = key;
            try {
                await this.#append(track, read.parts, origin + track.shift - this.base);
            } catch (error) {
                if (error instanceof Undecodable) this.#giveUp(key, true);
                throw error;
            } finally {
                this.appending = '';
            }
        }
        this.appended.set(key, { size: response.byteLength, start: segment.start, end: segment.end, when: performance.now() });
    }

    /**
     * @param {Segment} segment
     * @returns {Promise<Track | null>}
     */
    #track(segment) {
        const known = this.tracks.get(segment.initialization);
        if (known) return known;
        const reading = request(segment.initialization)
            .then((response) => response.arrayBuffer())
            .then((buffer) => {
                const track = readInitialization(buffer, this.kind);
                if (track && !Source?.isTypeSupported(this.#type(track))) this.refused.set(segment.initialization, track.codec);
                return track;
            });
        this.tracks.set(segment.initialization, reading);
        reading.catch(() => this.tracks.delete(segment.initialization));
        return reading;
    }

    /** @param {Track} track */
    #type(track) {
        return `${this.kind}/mp4; codecs="${track.codec}"`;
    }

    /**
     * @param {Track} track
     * @param {Uint8Array[]} parts
     * @param {number} offset
     */
    async #append(track, parts, offset) {
        const type = this.#type(track);
        const source = /** @type {MediaSource} */ (this.source);
        if (!this.buffer) {
            this.buffer = source.addSourceBuffer(type);
            this.hasNoTrack = false;
        }
        if (this.current !== track) {
            if (this.current && this.current.codec !== track.codec) this.buffer.changeType(type);
            await this.#update(() => this.buffer?.appendBuffer(track.bytes));
            this.current = track;
        }
        const end = (this.index.end ?? 0) - this.base + 60;
        if (source.readyState === 'open' && !(source.duration >= end - 30)) source.duration = end;
        if (this.buffer.timestampOffset !== offset) this.buffer.timestampOffset = offset;
        const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
        let at = 0;
        for (const part of parts) {
            bytes.set(part, at);
            at += part.length;
        }
        await this.#update(() => this.buffer?.appendBuffer(bytes));
    }

    /** The decoder has failed, or its process has crashed. */
    #mediaError = () => {
        const { element, samples } = this;
        const sample = samples.at(element.currentTime + this.base) ?? samples.at(this.time);
        this.#giveUp(this.appending || sample?.key, false);
    };

    /**
     * The decoder has given up. The faulty segment is left out; after a second time if it is not certain.
     * @param {string | undefined} key Of the segment.
     * @param {boolean} isSure
     */
    #giveUp(key, isSure) {
        if (this.isClosed || this.isSpent) return;
        const now = performance.now();
        this.isSpent = true;
        this.retryAt = now + pause;
        this.failure = 'This browser cannot decode it: trying again.';
        if (key !== undefined) {
            const before = this.suspected.get(key);
            if (isSure || (before !== undefined && now - before < suspicion)) this.broken.add(key);
            else this.suspected.set(key, now);
        }
        this.changed();
    }

    /** @param {() => void} act */
    #update(act) {
        const buffer = /** @type {SourceBuffer} */ (this.buffer);
        return new Promise((resolve, reject) => {
            const listen = () => {
                buffer.removeEventListener('updateend', end);
                buffer.removeEventListener('error', fail);
                this.element.removeEventListener('error', fail);
            };
            const end = () => {
                listen();
                resolve(undefined);
            };
            const fail = () => {
                listen();
                reject(new Undecodable('The browser cannot decode this recording.'));
            };
            buffer.addEventListener('updateend', end);
            buffer.addEventListener('error', fail);
            // The buffer may be removed with the element's source, without an event.
            this.element.addEventListener('error', fail);
            try {
                act();
            } catch (error) {
                listen();
                reject(error);
            }
        });
    }

    /**
     * Removes media far from the wanted time.
     * @param {number} size
     */
    async #makeRoom(size) {
        let sum = size;
        for (const part of this.appended.values()) sum += part.size;
        const wanted = new Set(this.wanted().map((number) => segmentKey(this.index.segments[number])));
        while (sum > this.capacity && this.buffer) {
            const [far] = [...this.appended].filter(([key]) => !wanted.has(key))
                .sort(([, one], [, other]) => this.#distance(other) - this.#distance(one));
            if (!far) return;
            const [key, part] = far;
            this.appended.delete(key);
            sum -= part.size;
            const samples = this.samples.known.get(key);
            const last = samples ? samples.starts.length - 1 : -1;
            if (!samples || last < 0) continue;
            // Up to the last sample: the next segment starts with a keyframe.
            const [start, end] = [samples.starts[0] - this.base, (samples.starts[last] + samples.ends[last]) / 2 - this.base];
            await this.#update(() => this.buffer?.remove(Math.max(0, start - 1e-4), Math.max(1e-4, end)));
        }
    }

    /** @param {{ start: number, end: number }} part */
    #distance(part) {
        return Math.max(part.start - this.time, this.time - part.end);
    }

    /** With the end of the source appended, decoders show their last pictures without waiting for more. */
    #finish() {
        const last = this.index.segments.at(-1);
        if (!last || !this.buffer || this.isClosed || this.source?.readyState !== 'open') return;
        if (this.#isDone(last) && this.index.isComplete && !this.buffer.updating) {
            this.source.endOfStream();
        }
    }
}
