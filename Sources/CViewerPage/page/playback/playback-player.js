// @ts-check
// Plays several sources of a session in step: one clock, a tile for each source, the sound of one.

import { beginning, extent, mainLanes, nextGap, previewLanes } from './playback-coverage.js';
import { PlaybackClock } from './playback-clock.js';
import { MediaIndex } from './playback-index.js';
import { PlaybackSound } from './playback-sound.js';
import { PlaybackTile } from './playback-tile.js';

/** @typedef {import('./playback-coverage.js').Lane} Lane */

/** Interval of synchronisation, milliseconds. */
const beat = 50;
/** Maximum wait for sources without media; milliseconds. */
const patience = 8000;
/** Maximum wait for decoders at the start; milliseconds. */
const startPatience = 700;
/** Time in which decoders start; milliseconds. */
const startDelay = 150;
/** Maximum wait for the next picture of a step; milliseconds. */
const stepPatience = 4000;
/** A growing playlist is read again this near to its end, at this interval; seconds. */
const nearEnd = 30;
/** Sources that begin within this time begin together; a page opens this long before the end. Seconds. */
const together = 2;
const beforeEnd = 0.5;
/** Maximum wait for the first pictures' times when a page opens; milliseconds. */
const openingPatience = 4000;
const growing = 2;

/**
 * A time within a sample, to a millisecond if it is long enough. Not its beginning: samples of retimed files are some microseconds off.
 * @param {import('./playback-samples.js').Sample} sample
 */
function within(sample) {
    if (sample.end - sample.start < 0.004) return sample.start;
    return Math.ceil((sample.start + 0.0005) * 1000) / 1000;
}

export class PlaybackPlayer {
    /**
     * @param {string} session
     * @param {number} zero Milliseconds since 1970.
     * @param {Lane[]} lanes
     */
    constructor(session, zero, lanes) {
        this.session = session;
        this.zero = zero;
        /** Lanes of the sources, without previews. */
        this.lanes = mainLanes(lanes);
        this.previews = previewLanes(lanes);
        /** @type {string[]} */
        this.soundOnly = [];
        const { start } = extent(this.lanes);
        // Media elements know no time below 0; sessions do.
        this.base = Math.min(0, Math.floor(start) - 1);
        this.clock = new PlaybackClock(start);
        /** @type {Map<string, MediaIndex>} */
        this.indices = new Map();
        /** @type {PlaybackTile[]} */
        this.tiles = [];
        this.sound = new PlaybackSound();
        this.soundOf = '';
        this.referenceName = '';
        /** @type {number | null} */
        this.markIn = null;
        /** @type {number | null} */
        this.markOut = null;
        this.isLooping = false;
        /** The session may still grow. */
        this.isRecording = false;
        /**
         * The time at which to open, until its pictures are known or the user seeks.
         * @type {{ at: number, isEnd: boolean, until: number } | null}
         */
        this.opening = null;
        /** @type {PlaybackTile[]} */
        this.waitingFor = [];
        this.heldSince = 0;
        this.startedAt = 0;
        /** Last release of the clock; 0: pictures and clock have been synchronous since. */
        this.releasedAt = 0;
        this.readAt = 0;
        this.isScheduled = false;
        this.isClosed = false;
        /** Called after each synchronisation. */
        this.changed = () => {};
        /** @type {Set<() => void>} Woken by the next beat. */
        this.sleepers = new Set();
        this.timer = setInterval(() => this.beat(), beat);
    }

    close() {
        this.isClosed = true;
        clearInterval(this.timer);
        this.sound.close();
        for (const tile of this.tiles) tile.close();
        this.tiles = [];
    }

    /** From the first to the last picture of all sources. */
    get extent() {
        return extent(this.lanes);
    }

    /** Lanes of the sources that are shown. */
    get shownLanes() {
        const names = new Set(this.tiles.map((tile) => tile.name));
        return this.lanes.filter((lane) => names.has(lane.source));
    }

    /** @param {string} name */
    lane(name) {
        return this.lanes.find((lane) => lane.source === name);
    }

    /** The source whose pictures are stepped by. */
    get reference() {
        return this.tiles.find((tile) => tile.name === this.referenceName)
            ?? this.tiles.find((tile) => !tile.media.isAbsent) ?? this.tiles[0];
    }

    /** @param {string} name */
    index(name) {
        let index = this.indices.get(name);
        if (!index) {
            index = new MediaIndex(this.session, name, this.zero);
            this.indices.set(name, index);
            void this.#read(index);
        }
        return index;
    }

