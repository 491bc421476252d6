// @ts-check
// The live wall: `/live?sources=a,b`, or one that is saved: `/live?wall=ID`.

import { account, address, post, remove } from './api.js';
import { diskTroubles } from './disk-words.js';
import { element, setText } from './element.js';
import { listen } from './events.js';
import { wordsOf } from './form-dialog.js';
import { clock, counted } from './format.js';
import { showKeys, useKeys } from './keys.js';
import { openChoice } from './live-choice.js';
import { openCommands } from './live-commands.js';
import { LiveConnection } from './live-connection.js';
import { LiveToolbar } from './live-toolbar.js';
import { LiveWall } from './live-wall.js';
import { previewsOf } from './renditions.js';
import { zoomKeys } from './picture-zoom.js';
import { navigate } from './main.js';
import { titleNow } from './session-name.js';
import { say, setTitle } from './shell.js';

/** The collector's status is sent once a second; without it for this long, the collector is unreachable. Milliseconds. */
const patience = 5000;
/** Maximum wait for the first status, which states the sources that have previews. Milliseconds. */
const statusPatience = 1500;
/** Changes of tiles' sizes within this time change the received renditions once, milliseconds. */
const settling = 150;
/** Limit of names in an address; with more, everything is received. */
const mostNames = 256;

/** @type {import('./main.js').Open} */
export async function open(root, location) {
    setTitle('Live');
    const query = new URL(location.href).searchParams;
    const wall = query.get('wall') ? await savedWall(query.get('wall') ?? '') : undefined;
    const wanted = wall?.sources ?? query.get('sources')?.split(',').filter(Boolean);
    const page = new LivePage(root, wanted?.length ? wanted : undefined, wall);
    return {
        close: () => page.close(),
        state: () => page.state(),
        move: (location) => page.move(location),
    };
}

/** @param {string} id */
async function savedWall(id) {
    const { readWalls } = await import('./live-walls.js');
    const wall = (await readWalls()).find((one) => one.id === id);
    if (wall) setTitle(wall.name);
    else say('There is no such wall, or not any more: all sources are shown.');
    return wall;
}

class LivePage {
    #wanted;
    #saved;
    #wall;
    #toolbar;
    #message = element('div', { className: 'middle' });
    #trouble = element('p', { className: 'notice bad trouble', role: 'alert', hidden: true });
    /**
     * Previews, and sources that have none; from the first status on.
     * @type {LiveConnection | undefined}
     */
    #connection;
    /**
     * Sources with a preview whose own pictures are shown.
     * @type {LiveConnection | undefined}
     */
    #mains;
    #settling = 0;
    #waiting;
    #ends;
    /** @type {{ session?: string, sources: import('./live-tile.js').SourceStatus[], omittedSources: number, isReady: boolean, disk: import('./disk-words.js').Disk } | undefined} */
    #status;
    #statusAt = performance.now();
    /** Whether the connection for events is open, and since when that is so. */
    #events = { isOpen: false, since: performance.now() };
    /** @type {'open' | 'paused' | 'lost' | ''} */
    #line = '';
    #hasLostLine = false;
    #ended = '';
    #timer;
    /** @type {import('./keys.js').Key[]} */
    #keys;
    #dropKeys;
    #isClosed = false;

