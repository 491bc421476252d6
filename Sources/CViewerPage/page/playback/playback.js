// @ts-check
// `/sessions/NAME?at=83.5&sources=a,b`: a session's sources in step, with its timeline.

import { address, ApiError, get } from './api.js';
import { missingText } from './causes.js';
import { element, setText } from './element.js';
import { listen } from './events.js';
import { bytes, counted, duration, utc } from './format.js';
import { wordsOf } from './form-dialog.js';
import { showKeys, useKeys } from './keys.js';
import { parseTime, PlaybackAddress, sessionOf } from './playback-address.js';
import { PlaybackControls, speeds, speedText } from './playback-controls.js';
import { hasPictures, isGrowing, mainLanes, readCoverage } from './playback-coverage.js';
import { MarkPanel, markWords } from './playback-marks.js';
import { MissingPanel } from './playback-missing.js';
import { PlaybackPlayer } from './playback-player.js';
import { zoomKeys } from './picture-zoom.js';
import { previewsOf } from './renditions.js';
import { titleOf } from './session-name.js';
import { say, setTitle } from './shell.js';
import { Timeline } from './timeline.js';
import { gapWords } from './timeline-hover.js';

/** Number of sources that are shown if the address names none, and its limit. */
const usualSources = 9;
const mostSources = 16;
/** Newer pictures of the wall may not be recorded yet; seconds. */
const justNow = 20;
/** Polling intervals of coverage: while recording, and without a collector, which may return; milliseconds. */
const period = 3000;
const idlePeriod = 15_000;
/** Heights around the tiles, without the timeline, and of a caption; CSS pixels. */
const aroundTiles = 200;
const captionHeight = 36;
/** Jumps by shift and arrow, and by page up and down; seconds. */
const jump = 5;
const farJump = 60;

/**
 * @typedef {object} Overview
 * @property {string} session
 * @property {string} zero
 * @property {string} state
 * @property {boolean} isCollectorRunning
 * @property {string} [name]
 * @property {string[]} tags
 * @property {string} [note]
 * @property {{ name: string, previewOf?: string, formats: string[], sizeBytes: number }[]} sources
 */

/**
 * @param {HTMLElement} root
 * @param {Location} location
 */
export async function open(root, location) {
    const session = sessionOf(location);
    setTitle('Session');
    root.append(element('p', { className: 'empty' }, 'Reading the session…'));
    /** @type {[Overview, import('./playback-coverage.js').Lane[]]} */
    const [overview, lanes] = await Promise.all([get(address`/api/v1/sessions/${session}`), readCoverage(session)]);
    // The address may have `latest` instead of the name.
    root.replaceChildren();
    return new PlaybackPage(root, location, overview, lanes);
}

