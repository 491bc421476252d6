// @ts-check
// Exports of a recording: a clip between the in and out points, a still picture, a link.

import { account, address, ApiError, get, post, remove, request } from './api.js';
import { button, element, setText } from './element.js';
import { listen } from './events.js';
import { bytes, duration, sessionTime } from './format.js';
import { timeText } from './playback-address.js';
import { say } from './shell.js';

/**
 * @typedef {object} Job
 * @property {string} id
 * @property {string} session
 * @property {string[]} sources
 * @property {'passthrough' | 'grid' | 'files'} layout
 * @property {boolean} burnsTime
 * @property {number} [fromSeconds] Session time; missing: from the beginning.
 * @property {number} [untilSeconds] Missing: to the end.
 * @property {'waiting' | 'running' | 'done' | 'failed' | 'cancelled'} state
 * @property {number} fraction
 * @property {number} sizeBytes
 * @property {string} [failure]
 * @property {string} [file]
 */

/** Polling interval of jobs, in case no event comes, milliseconds. */
const period = 2000;
/** Requests wait until the points have not moved for this long, milliseconds. */
const settle = 500;
/** Exact sizes need all fragment headers: for a longer clip, the size is estimated from the sources' rates. Seconds. */
const longestExact = 3600;
/** How long a link works, seconds. */
const lifetimes = [[3600, 'an hour'], [86400, 'a day'], [604800, 'a week'], [2592000, '30 days']];

