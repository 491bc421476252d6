// @ts-check
// The sound level of a recorded source without pictures at the shown time: its sound is decoded (WebCodecs), and not played.

import { request } from './api.js';
import { LevelBar, peakLevel } from './level-bar.js';
import { pictures } from './live-samples.js';
import { readFragments, readInitialization } from './playback-boxes.js';
import { byteRange, fetchMedia } from './playback-media.js';
import { segmentKey } from './playback-samples.js';
import { canDecodeSound, soundTrack } from './sound-track.js';

/** @typedef {import('./playback-index.js').Segment} Segment */

/** The peak of this interval is shown, seconds at normal speed. */
const span = 0.05;
/** Segments are decoded this long in advance, seconds at normal speed. */
const ahead = 4;
/** Segments whose levels are kept: a minute of 20 ms packets each is 50 kB. */
const mostSegments = 16;
/** Limit of packets in the decoder, and its polling interval, milliseconds. */
const mostDecoding = 50;
const decodingBeat = 10;
/** Pause after a failure, milliseconds. */
const pause = 2000;

/** @typedef {{ time: number, level: number }[]} Levels Of a segment, dBFS, in the order of their session times. */

export class PlaybackLevel {
    /** @type {Map<string, Levels>} By segment, the last shown one at the end. */
    #known = new Map();
    #abort = new AbortController();
    #isLoading = false;
    #retryAt = 0;

    /**
     * @param {string} name
     * @param {import('./playback-index.js').MediaIndex} index
     */
    constructor(name, index) {
        this.index = index;
        this.bar = new LevelBar(name);
        this.element = this.bar.element;
    }

    close() {
        this.#abort.abort();
        this.#known.clear();
    }

    /**
     * Shows the level of a time.
     * @param {number} time Session time.
     * @param {number} speed 0: paused.
     */
    follow(time, speed) {
        const number = this.index.at(time);
        const here = this.index.segments[number];
        const wanted = this.index.segments.slice(Math.max(0, number), number + mostSegments / 2)
            .find((segment) => segment.start < time + ahead * Math.max(1, speed) && !this.#known.has(segmentKey(segment)));
        if (wanted) void this.#load(wanted);
        const levels = here && this.#known.get(segmentKey(here));
        const least = time - span * Math.max(1, speed);
        let level = -Infinity;
        for (const one of levels ?? []) if (one.time > least && one.time <= time) level = Math.max(level, one.level);
        if (level === -Infinity) return this.bar.hide();
        this.#known.delete(segmentKey(here));
        this.#known.set(segmentKey(here), levels ?? []);
        this.bar.show(level);
    }

    /**
     * Fetches and decodes a segment, one at a time.
     * @param {Segment} segment
     */
    async #load(segment) {
        if (!canDecodeSound || this.#isLoading || this.#abort.signal.aborted || performance.now() < this.#retryAt) return;
        this.#isLoading = true;
        try {
            this.#known.set(segmentKey(segment), await this.#levels(segment));
            for (const old of this.#known.keys()) if (this.#known.size > mostSegments) this.#known.delete(old);
        } catch (error) {
            if (this.#abort.signal.aborted) return;
            this.#retryAt = performance.now() + pause;
            console.warn(`the level of a recorded source is not shown: ${error instanceof Error ? error.message : error}`);
        } finally {
            this.#isLoading = false;
        }
    }

    /**
     * @param {Segment} segment
     * @returns {Promise<Levels>}
     */
    async #levels(segment) {
        const { signal } = this.#abort;
        const [initialization, media] = await Promise.all([
            request(segment.initialization, { signal }).then((response) => response.arrayBuffer()),
            fetchMedia(segment.media, byteRange(segment), signal),
        ]);
        const track = readInitialization(initialization, 'audio');
        const found = track && soundTrack(track.bytes, track.codec === 'Opus' ? 'opus' : track.codec);
        if (!track || !found || !(await AudioDecoder.isConfigSupported(found.configuration)).supported) return [];
        const read = readFragments(media, track);
        // The same offset as for pictures (playback-media.js).
        const origin = (read.origin ?? segment.start - (read.starts[0] ?? 0)) + track.shift;
        /** @type {Levels} */
        const levels = [];
        await decode(found.configuration, pictures(new Uint8Array(media), found.track), signal, (data) => {
            levels.push({ time: origin + data.timestamp / 1e6, level: peakLevel(data) });
        });
        return levels.sort((one, other) => one.time - other.time);
    }
}

/**
 * Decodes packets, and passes each result to `take`.
 * @param {AudioDecoderConfig} configuration
 * @param {import('./live-samples.js').Picture[]} packets
 * @param {AbortSignal} signal
 * @param {(data: AudioData) => void} take
 * @throws The decoder's error.
 */
async function decode(configuration, packets, signal, take) {
    /** @type {unknown} */
    let failure;
    const decoder = new AudioDecoder({
        output: (data) => {
            take(data);
            data.close();
        },
        error: (error) => {
            failure = error;
        },
    });
    decoder.configure(configuration);
    for (const { time, duration, bytes } of packets) {
        while (decoder.decodeQueueSize > mostDecoding && !failure && !signal.aborted) {
            await new Promise((resolve) => setTimeout(resolve, decodingBeat));
        }
        if (failure || signal.aborted) break;
        decoder.decode(new EncodedAudioChunk({ type: 'key', timestamp: Math.round(time * 1e6), duration: Math.round(duration * 1e6), data: bytes }));
    }
    if (!failure && !signal.aborted) await decoder.flush();
    if (decoder.state !== 'closed') decoder.close();
    if (failure) throw failure;
}