    /**
     * @param {HTMLElement} root
     * @param {string[] | undefined} wanted Undefined: all.
     * @param {import('./live-walls.js').Wall | undefined} saved
     */
    constructor(root, wanted, saved) {
        this.#wanted = wanted;
        this.#saved = saved;
        this.#wall = new LiveWall(wanted ?? [], saved?.tiles ?? null, saved?.turnSeconds ?? null);
        for (const name of wanted ?? []) this.#wall.tile(name);
        this.#wall.onstep = () => this.#toolbar.draw(this.#at, this.#wall.mode === 'step' ? this.#wall.delay : null, this.#zero);
        this.#wall.onthrift = (count) => say(count
            ? `This computer cannot decode everything: ${counted(count, 'tile shows', 'tiles show')} keyframes only.`
            : 'All tiles show every picture again.');
        this.#wall.onturn = () => this.#toolbar.showPages(this.#wall.pages);
        this.#wall.onmains = (names) => this.#receiveMains(names);
        this.#keys = this.#keyList();
        this.#toolbar = new LiveToolbar({
            setMode: (mode) => this.#setMode(mode),
            setDelay: (delay) => this.#setDelay(delay),
            setQuality: (quality) => this.#setQuality(quality),
            mark: () => void this.#mark(),
            choose: () => this.#choose(),
            walls: () => void this.#walls(),
            turn: (pages) => this.#wall.turn(pages),
            setTurning: (isTurning) => {
                this.#wall.pages.setTurning(isTurning, performance.now());
                this.#toolbar.showPages(this.#wall.pages);
            },
            fullScreen: () => this.#fullScreen(),
            keys: () => showKeys(this.#keys),
        });
        this.#toolbar.showPages(this.#wall.pages);
        root.append(element('h1', { className: 'unseen' }, saved?.name ?? 'Live'), this.#toolbar.root, this.#trouble,
            element('section', { className: 'stage', 'aria-label': 'Live pictures' }, this.#wall.root, this.#message));
        this.#waiting = setTimeout(() => this.#connect(this.#wanted), statusPatience);
        this.#dropKeys = useKeys(this.#keys);
        this.#ends = [
            () => this.#dropKeys(),
            listen('status', (status) => this.#takeStatus(status)),
            listen('connection', (isOpen) => { this.#events = { isOpen, since: performance.now() }; }),
            listen('gap', (gap) => this.#takeGap(gap)),
            listen('sessionEnded', ({ session }) => {
                this.#ended = session;
                say(`${titleNow(session)} has ended.`);
            }),
            listen('session', ({ session }) => {
                this.#ended = '';
                say(`${titleNow(session)} has begun.`);
            }),
        ];
        this.#timer = setInterval(() => this.#explain(), 500);
        void this.#askAccount();
    }

    close() {
        this.#isClosed = true;
        clearInterval(this.#timer);
        for (const end of this.#ends) end();
        clearTimeout(this.#waiting);
        clearTimeout(this.#settling);
        this.#connection?.close();
        this.#mains?.close();
        this.#wall.close();
    }

    /** @param {Location} location */
    move(location) {
        const query = new URL(location.href).searchParams;
        if ((query.get('wall') ?? undefined) !== this.#saved?.id) return false;
        return this.#saved !== undefined || (query.get('sources') ?? '') === (this.#wanted?.join(',') ?? '');
    }

    async #askAccount() {
        try {
            if ((await account()).role !== 'operator' || this.#isClosed) return;
        } catch {
            // The header shows the error.
            return;
        }
        this.#wall.setCommand(openCommands);
        this.#toolbar.mark.hidden = false;
        this.#keys.push({ keys: ['k'], text: 'Mark the instant that is shown', act: () => void this.#mark() });
        this.#keys.push({ keys: ['c'], text: 'Commands for the tile’s agent', act: () => {
            if (this.#wall.focused) openCommands(this.#wall.focused);
            else say('Choose a tile first, with the arrow keys.');
        } });
        this.#dropKeys();
        this.#dropKeys = useKeys(this.#keys);
    }

    /** @param {string[] | undefined} sources Undefined: all. */
    #connect(sources) {
        clearTimeout(this.#waiting);
        if (this.#isClosed) return;
        if (this.#connection) return this.#connection.change(sources);
        this.#connection = new LiveConnection(sources, {
            take: (frame) => this.#wall.take(frame),
            change: (state, text) => this.#changeLine(state, text),
        });
    }

    /** @param {string[]} names */
    #receiveMains(names) {
        clearTimeout(this.#settling);
        this.#settling = setTimeout(() => {
            if (names.length === 0) {
                this.#mains?.close();
                this.#mains = undefined;
            } else if (this.#mains) this.#mains.change(names);
            else this.#mains = new LiveConnection(names, { take: (frame) => this.#wall.take(frame), change: () => {} });
        }, settling);
    }

    /** The renditions that the tiles need: the preview of each source, or the source itself. Undefined: all. */
    get #received() {
        const previews = previewsOf(this.#status?.sources ?? []);
        const tiles = [...this.#wall.tiles.keys()];
        const isListed = !this.#status?.omittedSources && tiles.length <= mostNames;
        if (!isListed || !tiles.some((name) => previews.has(name))) return this.#wanted;
        return [...new Set(tiles.map((name) => previews.get(name) ?? name))].sort();
    }

    /** @param {import('./renditions.js').Quality} quality */
    #setQuality(quality) {
        this.#wall.quality = quality;
        this.#toolbar.showQuality(quality, true);
        say({ size: 'Pictures by size: large tiles show sources, small ones previews.', preview: 'Previews, also in large tiles.',
            main: 'Full size, also in small tiles.' }[quality]);
    }

    /**
     * @param {'open' | 'paused' | 'lost'} state
     * @param {string} text
     */
    #changeLine(state, text) {
        const before = this.#line;
        this.#line = state;
        setText(this.#toolbar.notice, text);
        if (state === 'lost' && before !== 'lost') {
            say(text);
            this.#hasLostLine = true;
        }
        if (state === 'open' && this.#hasLostLine) {
            say('The viewer answers again.');
            this.#hasLostLine = false;
        }
        this.#wall.setConnection(state);
    }

    /** @param {any} status */
    #takeStatus(status) {
        this.#status = status;
        this.#statusAt = performance.now();
        this.#tellTrouble(status);
        if (status.session && status.session !== this.#ended) this.#ended = '';
        for (const tile of this.#wall.tiles.values()) tile.isListed = false;
        /** @type {import('./live-tile.js').SourceStatus[]} */
        const sources = status.sources;
        const previews = sources.filter(({ previewOf }) => previewOf !== undefined);
        const seen = new Set(previews.flatMap(({ previewOf, isConnected }) => (isConnected ? [previewOf] : [])));
        for (const source of sources) {
            const isWanted = this.#wanted?.includes(source.name)
                ?? (source.previewOf === undefined && (source.isConnected || source.isRecorded || seen.has(source.name)));
            if (isWanted) this.#wall.tile(source.name);
            const tile = this.#wall.tiles.get(source.name);
            if (tile) [tile.status, tile.isListed] = [source, true];
        }
        for (const tile of this.#wall.tiles.values()) tile.hasCollectors = (status.collectors?.length ?? 0) > 1;
        if (status.omittedSources) for (const tile of this.#wall.tiles.values()) tile.isListed = true;
        this.#removeOthers(status);
        this.#wall.setPreviews(previews);
        this.#toolbar.showQuality(this.#wall.quality, previews.length > 0);
        this.#connect(this.#received);
    }

    /**
     * Another session has other sources.
     * @param {{ session?: string, sources: import('./live-tile.js').SourceStatus[], omittedSources: number }} status
     */
    #removeOthers({ session, sources, omittedSources }) {
        if (!session || this.#wanted) return;
        const names = new Set(sources.flatMap(({ name, previewOf }) => (previewOf === undefined ? [name] : [])));
        for (const name of [...this.#wall.tiles.keys()]) {
            if (!names.has(name) && !omittedSources) this.#wall.remove(name);
        }
    }

    /**
     * Shows why nothing is recorded, which live pictures do not reveal.
     * @param {{ isReady: boolean, disk: import('./disk-words.js').Disk }} status
     */
    #tellTrouble({ isReady, disk }) {
        const [trouble] = diskTroubles(disk);
        const text = trouble?.text ?? (isReady ? '' : 'The collector accepts no samples.');
        this.#trouble.hidden = text === '';
        if (this.#trouble.dataset.text === text) return;
        this.#trouble.dataset.text = text;
        this.#trouble.replaceChildren(...(text ? [text, ' ', element('a', { href: '/health' }, 'What to do')] : []));
    }

    /** @param {import('./live-missing.js').GapEvent} gap */
    #takeGap(gap) {
        if (gap.source) this.#wall.tiles.get(gap.source)?.takeGap(gap);
    }

    get #zero() {
        for (const tile of this.#wall.tiles.values()) if (tile.zero) return tile.zero;
        return undefined;
    }

    get #at() {
        return this.#wall.mode === 'step' ? this.#wall.at : this.#wall.now();
    }

    /** Shows in the middle why there are no pictures. */
    #explain() {
        const tiles = [...this.#wall.tiles.values()];
        const isEmpty = !tiles.some((tile) => tile.at !== null);
        // Without a connection for events, nothing is known of the collector.
        const hasStatus = !this.#events.isOpen || performance.now() - Math.max(this.#statusAt, this.#events.since) < patience;
        /** @type {(Node | string)[]} */
        let words = [];
        if (this.#line === 'lost') words = isEmpty ? [this.#toolbar.notice.textContent ?? ''] : [];
        else if (this.#ended) {
            words = [`${titleNow(this.#ended)} has ended. `,
                element('a', { href: `/sessions/${encodeURIComponent(this.#ended)}` }, 'Watch the recording'), ', or wait for the next one.'];
        } else if (!hasStatus && (isEmpty || this.#status)) {
            words = [`No contact with the collector since ${clock(new Date(Date.now() - (performance.now() - this.#statusAt)))}. `,
                element('a', { href: '/sessions' }, 'Recordings'), ' can be watched meanwhile.'];
        } else if (isEmpty && this.#status && !this.#status.session) {
            words = ['Nothing is being recorded. A session begins with the first sample of a source.'];
        } else if (isEmpty && tiles.length === 0) words = [this.#status ? 'No source is connected yet.' : 'Asking the viewer what there is…'];
        const text = words.map((word) => (typeof word === 'string' ? word : word.textContent)).join('');
        if (this.#message.textContent === text) return;
        this.#message.replaceChildren(...(text ? [element('p', {}, ...words)] : []));
    }

    /** @param {import('./live-wall.js').Mode} mode */
    #setMode(mode) {
        this.#wall.mode = mode;
        this.#toolbar.setMode(mode);
        say(mode === 'step' ? 'In step: every tile shows the same instant.' : 'Fastest: each tile as soon as it can.');
    }

    /** @param {number | null} delay */
    #setDelay(delay) {
        this.#wall.chosenDelay = delay;
        this.#toolbar.setDelay(delay);
        say(delay === null ? 'The delay follows the slowest source.' : `The delay is ${delay} s.`);
    }

    get #known() {
        const sources = this.#status?.sources.filter(({ previewOf }) => previewOf === undefined) ?? [];
        return [...new Set([...this.#wall.tiles.keys(), ...sources.map(({ name }) => name)])];
    }

    async #walls() {
        try {
            const { openWalls } = await import('./live-walls.js');
            await openWalls(this.#known, this.#saved);
        } catch (error) {
            say(wordsOf(error));
        }
    }

    #choose() {
        openChoice(this.#known, this.#wanted, (chosen) => {
            const query = chosen ? `?sources=${chosen.map(encodeURIComponent).join(',')}` : '';
            navigate(`/live${query}`);
        });
    }

    #fullScreen() {
        const stage = this.#wall.root.parentElement;
        const change = document.fullscreenElement ? document.exitFullscreen() : stage?.requestFullscreen?.();
        if (!change) return say('This browser has no full screen for pages.');
        change.catch((/** @type {Error} */ error) => say(`No full screen: ${error.message}`));
    }

    /** @param {number} direction */
    #changeDelay(direction) {
        if (this.#wall.mode === 'step') this.#setDelay(LiveToolbar.nextDelay(this.#wall.chosenDelay, direction));
    }

    #hear() {
        const name = this.#wall.focused ?? this.#wall.large;
        if (name === undefined) return say('Choose a tile first, with the arrow keys.');
        const isHeard = this.#wall.listen(name);
        if (isHeard && this.#wall.soundExists === false) say(`${name} has no sound.`);
        else say(isHeard ? `${name} is heard.` : 'Nothing is heard.');
    }

    /** Marks the shown instant: that of the tile with the focus, if there is one. */
    async #mark() {
        const { focused } = this.#wall;
        const tile = focused === undefined ? [...this.#wall.tiles.values()].find(({ session }) => session) : this.#wall.tiles.get(focused);
        const at = focused === undefined ? this.#at : (tile?.at ?? null);
        if (!tile?.session || at === null) return say('No picture has come yet that could be marked.');
        const { session, zero } = tile;
        try {
            const { mark } = await post('/api/v1/marks', { session, at: Number(at.toFixed(6)), text: '', ...(focused === undefined ? {} : { source: focused }) });
            const time = zero ? clock(new Date(zero.getTime() + at * 1000)) : '';
            say(`Marked ${focused ?? 'all sources'}${time && ` at ${time}`}.`, { text: 'Undo', act: async () => {
                try {
                    await remove(address`/api/v1/sessions/${session}/marks/${mark.id}`);
                    say('The mark is removed.');
                } catch (error) {
                    say(wordsOf(error));
                }
            } });
        } catch (error) {
            say(wordsOf(error));
        }
    }

    #toRecording() {
        const name = this.#wall.focused ?? this.#wall.large;
        if (name === undefined) return say('Choose a tile first, with the arrow keys.');
        const { recording } = /** @type {import('./live-tile.js').LiveTile} */ (this.#wall.tiles.get(name));
        if (recording.hidden) say(`No picture of ${name} has come yet.`);
        else navigate(recording.href);
    }

    /** @returns {import('./keys.js').Key[]} */
    #keyList() {
        const arrows = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];
        const wall = this.#wall;
        return [
            { keys: arrows, shown: '← → ↑ ↓', text: 'To the tile beside this one', act: (event) => wall.moveFocus(event.key) },
            { keys: [], shown: 'Enter', text: 'Make the tile large, or small again', act: () => {} },
            { keys: ['Escape'], shown: 'Esc', text: 'All tiles of one size', act: () => wall.enlarge(wall.large) },
            { keys: ['i'], text: 'In step, or fastest', act: () => this.#setMode(wall.mode === 'step' ? 'fastest' : 'step') },
            { keys: ['-'], shown: '−', text: 'Shorter delay', act: () => this.#changeDelay(-1) },
            { keys: ['+', '='], shown: '+', text: 'Longer delay', act: () => this.#changeDelay(1) },
            { keys: ['q'], text: 'Pictures by size, previews, or full size', act: () => this.#setQuality(LiveToolbar.nextQuality(wall.quality)) },
            { keys: ['m'], text: 'Hear the tile, or silence', act: () => this.#hear() },
            { keys: ['r'], text: 'Recording of the tile, at the instant that is shown', act: () => this.#toRecording() },
            { keys: ['w'], text: 'Walls that are saved', act: () => void this.#walls() },
            { keys: ['n'], text: 'Next tiles of a wall that has more', act: () => wall.turn(1) },
            { keys: ['p'], text: 'Tiles before', act: () => wall.turn(-1) },
            ...zoomKeys(() => {
                const name = wall.focused ?? wall.large;
                if (name === undefined) say('Choose a tile first, with the arrow keys.');
                return name === undefined ? undefined : wall.tiles.get(name)?.zoom;
            }),
            { keys: ['f'], text: 'Full screen', act: () => this.#fullScreen() },
        ];
    }

    /** @returns {import('./main.js').PageState} */
    state() {
        return { mode: this.#wall.mode, at: this.#at, rate: 1, sources: this.#wall.states };
    }
}
