// @ts-check
// Health: `/health`. The data of `tributary top`, as plots of the last hour.

import { button, element, setText } from './element.js';
import { bitRate, bytes, counted, duration, shortTime } from './format.js';
import { alerts } from './health-alerts.js';
import { CollectorTable } from './health-collectors.js';
import { findings } from './health-findings.js';
import { figures, keptHistory } from './health-history.js';
import { Plot } from './health-plot.js';
import { limits } from './limits.js';
import { titleNow } from './session-name.js';
import { setTitle } from './shell.js';

/** How often the page is drawn, milliseconds. */
const drawing = 1000;

/** @type {import('./main.js').Open} */
export function open(root) {
    setTitle('Health');
    const page = new HealthPage(root);
    return { close: () => page.close(), state: () => page.state() };
}

class HealthPage {
    #history = keptHistory();
    /** @type {Map<string, { root: HTMLElement, state: HTMLElement, remarks: HTMLElement, plots: Plot[] }>} */
    #cards = new Map();
    #list = element('ul', { className: 'findings', 'aria-live': 'polite', 'aria-label': 'What is wrong' });
    #said = '';
    #figures = element('dl', { className: 'site' });
    #column = element('div', { className: 'column awaiting' });
    /** @type {Map<string, HTMLElement>} */
    #values = new Map();
    #sources = element('div', { className: 'sources' });
    #table = element('tbody');
    #heading = element('h2', {}, 'Sources');
    #collectors = new CollectorTable();
    #timer;

    /** @param {HTMLElement} root */
    constructor(root) {
        for (const title of ['Session', 'Disk', 'Full in', 'Making durable (fdatasync)', 'Refused connections', 'Collector']) {
            const value = element('dd', { className: 'figures' }, '–');
            this.#values.set(title, value);
            this.#figures.append(element('div', {}, element('dt', {}, title), value));
        }
        const known = element('dl', { className: 'alerts' });
        for (const [name, { means, act }] of Object.entries(alerts)) {
            known.append(element('dt', { id: name, tabIndex: -1 }, name), element('dd', {}, means, ' ', element('em', {}, 'Do: '), act));
        }
        this.#column.append(
            element('h1', {}, 'Health'),
            this.#list, this.#figures, this.#collectors.root,
            this.#heading,
            element('p', { className: 'muted' }, 'The viewer remembers an hour, from when it was started.'),
            this.#sources,
            element('details', {}, element('summary', {}, 'The same as a table'), this.#tableOf()),
            this.#meanings = element('details', {}, element('summary', {}, 'What the alerts mean'),
                element('p', { className: 'muted' }, 'The runbook, deploy/alerts.md, says more under the same names.'), known));
        root.append(this.#column);
        this.#timer = setInterval(() => this.#draw(), drawing);
        this.#draw();
    }

    #meanings;

