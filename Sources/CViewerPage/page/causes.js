// @ts-check
// Why samples are missing: each cause's words and colour, the same on every page.

import { counted } from './format.js';
import { colour } from './theme.js';

/**
 * What each cause of a gap means, by the collector's word for it.
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
    'restart': 'the agent was not running',
    'too many files': 'the source began too many files at once',
    'impossible times': 'the source’s times were impossible',
    'write failed': 'a file could not be written',
    'command': 'the capture was stopped by a command',
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
 * How much is missing: `3 samples missing`, `1 gap`, `nothing missing`. Of some gaps nobody knows how many samples they were.
 * @param {{ samples: number, count: number }[]} gaps
 */
export function missingText(gaps) {
    const samples = gaps.reduce((sum, gap) => sum + gap.samples, 0);
    const count = gaps.reduce((sum, gap) => sum + gap.count, 0);
    if (count === 0) return 'nothing missing';
    return samples > 0 ? `${counted(samples, 'sample')} missing` : counted(count, 'gap');
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
