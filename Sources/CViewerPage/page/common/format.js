// @ts-check
// Numbers and times as people read them.

import { element } from './element.js';
import { offsetNote, zone } from './zone.js';

const thousand = ['', 'k', 'M', 'G', 'T', 'P'];

/**
 * A number with three significant digits and its prefix.
 * @param {number} value
 * @param {string} unit
 */
function scaled(value, unit) {
    let index = 0;
    let rest = Math.abs(value);
    while (rest >= 999.5 && index < thousand.length - 1) {
        rest /= 1000;
        index += 1;
    }
    const digits = index === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
    return `${value < 0 ? '−' : ''}${rest.toFixed(digits)} ${thousand[index]}${unit}`;
}

/** @param {number} value `4.32 MB` */
export const bytes = (value) => scaled(value, 'B');

/** @param {number} value Bits per second: `2.10 Mbit/s` */
export const bitRate = (value) => scaled(value, 'bit/s');

/**
 * A short time with its unit: `180 µs`, `23 ms`, `1.4 s`, `3 min`.
 * @param {number} seconds
 */
export function shortTime(seconds) {
    const size = Math.abs(seconds);
    if (size >= 90) return duration(seconds);
    if (size >= 9.95) return `${seconds.toFixed(0)} s`;
    if (size >= 0.9995) return `${seconds.toFixed(1)} s`;
    if (size >= 0.00995) return `${(seconds * 1e3).toFixed(0)} ms`;
    if (size >= 0.0009995) return `${(seconds * 1e3).toFixed(1)} ms`;
    return `${(seconds * 1e6).toFixed(0)} µs`;
}

/**
 * A length for reading: `42 s`, `3 min 20 s`, `2 h 05 min`, `3 days 4 h`.
 * @param {number} seconds
 */
export function duration(seconds) {
    const whole = Math.round(Math.abs(seconds));
    const sign = seconds < 0 && whole > 0 ? '−' : '';
    if (whole < 60) return `${sign}${whole} s`;
    const [minutes, hours, days] = [Math.floor(whole / 60), Math.floor(whole / 3600), Math.floor(whole / 86400)];
    if (minutes < 60) return `${sign}${minutes} min ${whole % 60} s`;
    if (hours < 48) return `${sign}${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
    return `${sign}${days} days ${hours % 24} h`;
}

/**
 * A session time: `1:23:45.678`; `3:05.250`.
 * @param {number} seconds
 * @param {number} [digits] Decimals.
 */
export function sessionTime(seconds, digits = 3) {
    // Rounded first: 59.9996 is 1:00.000, not 0:60.000.
    const units = Math.round(Math.abs(seconds) * 10 ** digits);
    const total = Math.floor(units / 10 ** digits);
    const fraction = digits ? `.${String(units % 10 ** digits).padStart(digits, '0')}` : '';
    const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
    const sign = seconds < 0 && units > 0 ? '−' : '';
    const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
    return `${sign}${hours ? `${hours}:${two(minutes)}` : minutes}:${two(rest)}${fraction}`;
}

/**
 * A format in the zone that is shown; a zone that is chosen later is used from then on.
 * @param {Intl.DateTimeFormatOptions} options
 */
function formatter(options) {
    let [name, format] = ['', new Intl.DateTimeFormat(undefined, options)];
    return (/** @type {Date} */ date) => {
        if (name !== zone()) [name, format] = [zone(), new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone() })];
        return format.format(date);
    };
}
const clockFormat = formatter({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const minuteFormat = formatter({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayMinuteFormat = formatter({ weekday: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayFormat = formatter({ weekday: 'short', year: 'numeric', month: 'short', day: 'numeric' });

/** @param {Date} date `15:04:05` in the zone that is shown, with its offset where that is not the present one */
export const clock = (date) => clockFormat(date) + offsetNote(date);

/** @param {Date} date `15:04` */
export const clockMinutes = (date) => minuteFormat(date) + offsetNote(date);

/** @param {Date} date `Fri 20, 15:04` */
export const dayMinutes = (date) => dayMinuteFormat(date) + offsetNote(date);

/** @param {Date} date `Fri, Nov 20, 2026` */
export const day = (date) => dayFormat(date);

/** @param {Date} date Day and time. */
export const dateTime = (date) => `${day(date)}, ${clock(date)}`;

/** @param {Date} date `2026-11-20 22:40:00.000 UTC` */
export const utc = (date) => date.toISOString().replace('T', ' ').replace('Z', ' UTC');

/**
 * A `<time>` in the zone that is shown, with UTC when the pointer rests on it.
 * @param {Date} date
 * @param {(date: Date) => string} [format]
 */
export function timeElement(date, format = dateTime) {
    return element('time', { dateTime: date.toISOString(), title: utc(date) }, format(date));
}

/**
 * A count with its noun: `1 gap`, `3 gaps`.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
    return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}