    close() {
        clearInterval(this.#timer);
        this.#collectors.close();
    }

    #tableOf() {
        const titles = ['Source', 'State', 'Lag', 'Bit rate', 'Pictures per second', 'Clock error', 'Kept on the box', 'Lost samples', 'Why', 'Collectors'];
        return element('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Sources as a table' },
            element('table', {}, element('caption', { className: 'unseen' }, 'Sources now; of lag and clock error the greatest of the last hour as well'),
                element('thead', {}, element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)))), this.#table));
    }

    #draw() {
        const { status } = this.#history;
        this.#collectors.refresh((status?.collectors?.length ?? 0) > 0);
        this.#drawFindings();
        if (!status) return;
        const { disk } = status;
        this.#set('Session', status.session ? `${titleNow(status.session)}, ${duration(status.sessionSeconds ?? 0)}` : 'none');
        this.#set('Disk', disk.freeBytes === undefined ? 'unknown'
            : `${bytes(disk.freeBytes)} free${disk.sizeBytes ? ` of ${bytes(disk.sizeBytes)}` : ''}`);
        this.#set('Full in', this.#fullIn(disk));
        this.#set('Making durable (fdatasync)', disk.fdatasyncSeconds === undefined ? 'nothing yet' : `${shortTime(disk.fdatasyncSeconds)} on average`);
        const refused = this.#history.refused.growth(this.#history.second, 3600);
        const since = this.#history.openFor < 3600 ? 'since this page was opened' : 'in the last hour';
        const reasons = (status.refusals ?? []).map(({ reason, count }) => `${reason.replaceAll('_', ' ')} ${count.toLocaleString()}`).join(', ');
        this.#set('Refused connections', `${status.refusedConnections.toLocaleString()}, ${refused.toLocaleString()} ${since}${reasons && ` (${reasons})`}`);
        this.#set('Collector', `${status.version}${status.residentBytes ? `, ${bytes(status.residentBytes)} of memory` : ''}`);
        this.#drawSources(status);
    }

    /** @param {import('./health-history.js').SiteStatus['disk']} disk */
    #fullIn(disk) {
        if (disk.removesOldSegments) return 'never: the oldest is removed';
        return disk.daysLeft === undefined ? 'not known yet' : duration(disk.daysLeft * 86400);
    }

    /**
     * @param {string} title
     * @param {string} text
     */
    #set(title, text) {
        const place = this.#values.get(title);
        if (place) setText(place, text);
    }

    #drawFindings() {
        const isNew = this.#history.isAwaited;
        this.#column.classList.toggle('awaiting', isNew);
        const found = isNew ? [] : findings(this.#history);
        const problems = this.#history.isSilent ? [] : this.#collectors.problems;
        const said = found.map((finding) => finding.alert + (finding.source ?? '')).join() + problems.length + isNew;
        const texts = [...found.map((finding) => finding.text), ...problems];
        if (said === this.#said) {
            // Only numbers have changed: nothing is read out again.
            [...this.#list.querySelectorAll('.text')].forEach((place, index) => setText(place, texts[index] ?? place.textContent));
            return;
        }
        this.#said = said;
        const items = found.map((finding) => element('li', { className: finding.isCritical ? 'notice bad' : 'notice' },
            element('span', { className: 'text' }, finding.text), ' ',
            button(finding.alert, () => this.#explain(finding.alert), { className: 'plain', title: 'What this alert means' })));
        items.push(...problems.map((text) => element('li', { className: 'notice' }, element('span', { className: 'text' }, text))));
        const well = isNew ? 'Waiting for the collector’s status…' : 'Everything is well.';
        this.#list.replaceChildren(...(items.length ? items : [element('li', { className: isNew ? 'muted' : 'well' }, well)]));
    }

    /** @param {string} alert */
    #explain(alert) {
        this.#meanings.open = true;
        const place = document.getElementById(alert);
        place?.scrollIntoView({ block: 'center' });
        place?.focus();
    }

    /** @param {import('./health-history.js').SiteStatus} status */
    #drawSources(status) {
        const rows = [];
        const { span } = this.#history;
        setText(this.#heading, `Sources, the last ${span < 3600 ? `${span / 60} minutes` : 'hour'}`);
        for (const source of status.sources) {
            const own = this.#history.sources.get(source.name);
            if (!own) continue;
            const card = this.#cards.get(source.name) ?? this.#made(source.name, own);
            const state = this.#stateOf(source);
            setText(card.state, state);
            card.root.dataset.state = state;
            const remarks = remarksOf(source);
            setText(card.remarks, remarks);
            card.remarks.hidden = !remarks;
            for (const plot of card.plots) plot.draw(this.#history.now, span);
            rows.push(rowOf(source, own, state));
        }
        for (const [name, card] of this.#cards) {
            if (status.sources.some((source) => source.name === name)) continue;
            card.root.remove();
            this.#cards.delete(name);
        }
        const same = rows.length === this.#table.rows.length;
        rows.forEach((cells, index) => {
            const row = same ? this.#table.rows[index] : this.#table.insertRow();
            cells.forEach((text, column) => setText(row.cells[column] ?? row.insertCell(), text));
        });
        while (this.#table.rows.length > rows.length) this.#table.deleteRow(0);
        if (!rows.length && !this.#sources.firstChild) this.#sources.append(element('p', { className: 'muted' }, 'No source is connected.'));
        else if (rows.length) this.#sources.querySelector(':scope > p')?.remove();
    }

    /**
     * @param {string} name
     * @param {import('./health-history.js').SourceHistory} own
     */
    #made(name, own) {
        const state = element('span', { className: 'state' });
        const remarks = element('p', { className: 'muted', hidden: true });
        const plots = Object.entries(figures).flatMap(([figure, { title, format, least }]) =>
            title ? [new Plot(title, format, own.series[/** @type {keyof typeof figures} */ (figure)], least)] : []);
        const root = element('section', { className: 'card source', 'aria-label': name },
            element('h3', {}, element('a', { href: `/live?sources=${encodeURIComponent(name)}` }, name), ' ', state),
            remarks,
            element('div', { className: 'plots' }, ...plots.map((plot) => plot.root)));
        const card = { root, state, remarks, plots };
        this.#cards.set(name, card);
        const after = [...this.#cards.keys()].filter((other) => other.localeCompare(name, undefined, { numeric: true }) > 0)
            .map((other) => this.#cards.get(other)?.root).find((other) => other?.previousElementSibling !== root && other?.parentNode);
        this.#sources.insertBefore(root, after ?? null);
        return card;
    }

    /**
     * A source's state; the last status of a collector that no longer sends any does not apply now.
     * @param {import('./health-history.js').SourceStatus} source
     */
    #stateOf(source) {
        return this.#history.isSilent ? 'no contact' : stateOf(source);
    }

    /** @returns {import('./main.js').PageState} */
    state() {
        /** @type {Record<string, import('./main.js').SourceState>} */
        const sources = {};
        for (const source of this.#history.status?.sources ?? []) {
            sources[source.name] = { at: null, bound: source.clockBoundSeconds ?? null, lag: source.lagSeconds ?? null, state: this.#stateOf(source) };
        }
        return { mode: 'health', at: this.#history.status?.sessionSeconds ?? null, rate: 1, sources };
    }
}

/**
 * A source's state in one word, as in `tributary top`.
 * @param {import('./health-history.js').SourceStatus} source
 */
function stateOf(source) {
    if (!source.isConnected) return !source.isRecorded ? 'gone' : source.elsewhere ? 'elsewhere' : 'away';
    if ((source.lagSeconds ?? 0) > limits.lateSeconds) return 'late';
    if (source.persistedAgeSeconds > limits.unsavedSeconds) return 'unsaved';
    if (source.isStopped) return 'stopped';
    return source.isRecorded ? 'live' : 'idle';
}

/**
 * What a source lacks and why, which collector records it, why it was moved to this one, and the data that its box keeps for each collector, as
 * in `tributary top`; empty: none of these.
 * @param {import('./health-history.js').SourceStatus} source
 */
function remarksOf(source) {
    const preview = source.previewOf ? [`preview of ${source.previewOf}`] : [];
    const left = source.moved ? [`left ${source.moved}`] : [];
    const owed = (source.owed ?? []).filter((owed) => owed.bytes >= limits.inTransitBytes);
    const elsewhere = source.elsewhere ? [`recorded by ${source.elsewhere}`] : [];
    return [...preview, ...(source.trouble ? [source.trouble] : []), ...elsewhere, ...left, ...owed.map((owed) => `${bytes(owed.bytes)} kept for ${owed.collector}`)].join('; ');
}

/**
 * @param {import('./health-history.js').SourceStatus} source
 * @param {import('./health-history.js').SourceHistory} own
 * @param {string} state
 */
function rowOf(source, own, state) {
    const known = (/** @type {number | undefined} */ value, /** @type {(value: number) => string} */ format) =>
        value === undefined ? '–' : format(value);
    const [lag, bound] = [own.series.lagSeconds.summary, own.series.clockBoundSeconds.summary];
    return [
        source.name, state,
        known(source.lagSeconds, shortTime) + (lag ? ` (${shortTime(lag.greatest)})` : ''),
        bitRate(source.bitsPerSecond), source.picturesPerSecond.toFixed(1),
        known(source.clockBoundSeconds, shortTime) + (bound ? ` (${shortTime(bound.greatest)})` : ''),
        known(source.spoolBytes, bytes), source.lostSamples.toLocaleString(),
        source.gaps.map((gap) => `${gap.cause.replaceAll('_', ' ')}: ${counted(gap.count, 'gap')}`).join(', ') || 'nothing missing',
        remarksOf(source) || '–',
    ];
}