export class ExportPanel {
    /**
     * @param {string} session
     * @param {() => { sources: string[], reference: string, at: number, markIn: number | null, markOut: number | null, extent: { start: number, end: number }, sizes: Map<string, number> }} place
     */
    constructor(session, place) {
        this.session = session;
        this.place = place;
        /** @type {Map<string, Job>} */
        this.jobs = new Map();
        /** Jobs that were cancelled or removed here: events report them once more. */
        this.ended = new Set();
        /** @type {Map<string, { row: HTMLElement, update: (job: Job) => void }>} */
        this.rows = new Map();
        this.isPolling = false;
        /** Sources and part whose files are listed. */
        this.listed = '';
        /** The last listed choices. */
        this.choices = '';
        this.range = element('p', { className: 'range' });
        this.what = element('select', { 'aria-label': 'What is exported', onchange: () => this.#tellSize() });
        this.burns = element('input', { type: 'checkbox', onchange: () => this.#tellSize() });
        this.size = element('p', { className: 'size muted', role: 'status' });
        this.sizing = 0;
        /** The clip whose size is shown. */
        this.sized = '';
        this.lifetime = element('select', { 'aria-label': 'How long the link works' },
            ...lifetimes.map(([seconds, text]) => element('option', { value: String(seconds), selected: seconds === 604800 }, `for ${text}`)));
        this.start = button('Export', () => void this.#start(), { className: 'main' });
        /** @type {HTMLInputElement} */
        this.link = element('input', { readOnly: true, hidden: true, 'aria-label': 'Link to the clip', onfocus: () => this.link.select() });
        this.list = element('ul', { className: 'jobs', 'aria-label': 'Exports' });
        this.wrong = element('p', { className: 'wrong', role: 'alert' });
        this.linking = element('p', { className: 'linking' },
            button('Copy a link to the clip', () => void this.#link()), this.works = element('span', {}, 'that works'), this.lifetime);
        this.hasAccounts = true;
        this.element = element('section', { className: 'card export', 'aria-label': 'Export' },
            element('h2', {}, 'Export'), this.range,
            element('p', { className: 'start' }, this.what, this.start, this.listing = button('List the files', () => void this.#listFiles())),
            element('p', { className: 'burn' }, element('label', {}, this.burns, 'The time burnt in (UTC; encoded again)')), this.size,
            this.files = element('ul', { className: 'files', 'aria-label': 'A file for each source', hidden: true }),
            element('p', {}, button('Save this picture', () => this.#still()), ' ', this.sourceText = element('span', { className: 'muted' })),
            this.linking, this.link, this.wrong, this.list);
        this.stopListening = listen('job', (job) => this.#take(job));
        this.timer = setInterval(() => void this.#poll(), period);
        void this.#poll(true);
        account().then((known) => {
            this.linking.hidden = known.needsLogIn && !known.name;
            this.hasAccounts = known.needsLogIn;
            // Without accounts, a link is an address without a signature, and does not expire.
            this.lifetime.hidden = !known.needsLogIn;
            this.works.hidden = !known.needsLogIn;
        }, () => {});
        this.update();
    }

    close() {
        this.stopListening();
        clearInterval(this.timer);
        clearTimeout(this.sizing);
    }

    /** The points or the sources have changed. */
    update() {
        const { sources, reference, markIn, markOut, extent } = this.place();
        const [from, until] = [markIn ?? extent.start, markOut ?? extent.end];
        const isWhole = markIn === null && markOut === null;
        setText(this.range, until <= from ? 'The out point has to be later than the in point.'
            : isWhole ? 'The whole session. Set an in and an out point (keys I and O) for a part of it.'
                : `From ${sessionTime(from)} to ${sessionTime(until)}: ${(until - from).toFixed(3)} s.`);
        this.start.disabled = until <= from || sources.length === 0;
        const wanted = [...sources.map((name) => [`passthrough ${name}`, `${name}, as it was recorded`]),
            ...(sources.length > 1 ? [['files', `All ${sources.length}, a file each (ZIP)`], ['grid', `All ${sources.length} side by side (encoded again)`]] : [])];
        const text = wanted.flat().join('\n');
        if (text !== this.choices) {
            this.choices = text;
            const chosen = this.what.value || `passthrough ${reference}`;
            this.what.replaceChildren(...wanted.map(([value, text]) => element('option', { value, selected: value === chosen }, text)));
        }
        this.listing.disabled = this.start.disabled;
        // The list of files is for one range and set of sources: it is hidden when they change.
        const part = `${sources} ${markIn} ${markOut}`;
        if (part !== this.listed) this.files.hidden = true;
        this.listed = part;
        this.#tellSize();
        setText(this.sourceText, reference ? `of ${reference}, in full size` : '');
    }

    /** @returns {{ source: string, from: string | undefined, until: string | undefined }} */
    #clip() {
        const { sources, reference, markIn, markOut } = this.place();
        const [layout, name] = this.what.value.split(' ');
        return {
            source: layout === 'passthrough' ? name : (reference || sources[0]),
            from: markIn === null ? undefined : timeText(markIn),
            until: markOut === null ? undefined : timeText(markOut),
        };
    }

    /** Times, as addresses have them. */
    #part() {
        const { markIn, markOut } = this.place();
        return [markIn !== null && `from=${timeText(markIn)}`, markOut !== null && `until=${timeText(markOut)}`].filter(Boolean);
    }

    /** The names of the exported sources. */
    get #wanted() {
        const [layout, name] = this.what.value.split(' ');
        return layout === 'passthrough' ? [name] : this.place().sources;
    }

    /** Shows the expected size. */
    #tellSize() {
        const { markIn, markOut, extent, sizes } = this.place();
        const isGrid = this.what.value === 'grid';
        this.burns.disabled = isGrid;
        const isEncoded = isGrid || this.burns.checked;
        const key = `${this.what.value} ${this.#wanted} ${markIn} ${markOut} ${isEncoded} ${isGrid}`;
        const length = (markOut ?? extent.end) - (markIn ?? extent.start);
        const isExact = !isEncoded && length <= longestExact && (markIn !== null || markOut !== null);
        if (isExact && key === this.sized) return;
        this.sized = key;
        clearTimeout(this.sizing);
        if (this.start.disabled) return setText(this.size, '');
        const part = Math.max(0, Math.min(1, length / Math.max(0.001, extent.end - extent.start)));
        const about = bytes(this.#wanted.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0) * part);
        setText(this.size, isEncoded ? `About ${about} as recorded; encoded again, its size is known when it is done.` : `About ${about}.`);
        if (isExact) this.sizing = setTimeout(() => void this.#readSize(key), settle);
    }

    /** @param {string} key The clip whose size is read. */
    async #readSize(key) {
        try {
            const response = await request(this.#path(), { method: 'HEAD' });
            if (key === this.sized) setText(this.size, `${bytes(Number(response.headers.get('Content-Length')))}.`);
        } catch (error) {
            if (key === this.sized) setText(this.size, error instanceof ApiError && [404, 410].includes(error.status) ? 'Nothing of it is recorded in this part.' : '');
        }
    }

    /** URL of a clip without transcoding. */
    #path() {
        const wanted = this.#wanted;
        if (this.what.value === 'files') {
            const query = [`sources=${wanted.map(encodeURIComponent).join(',')}`, ...this.#part()].join('&');
            return `${address`/api/v1/sessions/${this.session}/media.zip`}?${query}`;
        }
        return `${address`/api/v1/sessions/${this.session}/sources/${wanted[0]}/media.mp4`}?${['download=yes', ...this.#part()].join('&')}`;
    }

    /** @param {() => Promise<void>} act */
    async #try(act) {
        setText(this.wrong, '');
        try {
            await act();
        } catch (error) {
            setText(this.wrong, error instanceof ApiError ? error.text : String(error));
        }
    }

    async #start() {
        const { from, until } = this.#clip();
        const [layout] = this.what.value.split(' ');
        const burnsTime = this.burns.checked && layout !== 'grid';
        this.start.disabled = true;
        await this.#try(async () => {
            if (layout === 'files' && !burnsTime) {
                // The file is generated during the download: errors are reported before it starts.
                const response = await request(this.#path(), { method: 'HEAD' });
                element('a', { href: this.#path(), download: '' }).click();
                return say(`The download of ${bytes(Number(response.headers.get('Content-Length')))} begins.`);
            }
            this.#take(await post('/api/v1/exports', { session: this.session, sources: this.#wanted, from, until, layout, burnsTime }));
            say('The export has been asked for.');
        });
        this.update();
    }

    /** A file for each source, byte for byte as it was recorded, with its exact size before it is fetched. */
    async #listFiles() {
        const { sources } = this.place();
        const query = [...this.#part(), 'download=yes'].join('&');
        this.files.hidden = false;
        this.files.replaceChildren(...sources.map((name) => {
            const path = `${address`/api/v1/sessions/${this.session}/sources/${name}/media.mp4`}?${query}`;
            const line = element('li', {}, `${name}: …`);
            request(path, { method: 'HEAD' }).then((response) => {
                const size = bytes(Number(response.headers.get('Content-Length')));
                line.replaceChildren(element('a', { href: path, download: '' }, name), ` ${size}`);
            }, () => setText(line, `${name}: nothing of it is recorded in this part.`));
            return line;
        }));
    }

    #still() {
        const { reference, at } = this.place();
        const path = `${address`/api/v1/sessions/${this.session}/sources/${reference}/picture.jpg`}?at=${timeText(at)}`;
        const file = `${this.session}_${reference}_${at.toFixed(3)}.jpg`;
        void this.#try(async () => {
            const url = URL.createObjectURL(await get(path));
            element('a', { href: url, download: file }).click();
            setTimeout(() => URL.revokeObjectURL(url), 60_000);
            say(`The picture is saved as ${file}.`);
        });
    }

    async #link() {
        const { source, from, until } = this.#clip();
        const query = [from && `from=${from}`, until && `until=${until}`].filter(Boolean).join('&');
        const path = address`/api/v1/sessions/${this.session}/sources/${source}/media.mp4` + (query ? `?${query}` : '');
        await this.#try(async () => {
            const answer = this.hasAccounts ? await post('/api/v1/links', { address: path, seconds: Number(this.lifetime.value) }) : { address: path };
            const url = new URL(answer.address, location.href).href;
            this.link.value = url;
            this.link.hidden = false;
            const who = this.hasAccounts ? `Everybody who has it can open this clip of ${source}, ${this.lifetime.selectedOptions[0].text}.`
                : 'This viewer has no accounts: the link opens for everybody who reaches it, and for nobody else.';
            try {
                await navigator.clipboard.writeText(url);
                say(`The link is copied. ${who}`);
            } catch {
                this.link.select();
                say(`Copy the link from the field. ${who}`);
            }
        });
    }

    /** @param {boolean} [isFirst] */
    async #poll(isFirst = false) {
        const isBusy = [...this.jobs.values()].some(({ state }) => state === 'waiting' || state === 'running');
        if ((!isBusy && !isFirst) || this.isPolling) return;
        this.isPolling = true;
        try {
            for (const job of await get('/api/v1/exports')) this.#take(job);
        } catch {
            // The next time.
        }
        this.isPolling = false;
    }

    /** @param {Job} job */
    #take(job) {
        if (job.session !== this.session || this.ended.has(job.id)) return;
        const before = this.jobs.get(job.id)?.state;
        this.jobs.set(job.id, job);
        let row = this.rows.get(job.id);
        if (!row) {
            row = makeRow(job, () => void this.#end(job.id));
            this.rows.set(job.id, row);
            this.list.prepend(row.row);
        }
        row.update(job);
        if (before && before !== job.state && job.state === 'done') say('The export is ready.');
        if (before && before !== job.state && job.state === 'failed') say(`The export failed: ${job.failure ?? 'no reason was given'}`);
    }

    /** @param {string} id */
    async #end(id) {
        await this.#try(async () => {
            await remove(address`/api/v1/exports/${id}`);
            this.ended.add(id);
            this.rows.get(id)?.row.remove();
            this.rows.delete(id);
            this.jobs.delete(id);
        });
    }
}

