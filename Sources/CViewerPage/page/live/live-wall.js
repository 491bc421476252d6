// @ts-check
// The wall of all tiles: layout, the shown time, and the selected sound.

import { element } from './element.js';
import { growthOf, RunningTime, SessionClock, SmoothDelay } from './live-clock.js';
import { grid, neighbour, spotlight } from './live-grid.js';
import { latest } from './live-follower.js';
import { Painter } from './live-painter.js';
import { LiveSound } from './live-sound.js';
import { CommonTime } from './live-step.js';
import { looking, LoadReduction } from './live-load.js';
import { LiveTile } from './live-tile.js';
import { WallPages } from './live-pages.js';
import { renditionFor } from './renditions.js';

/** How often tiles are kept in step, and how often their texts are renewed, milliseconds. */
const stepping = 100;
const drawing = 500;
/** The delay until the required one is known, seconds. */
const firstDelay = 0.4;
/** Decrease per second of a delay that is much too long, without audible sound. */
const hurried = 0.2;

/** @typedef {'step' | 'fastest'} Mode */

export class LiveWall {
    root = element('div', { className: 'wall' });
    /** @type {Map<string, LiveTile>} */
    tiles = new Map();
    /** @type {Mode} */
    mode = 'step';
    /** @type {number | null} */
    #chosenDelay = null;
    /** @type {string | undefined} */
    large;
    /** Called after each step. */
    onstep = () => {};
    /**
     * Called when more or fewer tiles show keyframes only.
     * @type {(count: number) => void}
     */
    onthrift = () => {};
    /** Called when other tiles are shown. */
    onturn = () => {};
    /**
     * Called when the set of sources whose main rendition is needed, beside previews, has changed.
     * @param {string[]} names
     */
    onmains = (names) => {};
    #mains = '';
    /** @type {import('./renditions.js').Quality} */
    #quality = 'size';
    /** Sources by the names of their previews. @type {Map<string, string>} */
    #previews = new Map();
    /** Selects the tiles that are shown. */
    pages;
    #thrift = new LoadReduction();
    #looked = 0;
    #session = '';
    #clock = new SessionClock();
    #delay = new SmoothDelay();
    /** Session time that is wanted where all are in step. */
    #wanted = new RunningTime();
    #common = new CommonTime();
    /**
     * In the mode `fastest`, each tile has a time of its own.
     * @type {Map<string, SmoothDelay>}
     */
    #delays = new Map();
    /**
     * The initialization frame of each source, for its sound.
     * @type {Map<string, import('./live-frames.js').Frame>}
     */
    #begins = new Map();
    /** @type {LiveSound | undefined} */
    #sound;
    /** @type {import('./live-grid.js').Box[]} */
    #boxes = [];
    /** @type {string[]} */
    #order = [];
    /** @type {((name: string) => void) | undefined} */
    #command;
    #timers;
    #painting = 0;
    #observer = new ResizeObserver(() => this.layOut());
    /** Tiles that are about to become visible are decoded in advance. */
    #seeing = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
            for (const tile of this.tiles.values()) if (tile.root === target) tile.see(isIntersecting);
        }
    }, { root: this.root, rootMargin: '30%' });

    /**
     * @param {string[]} order Names that come first, in their order.
     * @param {number | null} size Tiles at once; null: all.
     * @param {number | null} turnSeconds After which others are shown; null: they stay.
     */
    constructor(order, size, turnSeconds) {
        this.#order = order;
        this.pages = new WallPages(size, turnSeconds, performance.now());
        this.#observer.observe(this.root);
        this.#paint();
        this.#timers = [setInterval(() => this.#step(), stepping), setInterval(() => this.draw(), drawing)];
    }

    close() {
        for (const timer of this.#timers) clearInterval(timer);
        cancelAnimationFrame(this.#painting);
        this.#observer.disconnect();
        this.#seeing.disconnect();
        this.#sound?.close();
        for (const tile of this.tiles.values()) tile.close();
    }

    /** Paints all tiles at the same refresh of the screen. */
    #paint = () => {
        const time = this.mode === 'step' ? this.#timeInStep : undefined;
        for (const tile of this.tiles.values()) if (!tile.hindrance) tile.paint(time);
        this.#painting = requestAnimationFrame(this.#paint);
    };

    /** Session time that all tiles show at this refresh. */
    get #timeInStep() {
        const ready = [...this.tiles.values()].flatMap(({ name, until }) => (until === null ? [] : [{ name, until }]));
        const seconds = performance.now() / 1000;
        return this.#common.next(this.#wanted.at(seconds), ready, seconds);
    }

    /** Session time now, seconds; null: nothing has come yet. */
    now = () => this.#clock.at(performance.now() / 1000);

    /** Session time that is shown where all are in step, seconds. */
    get at() {
        const now = this.now();
        return now === null ? null : now - this.delay;
    }

    /**
     * The delay that the user has chosen, seconds; null: determined by the slowest source.
     * @type {number | null}
     */
    get chosenDelay() {
        return this.#chosenDelay;
    }

    set chosenDelay(delay) {
        this.#chosenDelay = delay;
        // At once: smoothly, half a second would take eight.
        if (delay !== null) this.#delay.value = delay;
    }

    /** Delay of the shown time, seconds. */
    get delay() {
        return this.#delay.value ?? firstDelay;
    }

    /**
     * The tile of a source, made when there is none.
     * @param {string} name
     */
    tile(name) {
        const known = this.tiles.get(name);
        if (known) return known;
        const made = new LiveTile(name, {
            now: this.now,
            enlarge: (name) => this.enlarge(name),
            listen: (name) => this.listen(name),
        });
        if (this.#command) made.setCommand(this.#command);
        this.tiles.set(name, made);
        this.#seeing.observe(made.root);
        this.#sort();
        return made;
    }

    /**
     * Offers the commands of each source.
     * @param {(name: string) => void} command Opens them.
     */
    setCommand(command) {
        this.#command = command;
        for (const tile of this.tiles.values()) tile.setCommand(command);
    }

    /** @param {string} name */
    remove(name) {
        const gone = this.tiles.get(name);
        if (gone) this.#seeing.unobserve(gone.root);
        gone?.close();
        this.tiles.delete(name);
        this.#delays.delete(name);
        this.#common.remove(name);
        this.#begins.delete(name);
        if (this.large === name) this.large = undefined;
        if (this.#sound?.name === name) this.listen(name);
        this.layOut();
    }

    #sort() {
        const place = (/** @type {string} */ name) => {
            const index = this.#order.indexOf(name);
            return index < 0 ? this.#order.length : index;
        };
        const sorted = [...this.tiles.values()].sort((one, other) =>
            place(one.name) - place(other.name) || one.name.localeCompare(other.name, undefined, { numeric: true }));
        this.tiles = new Map(sorted.map((tile) => [tile.name, tile]));
        // Elements in their place are not moved, which would interrupt them.
        sorted.forEach((tile, index) => {
            if (this.root.children[index] !== tile.root) this.root.insertBefore(tile.root, this.root.children[index] ?? null);
        });
        this.layOut();
    }

    /** @param {import('./live-frames.js').Frame} frame */
    take(frame) {
        const { header } = frame;
        if (header.type === 'beat' || !header.source) return;
        if (header.type === 'begin') {
            if (header.session !== this.#session) this.#beginSession(header.session ?? '');
            this.#begins.set(header.source, { header, body: frame.body.slice() });
        }
        if (header.type === 'media') {
            const { atSeconds = 0, durationSeconds = 0, lagSeconds = 0 } = header;
            this.#clock.observe(atSeconds + durationSeconds + lagSeconds, performance.now() / 1000);
        }
        // The sound first: the picture's part changes the bytes.
        if (this.#sound?.name === header.source) this.#sound.take(frame);
        const source = this.#previews.get(header.source);
        const tile = source === undefined ? undefined : this.tiles.get(source);
        if (!tile) return this.tile(header.source).take(frame, 'main');
        // A preview may have been asked for by its name, too.
        this.tiles.get(header.source)?.take({ header, body: frame.body.slice() }, 'main');
        tile.take(frame, 'preview');
    }

    /**
     * The previews of the tiles' sources, by the status.
     * @param {import('./live-tile.js').SourceStatus[]} previews
     */
    setPreviews(previews) {
        this.#previews = new Map(previews.map(({ name, previewOf }) => [name, previewOf ?? '']));
        const byName = new Map(previews.map((status) => [status.previewOf, status]));
        for (const tile of this.tiles.values()) {
            tile.previewStatus = byName.get(tile.name);
            tile.renditions.setPreview(tile.previewStatus?.name, tile.previewStatus?.isConnected ?? false);
        }
        this.#choose();
    }

    /** The rendition that tiles with a preview show. */
    get quality() {
        return this.#quality;
    }

    set quality(quality) {
        this.#quality = quality;
        this.#choose();
    }

    /** Chooses what each tile shows, by its size on the screen. */
    #choose() {
        const names = this.pages.shown;
        /** @type {string[]} */
        const mains = [];
        for (const tile of this.tiles.values()) {
            const box = this.#boxes[names.indexOf(tile.name)];
            const canvas = tile.renditions.shown === 'preview' ? tile.pictureWidth : undefined;
            tile.renditions.target = !box || !tile.isSeen ? 'preview' : renditionFor(this.#quality, box.width * tile.zoom.scale, canvas);
            if (tile.renditions.needsMain || (tile.renditions.preview && this.#sound?.name === tile.name)) mains.push(tile.name);
        }
        const text = mains.sort().join(',');
        if (text === this.#mains) return;
        this.#mains = text;
        this.onmains(mains);
    }

    /**
     * Another session has another zero.
     * @param {string} session
     */
    #beginSession(session) {
        this.#session = session;
        this.#clock = new SessionClock();
        this.#delay = new SmoothDelay();
        this.#wanted = new RunningTime();
        this.#common = new CommonTime();
        this.#delays.clear();
    }

    /** The delay at which all tiles can be in step, without those that are much too late; without the sound. */
    get #slowest() {
        let most = null;
        let hasThrifty = false;
        for (const tile of this.tiles.values()) {
            if (!['live', 'waiting', 'recorded'].includes(tile.state)) continue;
            const { need, isReduced } = tile.follower;
            // Keyframes alone arrive irregularly, and are not waited for.
            if (isReduced) hasThrifty = true;
            else if (need !== null && need < latest + 0.5) most = Math.max(most ?? 0, need);
        }
        if (hasThrifty) most ??= firstDelay;
        return most;
    }

    /** The delay that the sound needs; null: none is heard, or not known. */
    get #soundNeed() {
        return this.#sound?.exists ? this.#sound.need : null;
    }

    #step() {
        const now = this.now();
        if (now === null) return;
        const seconds = performance.now() / 1000;
        // Sound cannot be hurried as much as pictures.
        const hurry = this.#sound ? undefined : hurried;
        const areAllPainted = [...this.tiles.values()].every(({ follower }) => follower instanceof Painter);
        const [pictures, sound] = [this.#slowest, this.#soundNeed];
        this.#delay.follow(this.chosenDelay ?? later(pictures, sound), seconds, hurry, growthOf(areAllPainted, pictures, sound));
        this.#wanted.set(now - this.delay, seconds, this.#delay.rate);
        for (const tile of this.tiles.values()) {
            let { delay } = this;
            let { rate } = this.#delay;
            if (this.mode === 'fastest') {
                const own = this.#delays.get(tile.name) ?? new SmoothDelay();
                this.#delays.set(tile.name, own);
                const { need } = tile.follower;
                const heard = this.#sound?.name === tile.name ? sound : null;
                own.follow(later(need, heard), seconds, hurry, growthOf(tile.follower instanceof Painter, need, heard));
                delay = own.value ?? firstDelay;
                rate = own.rate;
            }
            // Pictures with audible sound are shown in step with it.
            tile.hurry(this.mode === 'fastest' && !(this.#sound?.name === tile.name && this.#sound.exists));
            if (!tile.hindrance) tile.follower.step(now - delay, rate);
            tile.meter.step(now - delay);
            if (this.#sound?.name === tile.name) this.#sound.step(now - delay, rate);
        }
        this.#turnPages();
        this.onstep();
        if (seconds < this.#looked + looking) return;
        this.#looked = seconds;
        this.#spare(seconds);
    }

    /** Shows other tiles when it is time, and decodes them before. */
    #turnPages() {
        const { hasTurned, next } = this.pages.step(performance.now());
        for (const name of next) this.tiles.get(name)?.see(true);
        if (hasTurned) this.#turned();
    }

    /** @param {number} pages On, or back. */
    turn(pages) {
        this.pages.turn(pages, performance.now());
        this.#turned();
    }

    #turned() {
        this.large = undefined;
        for (const tile of this.tiles.values()) tile.enlarge.setAttribute('aria-pressed', 'false');
        this.layOut();
        this.onturn();
    }

    /**
     * Reduces the load if the computer cannot decode everything.
     * @param {number} seconds
     */
    #spare(seconds) {
        const tiles = [...this.tiles.values()];
        const strains = tiles.map((tile) => tile.strain());
        const before = this.#thrift.level;
        const level = this.#thrift.look(strains.flatMap((strain) => strain ?? []), seconds);
        const { focused } = this;
        let count = 0;
        tiles.forEach((tile, index) => {
            const isWatched = [focused, this.large, this.#sound?.name].includes(tile.name);
            tile.follower.isReduced = this.#thrift.isReduced(index, isWatched);
            if (tile.follower.isReduced) count += 1;
        });
        if (level !== before) this.onthrift(count);
    }

    draw() {
        for (const tile of this.tiles.values()) tile.draw();
        this.#choose();
    }

    /**
     * Pauses the tiles while the connection is not open.
     * @param {'open' | 'paused' | 'lost' | 'refused'} state
     */
    setConnection(state) {
        for (const tile of this.tiles.values()) {
            tile.hindrance = state === 'open' ? '' : state;
            if (state !== 'open') tile.pause();
        }
        this.draw();
    }

    /** @returns {Record<string, import('./main.js').SourceState>} */
    get states() {
        /** @type {Record<string, import('./main.js').SourceState>} */
        const states = {};
        for (const { name, at, bound, lag, state, renditions, collector } of this.tiles.values()) {
            const more = { ...(renditions.preview && { rendition: renditions.shown ?? 'main' }), ...(collector && { collector }) };
            states[name] = { at, bound, lag, state, ...more };
        }
        return states;
    }

    /** Lays out the tiles. */
    layOut() {
        const [width, height] = [this.root.clientWidth, this.root.clientHeight];
        if (!width || !height) return;
        const { count } = this.pages;
        this.pages.setNames([...this.tiles.keys()]);
        const names = this.pages.shown;
        for (const tile of this.tiles.values()) tile.root.hidden = !names.includes(tile.name);
        if (count !== this.pages.count) this.onturn();
        const large = this.large === undefined ? -1 : names.indexOf(this.large);
        const { boxes } = large < 0 ? grid(names.length, width, height) : spotlight(names.length, large, width, height);
        this.#boxes = boxes;
        names.forEach((name, index) => {
            const { style, classList } = /** @type {LiveTile} */ (this.tiles.get(name)).root;
            for (const [side, value] of Object.entries(boxes[index])) style.setProperty(side, `${value}px`);
            classList.toggle('small', boxes[index].width < 300);
            classList.toggle('tiny', boxes[index].width < 190);
        });
        this.#choose();
    }

    /**
     * Makes a tile large, or all the same again.
     * @param {string | undefined} name
     */
    enlarge(name) {
        this.large = name === this.large ? undefined : name;
        for (const tile of this.tiles.values()) {
            const isLarge = tile.name === this.large;
            tile.enlarge.setAttribute('aria-pressed', String(isLarge));
        }
        this.layOut();
    }

    /** The name of the tile that has the focus. */
    get focused() {
        for (const tile of this.tiles.values()) if (tile.root.contains(document.activeElement)) return tile.name;
        return undefined;
    }

    /** @param {string} key An arrow's. */
    moveFocus(key) {
        const names = this.pages.shown;
        const from = this.focused;
        const to = from === undefined ? names[0] : names[neighbour(this.#boxes, names.indexOf(from), key)];
        if (to !== undefined) this.tiles.get(to)?.enlarge.focus();
    }

    /**
     * Plays the sound of a source, or stops it.
     * @param {string} name
     * @returns {boolean} Whether it is playing now.
     */
    listen(name) {
        const before = this.#sound?.name;
        this.#sound?.close();
        this.#sound = before === name ? undefined : new LiveSound(name, this.now, this.#begins.get(name));
        if (this.#sound) this.tiles.get(name)?.root.append(this.#sound.media);
        for (const tile of this.tiles.values()) tile.showSound(tile.name === this.#sound?.name);
        this.#choose();
        return this.#sound !== undefined;
    }

    /** Whether the source that is heard has sound; undefined: none is heard, or only its preview has come. */
    get soundExists() {
        return this.#sound && this.#begins.has(this.#sound.name) ? this.#sound.exists : undefined;
    }
}

/**
 * The longer of the delays that are known.
 * @param {number | null} pictures
 * @param {number | null} sound
 */
const later = (pictures, sound) => (sound === null ? pictures : Math.max(pictures ?? 0, sound));
