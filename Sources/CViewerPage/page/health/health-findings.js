// @ts-check
// Current problems: the conditions of deploy/monitoring/alerts.yaml, without their delays.

import { diskTroubles } from './disk-words.js';
import { bytes, counted, duration, shortTime } from './format.js';
import { limits } from './limits.js';

/**
 * @typedef {object} Finding
 * @property {string} alert Its name in the runbook.
 * @property {string} text
 * @property {boolean} isCritical
 * @property {string} [source]
 */

/**
 * @param {import('./health-history.js').History} history
 * @returns {Finding[]} The worst first.
 */
export function findings(history) {
    const { status } = history;
    if (!status || history.isSilent) {
        const age = duration(history.now - history.second);
        // Only the viewer knows the collector's state.
        if (!history.isConnected) {
            const since = status ? `: its last status came ${age} ago` : '';
            return [{ alert: 'TributaryViewerDown', text: `The viewer does not answer${since}.`, isCritical: true }];
        }
        const since = status ? ` for ${age}` : '';
        return [{ alert: 'TributaryCollectorDown', text: `No collector answers the viewer${since}.`, isCritical: true }];
    }
    const found = [...site(status, history), ...status.sources.flatMap((source) => ofSource(source, history))];
    return found.sort((one, other) => Number(other.isCritical) - Number(one.isCritical));
}

/**
 * @param {import('./health-history.js').SiteStatus} status
 * @param {import('./health-history.js').History} history
 * @returns {Finding[]}
 */
function site(status, history) {
    const { disk } = status;
    /** @type {Finding[]} */
    const found = [];
    const add = (/** @type {boolean} */ is, /** @type {string} */ alert, /** @type {string} */ text, isCritical = true) => {
        if (is) found.push({ alert, text, isCritical });
    };
    const progress = status.progressAgeSeconds ?? 0;
    add(progress > limits.progressSeconds, 'TributaryCollectorHangs', `The collector has not processed messages for ${duration(progress)}.`);
    const troubles = diskTroubles(disk);
    for (const { alert, text } of troubles) add(true, alert, text);
    add(!status.isReady && !troubles.some(({ alert }) => alert === 'TributaryDiskFull'), 'TributaryNotRecording', 'The collector accepts no samples.');
    add((disk.fdatasyncSeconds ?? 0) > limits.fdatasyncSeconds, 'TributaryDiskSlow', `Making samples durable takes ${shortTime(disk.fdatasyncSeconds ?? 0)}.`, false);
    const days = disk.daysLeft ?? Infinity;
    add(days < limits.daysLeft && !disk.removesOldSegments, 'TributaryDiskFillsSoon', `The disk is full in ${duration(days * 86400)} at the present rate, and nothing is removed automatically.`, false);
    const refused = history.refused.growth(history.second, limits.refusedWithinSeconds);
    add(refused > limits.refusedConnections, 'TributaryStrangers', `${counted(refused, 'connection')} refused in the last quarter of an hour.`, false);
    add(status.omittedSources > 0, 'TributarySourcesOmitted', `${counted(status.omittedSources, 'source')} more than are watched.`, false);
    return found;
}

/**
 * @param {import('./health-history.js').SourceStatus} source
 * @param {import('./health-history.js').History} history
 * @returns {Finding[]}
 */
function ofSource(source, history) {
    const { name } = source;
    /** @type {Finding[]} */
    const found = [];
    const add = (/** @type {boolean} */ is, /** @type {string} */ alert, /** @type {string} */ text, isCritical = true) => {
        if (is) found.push({ alert, text, isCritical, source: name });
    };
    const own = history.sources.get(name);
    add(source.isRecorded && !source.isConnected && !source.elsewhere, 'TributarySourceAway', `No contact with ${name}, which has not ended.`);
    const isSilent = source.isConnected && source.isRecorded && !source.isStopped && source.bitsPerSecond === 0;
    add(isSilent, 'TributarySourceSilent', `${name} is connected and sends nothing${source.trouble ? `: ${source.trouble}` : ''}.`);
    add(source.persistedAgeSeconds > limits.undurableSeconds, 'TributarySourceNotDurable', `Nothing of ${name} has become durable for ${duration(source.persistedAgeSeconds)}.`);
    const lag = source.lagSeconds ?? 0;
    add(source.isConnected && lag > limits.lagSeconds, 'TributarySourceLate', `${name} is ${duration(lag)} late.`, false);
    const spool = source.spoolBytes ?? 0;
    add(spool > limits.spoolBytes, 'TributarySpoolGrows', `The agent of ${name} keeps ${bytes(spool)} that are not durable at the collector.`, false);
    for (const { collector, bytes: lacking } of source.owed ?? []) {
        add(lacking > limits.owedBytes, 'TributaryOneCopy', `${name} is recorded once: ${bytes(lacking)} are kept for ${collector}.`, false);
    }
    const gaps = own?.series.gaps.growth(history.second, limits.gapsWithinSeconds) ?? 0;
    add(gaps > 0, 'TributarySamplesLost', `The recording of ${name} has ${counted(gaps, 'new gap')} in the last ten minutes.`, false);
    const bound = source.clockBoundSeconds ?? 0;
    add(bound > limits.clockBoundSeconds, 'TributaryClockUncertain', `The times of ${name} are only accurate to ${shortTime(bound)}.`, false);
    return found;
}