    /** @param {MediaIndex} index */
    async #read(index) {
        // The tile shows the error, and the playlist is read again.
        await index.read().catch(() => {});
        this.#schedule();
    }

    /**
     * Shows these sources, in this order.
     * @param {string[]} names
     */
    setSources(names) {
        const old = new Map(this.tiles.map((tile) => [tile.name, tile]));
        this.tiles = names.map((name) => {
            const known = old.get(name);
            old.delete(name);
            if (known) return known;
            const preview = this.previews.get(name)?.source;
            const tile = new PlaybackTile(name, this.index(name), preview === undefined ? undefined : { name: preview, index: this.index(preview) },
                this.base, names.length);
            tile.changed = () => this.#schedule();
            return tile;
        });
        for (const tile of old.values()) tile.close();
        if (this.soundOf && !names.includes(this.soundOf)) this.setSound('');
        this.#schedule();
    }

    /** @param {string} name Empty: silence. */
    setSound(name) {
        this.soundOf = name;
        this.sound.choose(name ? this.index(name) : undefined, this.base);
    }

    /** @param {Lane[]} lanes */
    setLanes(lanes) {
        this.lanes = mainLanes(lanes);
        this.previews = previewLanes(lanes);
        this.#schedule();
    }

    /**
     * Opens where every source has a picture: at the beginning, or near the end of a growing recording.
     * @param {number} time Estimate before anything is read.
     * @param {boolean} isEnd
     */
    open(time, isEnd) {
        const at = this.clamped(time);
        this.#goTo(at);
        this.opening = { at, isEnd, until: performance.now() + openingPatience };
    }

    /** Goes to the pictures as soon as they are known. */
    #open() {
        const { opening, clock, tiles } = this;
        if (!opening) return;
        if (clock.now !== opening.at || clock.isRunning || performance.now() > opening.until) {
            this.opening = null;
            return;
        }
        const shown = tiles.filter(({ name, media, index }) => !media.isAbsent && !index.failure && this.lane(name)?.recorded.length);
        const { start } = this.extent;
        const known = shown.map(({ media, index }) => {
            if (opening.isEnd) return index.segments.length > 0 ? index.end : undefined;
            // Null: its pictures start later.
            const sample = media.samples.beside(start - 1, 1);
            return sample ? sample.start : index.segments.length > 0 ? sample : undefined;
        });
        if (known.some((time) => time === undefined)) return;
        this.opening = null;
        const times = known.flatMap((time) => time ?? []);
        if (times.length === 0) return;
        if (opening.isEnd) {
            // A source that has ended does not hold the others back.
            const newest = Math.max(...times);
            const end = Math.min(...times.filter((time) => time > newest - nearEnd)) - beforeEnd;
            if (end < clock.now) clock.seek(this.clamped(end));
        } else {
            const first = Math.min(...times);
            const all = Math.max(...times.filter((time) => time < first + together));
            if (all > clock.now) clock.seek(Math.ceil((all + 0.0005) * 1000) / 1000);
        }
    }

    /** Opens at the first pictures; sound may begin before them. */
    toBeginning() {
        this.open(beginning(this.lanes), false);
        this.beat();
    }

    /** @param {number} time */
    clamped(time) {
        const { start, end } = this.extent;
        return Math.max(start, Math.min(end, time));
    }

    /** @param {number} time */
    seek(time) {
        this.#goTo(this.clamped(time));
        this.beat();
    }

    /**
     * Seeks. During playback, the clock waits for the pictures.
     * @param {number} time
     */
    #goTo(time) {
        const { clock } = this;
        if (clock.isPlaying) {
            clock.hold(true);
            this.startedAt = this.heldSince = performance.now();
        }
        clock.seek(time);
    }

    /** @param {boolean} value */
    play(value) {
        const { clock } = this;
        if (value && !clock.isPlaying) {
            const { end } = this.extent;
            // At the end, play begins again.
            if (clock.rate > 0 && clock.now >= end - 0.02 && !this.isRecording) {
                if (this.markIn === null) this.toBeginning();
                else clock.seek(this.markIn);
            }
            this.startedAt = performance.now();
            clock.hold(true);
            this.heldSince = performance.now();
        }
        clock.play(value);
        if (!value) clock.hold(false);
        this.beat();
    }

    /** @param {number} rate */
    setRate(rate) {
        this.clock.setRate(rate);
        for (const tile of this.tiles) tile.picture.restsUntil = 0;
        this.beat();
    }

    /**
     * Steps one picture forward or back.
     * @param {1 | -1} direction
     */
    async step(direction) {
        this.play(false);
        const tile = this.reference;
        if (!tile) return;
        if (tile.media.isAbsent) return this.seek(this.clock.now + direction * 0.04);
        const until = performance.now() + stepPatience;
        while (!this.isClosed) {
            const next = tile.media.samples.beside(this.clock.now, direction);
            if (next) return this.seek(within(next));
            if (next === null || performance.now() > until) return;
            await new Promise((resolve) => this.sleepers.add(() => resolve(undefined)));
        }
    }

    /**
     * Seeks to the next or the previous gap of the shown sources.
     * @param {1 | -1} direction
     */
    toGap(direction) {
        const gap = nextGap(this.shownLanes, this.clock.now, direction);
        if (gap) {
            this.play(false);
            this.seek(gap.at);
        }
        return gap;
    }

    #schedule() {
        if (this.isScheduled || this.isClosed) return;
        this.isScheduled = true;
        queueMicrotask(() => {
            this.isScheduled = false;
            if (!this.isClosed) this.beat();
        });
    }

    /** Synchronises the pictures with the clock. */
    beat() {
        const { clock } = this;
        this.#open();
        if (clock.isPlaying) {
            this.#turn();
            this.#wait();
        } else {
            this.waitingFor = [];
        }
        const { now, rate, isRunning } = clock;
        this.#follow();
        this.sound.follow(now, rate, isRunning);
        this.#grow(now);
        for (const wake of this.sleepers) wake();
        this.sleepers.clear();
        this.changed();
    }

    /** Updates the tiles to the clock's time. */
    #follow() {
        const { now, rate, isRunning } = this.clock;
        for (const tile of this.tiles) {
            const lanes = { main: this.lane(tile.name), preview: this.previews.get(tile.name) };
            tile.follow(now, rate, isRunning, lanes, !this.soundOnly.includes(tile.name));
        }
    }

    /** At the end, and at the ends of a loop. */
    #turn() {
        const { clock, markIn, markOut } = this;
        const { start, end } = this.extent;
        const { now } = clock;
        if (this.isLooping && markIn !== null && markOut !== null && markOut > markIn) {
            if (clock.rate > 0 && (now >= markOut || now < markIn - 0.5)) return this.#goTo(markIn);
            if (clock.rate < 0 && (now <= markIn || now > markOut + 0.5)) return this.#goTo(markOut);
        }
        if (clock.rate > 0 && now >= end) {
            if (this.isRecording) return clock.seek(end);
            clock.play(false);
            clock.seek(end);
        } else if (clock.rate < 0 && now <= start) {
            clock.play(false);
            clock.seek(start);
        }
    }

    /** Holds the clock while media for its time has not been fetched. */
    #wait() {
        const { clock } = this;
        const time = performance.now();
        const isStarting = clock.isHeld && time - this.startedAt < startPatience;
        // Each goes to its picture first, also the one that was still on its way to another.
        if (isStarting) this.#follow();
        this.waitingFor = this.tiles.filter((tile) => time > tile.skippedUntil
            && (!tile.media.isReady(clock.now) || (isStarting && tile.video.seeking)));
        if (this.waitingFor.length === 0) {
            if (clock.isHeld) this.releasedAt = time;
            clock.hold(false);
            return this.#meet(time);
        }
        if (!clock.isHeld) {
            this.heldSince = time;
            clock.hold(true);
        } else if (time - this.heldSince > patience) {
            // The other tiles continue without them; their tiles show the reason.
            for (const tile of this.waitingFor) tile.skippedUntil = time + patience;
        }
    }

    /**
     * The clock continues at the pictures, because decoders take a moment to start.
     * @param {number} time
     */
    #meet(time) {
        const { clock } = this;
        if (this.releasedAt === 0 || time - this.releasedAt < startDelay) return;
        this.releasedAt = 0;
        if (clock.rate < 0 || clock.rate > 4) return;
        const errors = this.tiles.filter(({ video }) => !video.paused && !video.seeking)
            .map(({ video }) => video.currentTime + this.base - clock.now).sort((one, other) => one - other);
        const error = errors[errors.length >> 1] ?? 0;
        if (Math.abs(error) < 0.3 * Math.max(1, clock.rate)) clock.seek(clock.now + error);
    }

    /** @param {number} now */
    #grow(now) {
        const indices = [...this.indices.values()];
        if (!this.isRecording && indices.every((index) => !index.failure && (index.isComplete || index.segments.length === 0))) return;
        const time = performance.now();
        if (time - this.readAt < growing * 1000) return;
        this.readAt = time;
        for (const index of indices) {
            if (index.failure || (!index.isComplete && now > (index.end ?? -Infinity) - nearEnd)) void this.#read(index);
        }
    }

    /** State for tests. */
    state() {
        const { clock } = this;
        /** @type {Record<string, import('./main.js').SourceState>} */
        const sources = {};
        for (const { name, at, bound, state, preview, rendition } of this.tiles) {
            sources[name] = { at, bound, lag: null, state, ...(preview && { rendition }) };
        }
        return { mode: 'playback', at: clock.now, rate: clock.isPlaying ? clock.rate : 0, sources };
    }
}