/** @param {Job} job */
function rangeOf({ fromSeconds, untilSeconds }) {
    if (fromSeconds === undefined && untilSeconds === undefined) return ', the whole session';
    if (untilSeconds === undefined) return `, from ${sessionTime(fromSeconds ?? 0)} on`;
    return fromSeconds === undefined ? `, up to ${sessionTime(untilSeconds)}` : `, ${sessionTime(fromSeconds)} to ${sessionTime(untilSeconds)}`;
}

/**
 * @param {Job} first
 * @param {() => void} end
 */
function makeRow(first, end) {
    const words = element('span', { className: 'what' });
    const progress = element('progress', { max: 1, 'aria-label': 'Progress' });
    const file = element('a', { className: 'button', hidden: true, download: '' }, 'Download');
    const stop = button('Cancel', end);
    const name = `${first.sources.join(', ')}${rangeOf(first)}${first.burnsTime ? ', with the time' : ''}`;
    const row = element('li', {}, words, progress, file, stop);
    const started = performance.now();
    return {
        row,
        /** @param {Job} job */
        update(job) {
            const state = {
                waiting: 'waits for those before it', running: `${Math.round(job.fraction * 100)} %`,
                done: bytes(job.sizeBytes), failed: `failed: ${job.failure ?? 'no reason was given'}`, cancelled: 'cancelled',
            }[job.state];
            const past = (performance.now() - started) / 1000;
            const rest = job.state === 'running' && job.fraction > 0.05 && past > 3
                ? `, about ${duration((past / job.fraction) * (1 - job.fraction))} more` : '';
            setText(words, `${name}: ${state}${rest}`);
            progress.value = job.state === 'done' ? 1 : job.fraction;
            progress.hidden = job.state !== 'waiting' && job.state !== 'running';
            file.hidden = job.state !== 'done' || !job.file;
            if (job.file) file.href = job.file;
            setText(stop, progress.hidden ? 'Remove' : 'Cancel');
        },
    };
}
