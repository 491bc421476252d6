// @ts-check
// The causes of missing samples, with the same texts and colours on every page.

import { counted } from './format.js';
import { colour } from './theme.js';

/**
 * Descriptions of gap causes, by the collector's name for the cause.
 * @type {Record<string, string>}
 */
const meanings = {
    'driver drop': 'the camera’s driver had no buffer',
    'overrun': 'the sound card’s buffer overflowed',
    'encoder overload': 'the encoder was slower than the camera',
    'spool full': 'the agent’s storage was full',
    'corrupt record': 'a stored record was damaged',
    'policy': 'late pictures were dropped, as configured',
    'device lost': 'the device was disconnected',
    'damaged input': 'the camera sent damaged data',
    'packet loss': 'the network between camera and agent lost packets',
    'restart': 'the agent was not running',
    'too many files': 'the source began too many files at once',
    'impossible times': 'the source’s times were impossible',
    'write failed': 'a file could not be written',
    'command': 'stopped on purpose, by a command',
    'removed': 'removed by retention',
};

/** All causes, in the order of a legend. */
export const causes = Object.keys(meanings);

/**
 * The cause in words.
 * @param {string} cause
 */
export function causeText(cause) {
    return meanings[cause.replaceAll('_', ' ')] ?? (cause && cause !== 'unspecified' ? cause : 'the cause is unknown');
}

/**
 * Whether the gap is of recorded samples that retention has removed.
 * @param {{ cause?: string }} gap
 */
const isRemoved = ({ cause }) => cause === 'removed';

/**
 * Whether the gap was requested, so that nothing was lost.
 * @param {{ cause?: string }} gap
 */
export const isOnPurpose = (gap) => gap.cause === 'command' || isRemoved(gap);

/**
 * The cause in words, to begin a sentence with.
 * @param {string} cause
 */
export function causeBeginning(cause) {
    const text = causeText(cause);
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The amount of missing data, as text: `2 gaps, 11 samples or more`, `1 stop on purpose`, `30 samples removed`, `nothing missing`. The number of
 * samples of some gaps is unknown.
 * @param {{ samples: number, count: number, cause?: string }[]} gaps
 */
export function missingText(gaps) {
    const sum = (/** @type {typeof gaps} */ some) => some.reduce((count, gap) => count + gap.count, 0);
    const losses = gaps.filter((gap) => !isOnPurpose(gap));
    const [lost, stops] = [sum(losses), sum(gaps.filter((gap) => isOnPurpose(gap) && !isRemoved(gap)))];
    const [samples, removed] = [losses, gaps.filter(isRemoved)].map((some) => some.reduce((count, gap) => count + gap.samples, 0));
    const isSure = losses.every((gap) => gap.samples > 0);
    const words = [
        lost > 0 && counted(lost, 'gap') + (samples > 0 ? `, ${counted(samples, 'sample')}${isSure ? '' : ' or more'} missing` : ''),
        stops > 0 && `${counted(stops, 'stop')} on purpose`,
        removed > 0 && `${counted(removed, 'sample')} removed`].filter(Boolean);
    return words.join(', ') || 'nothing missing';
}

/**
 * The custom property with the cause's colour: `--gap-driver-drop`.
 * @param {string} cause
 */
export function causeProperty(cause) {
    const plain = cause.replaceAll('_', ' ');
    return `--gap-${plain in meanings ? plain.replaceAll(' ', '-') : 'unknown'}`;
}

/**
 * The cause's colour, for a canvas.
 * @param {string} cause
 */
export const causeColour = (cause) => colour(causeProperty(cause));