class PlaybackPage {
    /**
     * @param {HTMLElement} root
     * @param {Location} location
     * @param {Overview} overview
     * @param {import('./playback-coverage.js').Lane[]} lanes
     */
    constructor(root, location, overview, lanes) {
        this.overview = overview;
        const { session } = overview;
        const zero = Date.parse(overview.zero);
        this.address = new PlaybackAddress(session);
        this.player = new PlaybackPlayer(session, zero, lanes);
        this.timeline = new Timeline(session, zero, (time) => this.player.seek(time));
        this.controls = new PlaybackControls(this.#actions(), zero);
        this.keys = this.#keyList();
        this.dropKeys = useKeys(this.keys);
        this.tiles = element('div', { className: 'tiles' });
        this.title = element('h1', {});
        this.facts = element('p', { className: 'facts muted' });
        this.live = element('a', { className: 'button', href: '/live', hidden: true }, 'Go live');
        this.notice = element('p', { className: 'notice bad', role: 'alert', hidden: true });
        /** @type {import('./export.js').ExportPanel | undefined} */
        this.exports = undefined;
        this.isClosed = false;
        const exportSpot = element('section', { className: 'card export', 'aria-label': 'Export' }, element('h2', {}, 'Export'));
        this.missing = new MissingPanel(session, (time) => this.player.seek(time));
        this.marks = new MarkPanel(session, (time) => this.player.seek(time), () => {
            this.timeline.marks = this.marks.marks;
            this.timeline.redraw();
        });
        root.append(
            element('div', { className: 'heading' },
                element('a', { href: '/sessions', className: 'up' }, 'Sessions'), this.title, this.facts,
                element('div', { className: 'end' }, this.live, this.controls.more)),
            this.notice, this.tiles, this.controls.element, this.timeline.element,
            element('div', { className: 'below' }, exportSpot, this.missing.element, this.marks.element), this.player.sound.audio);
        this.describedAt = NaN;
        this.heldAddress = '';
        /** A request for coverage is running. */
        this.isReading = false;
        /** Time of the last request, milliseconds. */
        this.readAt = performance.now();
        /** Segments whose pictures are known. */
        this.read = 0;
        this.#takeAddress(location, true);
        this.#showOverview();
        this.timeline.setLanes(mainLanes(lanes));
        if (new URLSearchParams(location.search).has('at')) this.timeline.showAround(this.player.clock.now);
        this.timeline.samples = (name) => this.player.indices.has(name)
            ? this.player.tiles.find((tile) => tile.name === name)?.media.samples : undefined;
        this.player.changed = () => this.#show();
        this.arranging = new ResizeObserver(() => this.#arrange());
        this.arranging.observe(document.documentElement);
        this.describing = setInterval(() => this.#describe(), 500);
        this.growing = setInterval(() => void this.#grow(), period);
        this.stopListening = ['session', 'sessionChanged', 'sessionEnded', 'lost'].map((name) => listen(name, (event) => {
            if (event.session && event.session !== session) return;
            void this.#grow(true);
            void this.marks.read();
        }));
        this.stopListening.push(listen('sessionRemoved', (event) => {
            if (event.session === session) this.#tellRemoved();
        }));
        this.player.beat();
        void this.#openExports(exportSpot);
    }

    /**
     * Loads the panel when the pictures are on their way.
     * @param {HTMLElement} spot Is replaced by it.
     */
    async #openExports(spot) {
        try {
            const { ExportPanel } = await import('./export.js');
            if (this.isClosed) return;
            const { player } = this;
            this.exports = new ExportPanel(this.overview.session, () => ({
                sources: player.tiles.map((tile) => tile.name), reference: player.reference?.name ?? '',
                at: player.clock.now, markIn: player.markIn, markOut: player.markOut, extent: player.extent,
                sizes: new Map(this.overview.sources.map(({ name, sizeBytes }) => [name, sizeBytes])),
            }));
            spot.replaceWith(this.exports.element);
        } catch (error) {
            say(wordsOf(error));
        }
    }

    close() {
        this.arranging.disconnect();
        clearInterval(this.describing);
        clearInterval(this.growing);
        for (const stop of this.stopListening) stop();
        this.player.close();
        this.timeline.close();
        this.dropKeys();
        this.isClosed = true;
        this.exports?.close();
        this.missing.close();
        this.address.close();
    }

    state() {
        return this.player.state();
    }

    /**
     * Navigates between times of the same session.
     * @param {Location} location
     */
    move(location) {
        if (sessionOf(location) !== this.overview.session) return false;
        this.#takeAddress(location, false);
        return true;
    }

    /**
     * @param {Location} location
     * @param {boolean} isFirst
     */
    #takeAddress(location, isFirst) {
        const query = new URLSearchParams(location.search);
        const { player } = this;
        const known = player.lanes.map((lane) => lane.source);
        const named = query.get('sources')?.split(',').filter((name) => known.includes(name)) ?? [];
        const absent = query.get('sources')?.split(',').filter((name) => name && !known.includes(name)) ?? [];
        if (absent.length > 0) say(`No source ${absent.join(', ')} in this session.`);
        this.named = named.length > 0 ? named.slice(0, mostSources) : null;
        player.markIn = parseTime(query.get('in'), player.zero);
        player.markOut = parseTime(query.get('out'), player.zero);
        const at = parseTime(query.get('at'), player.zero);
        // During playback, the clock waits for the pictures at the new time.
        player.isRecording = this.overview.isCollectorRunning && this.overview.state !== 'finished';
        this.#setSources(this.named ?? known.slice(0, usualSources));
        if (at === null) {
            if (isFirst && player.isRecording) player.open(player.extent.end, true);
            else if (isFirst) player.toBeginning();
        } else if (isFirst && player.isRecording && at > player.extent.end - justNow) {
            player.open(at, true);
        } else {
            player.seek(at);
        }
        this.#marksChanged();
    }

    /** @param {string[]} names */
    #setSources(names) {
        const { player, tiles } = this;
        player.setSources(names);
        tiles.dataset.count = String(names.length);
        tiles.replaceChildren(...player.tiles.map((tile) => tile.element));
        for (const tile of player.tiles) {
            tile.choice.onclick = () => this.#setReference(tile.name);
            tile.screen.ondblclick = () => void enlarge(tile.element);
        }
        this.timeline.setNames(names);
        this.#arrange();
        tiles.style.setProperty('--timeline', `${this.timeline.height}px`);
        this.controls.setSources(names, player.soundOf);
        this.#setReference(names.includes(player.referenceName) ? player.referenceName : (names[0] ?? ''));
    }

    /** The number of columns with the largest pictures. */
    #arrange() {
        const count = Math.max(1, this.player.tiles.length);
        const [width, height] = [innerWidth - 28, innerHeight - aroundTiles - this.timeline.height];
        const worth = (/** @type {number} */ columns) => {
            const rows = Math.ceil(count / columns);
            // Empty cells count a little against a layout.
            return Math.min(width / columns, ((height / rows - captionHeight) * 16) / 9) * (count / (rows * columns)) ** 0.2;
        };
        let columns = Math.ceil(Math.sqrt(count));
        for (let other = 1; other <= count; other += 1) {
            if (worth(other) > worth(columns)) columns = other;
        }
        this.tiles.style.setProperty('--columns', String(columns));
        this.tiles.style.setProperty('--rows', String(Math.ceil(count / columns)));
    }

    /** @param {string} name */
    #setReference(name) {
        this.player.referenceName = name;
        this.timeline.reference = name;
        this.timeline.redraw();
        for (const tile of this.player.tiles) tile.choice.setAttribute('aria-pressed', String(tile.name === name));
        this.#tellPart();
    }

    /** The selected part, the sources, or their coverage have changed. */
    #tellPart() {
        const { shownLanes: lanes, markIn, markOut, extent } = this.player;
        this.exports?.update();
        this.missing.update({ lanes, markIn, markOut, extent });
    }

    #showOverview() {
        const { overview } = this;
        const title = titleOf(overview);
        setText(this.title, title);
        this.title.title = utc(new Date(overview.zero));
        setTitle(title);
        this.timeline.hover.previews = previewsOf(overview.sources);
        this.player.soundOnly = this.timeline.hover.soundOnly = overview.sources.filter((source) => !hasPictures(source)).map(({ name }) => name);
        const { start, end } = this.player.extent;
        const size = overview.sources.reduce((sum, source) => sum + source.sizeBytes, 0);
        const missing = missingText(this.player.lanes.flatMap((lane) => [...lane.missing, ...lane.unplaced]));
        this.player.isRecording = overview.isCollectorRunning && overview.state !== 'finished';
        this.live.hidden = !this.player.isRecording;
        this.live.href = `/live${this.named ? `?sources=${this.named.map(encodeURIComponent).join(',')}` : ''}`;
        setText(this.facts, [duration(end - start), counted(overview.sources.filter(({ previewOf }) => previewOf === undefined).length, 'source'), bytes(size),
            missing, ...(this.player.lanes.some(({ held }) => held?.length) ? ['more held elsewhere'] : []),
            ...(this.player.isRecording ? ['recording now'] : []), ...overview.tags].join(' · '));
        // The session's ID, for the command line.
        this.facts.title = overview.session;
    }

    /** Everything that follows the clock. */
    #show() {
        const { player, timeline, controls } = this;
        const { now } = player.clock;
        timeline.setPlace(now, true);
        const read = player.tiles.reduce((sum, tile) => sum + tile.media.samples.known.size, 0);
        if (read !== this.read) timeline.redraw();
        this.read = read;
        controls.update(player);
        const place = `${now} ${this.named} ${player.markIn} ${player.markOut}`;
        if (place !== this.heldAddress) {
            this.heldAddress = place;
            this.address.hold({ at: now, sources: this.named ?? null, markIn: player.markIn, markOut: player.markOut });
        }
    }

    #describe() {
        const { now } = this.player.clock;
        if (now === this.describedAt) return;
        this.describedAt = now;
        this.timeline.describe();
    }

    /**
     * Reads the session again: less often without a collector, until it is finished.
     * @param {boolean} [isSure] An event has reported a change.
     */
    async #grow(isSure = false) {
        const { player } = this;
        const isIdle = !isSure && !player.isRecording && !isGrowing(player.lanes);
        if (this.isReading || (isIdle && (this.overview.state === 'finished' || performance.now() < this.readAt + idlePeriod))) return;
        this.isReading = true;
        this.readAt = performance.now();
        try {
            const [overview, lanes] = await Promise.all([
                get(address`/api/v1/sessions/${this.overview.session}`), readCoverage(this.overview.session)]);
            this.overview = overview;
            player.setLanes(lanes);
            this.timeline.setLanes(mainLanes(lanes));
            this.#showOverview();
            this.#tellPart();
        } catch (error) {
            if (error instanceof ApiError && error.status === 404) this.#tellRemoved();
            else if (error instanceof ApiError) say(error.text);
        }
        this.isReading = false;
    }

    #tellRemoved() {
        setText(this.notice, 'This session has been removed. Only pictures that this page has read before can still be shown.');
        this.notice.hidden = false;
        clearInterval(this.growing);
    }

    #marksChanged() {
        const { player, timeline } = this;
        timeline.markIn = player.markIn;
        timeline.markOut = player.markOut;
        if (player.markIn === null || player.markOut === null) player.isLooping = false;
        timeline.redraw();
        this.#tellPart();
        player.beat();
    }

    /** @returns {import('./playback-controls.js').Actions} */
    #actions() {
        return {
            toggle: () => this.player.play(!this.player.clock.isPlaying),
            step: (direction) => void this.player.step(direction),
            gap: (direction) => {
                const found = this.player.toGap(direction);
                say(found ? `${found.source}: ${gapWords(found.gap)}` : direction > 0 ? 'No gap after this.' : 'No gap before this.');
            },
            mark: (direction) => {
                const found = this.marks.next(this.player.clock.now, direction);
                if (!found) return say(direction > 0 ? 'No mark after this.' : 'No mark before this.');
                this.player.play(false);
                this.player.seek(found.atSeconds);
                say(markWords(found));
            },
            rate: (rate) => this.player.setRate(rate),
            seek: (time) => this.player.seek(time),
            sound: (name) => this.player.setSound(name),
            markIn: () => {
                this.player.markIn = this.player.clock.now;
                this.#marksChanged();
            },
            markOut: () => {
                this.player.markOut = this.player.clock.now;
                this.#marksChanged();
            },
            clearMarks: () => {
                this.player.markIn = null;
                this.player.markOut = null;
                this.#marksChanged();
            },
            loop: () => {
                const { player } = this;
                if (player.markIn === null || player.markOut === null) return say('Set an in and an out point first (keys I and O).');
                player.isLooping = !player.isLooping;
                if (player.isLooping) player.play(true);
                player.beat();
            },
            zoom: (factor) => this.timeline.zoom(factor),
            showAll: () => this.timeline.showAll(),
            keys: () => showKeys(this.keys),
            choose: () => void this.#choose(),
        };
    }

    /** Loads the dialog of the sources, and opens it. */
    async #choose() {
        try {
            const { chooseSources } = await import('./playback-choice.js');
            if (this.isClosed) return;
            chooseSources(this.player.lanes, this.player.tiles.map((tile) => tile.name), mostSources, (names) => {
                this.named = names;
                this.#setSources(names);
                this.player.beat();
            });
        } catch (error) {
            say(wordsOf(error));
        }
    }

    /**
     * J and L: backwards and on, faster each time.
     * @param {1 | -1} direction
     */
    #shuttle(direction) {
        const { player } = this;
        const { clock } = player;
        const list = speeds.filter((rate) => rate * direction >= 1).sort((one, other) => Math.abs(one) - Math.abs(other));
        const isSame = clock.isPlaying && clock.rate * direction > 0;
        const rate = isSame ? (list.find((rate) => Math.abs(rate) > Math.abs(clock.rate)) ?? list[list.length - 1]) : list[0];
        player.setRate(rate);
        player.play(true);
        say(speedText(rate));
    }

    /**
     * @param {number | null} mark
     * @param {string} name
     */
    #toMark(mark, name) {
        if (mark === null) say(`There is no ${name} point yet: key ${name[0].toUpperCase()} sets it.`);
        else this.player.seek(mark);
    }

    /** @returns {import('./keys.js').Key[]} */
    #keyList() {
        const actions = this.#actions();
        const jumpBy = (/** @type {number} */ seconds) => this.player.seek(this.player.clock.now + seconds);
        return [
            { keys: [' ', 'k'], shown: 'Space K', text: 'Play, pause', act: () => {
                if (this.player.clock.rate < 0 && !this.player.clock.isPlaying) this.player.setRate(1);
                actions.toggle();
            } },
            { keys: ['l'], shown: 'L', text: 'Play on; again: faster', act: () => this.#shuttle(1) },
            { keys: ['j'], shown: 'J', text: 'Play backwards; again: faster', act: () => this.#shuttle(-1) },
            { keys: ['ArrowRight'], shown: '→', text: 'One picture on', act: () => actions.step(1) },
            { keys: ['ArrowLeft'], shown: '←', text: 'One picture back', act: () => actions.step(-1) },
            { keys: ['Shift+ArrowRight'], shown: 'Shift →', text: `${jump} seconds on`, act: () => jumpBy(jump) },
            { keys: ['Shift+ArrowLeft'], shown: 'Shift ←', text: `${jump} seconds back`, act: () => jumpBy(-jump) },
            { keys: ['PageUp'], shown: 'PageUp', text: 'A minute on', act: () => jumpBy(farJump) },
            { keys: ['PageDown'], shown: 'PageDown', text: 'A minute back', act: () => jumpBy(-farJump) },
            { keys: [...'123456789'], shown: '1–9', text: 'To that tenth of the session', act: ({ key }) => {
                const { start, end } = this.player.extent;
                this.player.seek(start + ((end - start) * Number(key)) / 10);
            } },
            { keys: ['Home', '0'], shown: 'Home 0', text: 'To the beginning', act: () => this.player.toBeginning() },
            { keys: ['End'], shown: 'End', text: 'To the end', act: () => this.player.seek(Infinity) },
            { keys: ['g'], shown: 'G', text: 'To the next gap', act: () => actions.gap(1) },
            { keys: ['G'], shown: 'Shift G', text: 'To the previous gap', act: () => actions.gap(-1) },
            { keys: ['n'], shown: 'N', text: 'To the next mark', act: () => actions.mark(1) },
            { keys: ['N'], shown: 'Shift N', text: 'To the previous mark', act: () => actions.mark(-1) },
            { keys: ['m'], shown: 'M', text: 'Mark the picture that is shown', act: () => {
                this.player.play(false);
                this.marks.add(this.player.clock.now);
            } },
            { keys: ['i'], shown: 'I', text: 'In point here', act: () => actions.markIn() },
            { keys: ['o'], shown: 'O', text: 'Out point here', act: () => actions.markOut() },
            { keys: ['I'], shown: 'Shift I', text: 'To the in point', act: () => this.#toMark(this.player.markIn, 'in') },
            { keys: ['O'], shown: 'Shift O', text: 'To the out point', act: () => this.#toMark(this.player.markOut, 'out') },
            { keys: ['p'], shown: 'P', text: 'Loop between in and out', act: () => actions.loop() },
            { keys: ['+', '='], shown: '+', text: 'Zoom in on the timeline', act: () => actions.zoom(0.5) },
            { keys: ['-', '−'], shown: '−', text: 'Zoom out of the timeline', act: () => actions.zoom(2) },
            { keys: ['a'], shown: 'A', text: 'The whole timeline', act: () => actions.showAll() },
            ...zoomKeys(() => (this.player.tiles.find(({ element }) => element.contains(document.activeElement)) ?? this.player.reference)?.zoom),
            { keys: ['f'], shown: 'F', text: 'All pictures on the full screen', act: () => void enlarge(this.tiles) },
        ];
    }
}

/**
 * Toggles full screen of an element.
 * @param {HTMLElement} element
 */
async function enlarge(element) {
    try {
        if (document.fullscreenElement) await document.exitFullscreen();
        else await element.requestFullscreen();
    } catch {
        say('This browser does not allow the full screen here.');
    }
}
