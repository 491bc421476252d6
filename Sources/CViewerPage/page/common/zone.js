// @ts-check
// The time zone in which times are shown and typed: `?zone=` of the address, otherwise the browser's.

const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Empty: the browser's own. */
let chosen = '';

/** @param {string} name */
function exists(name) {
    try {
        return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
    } catch {
        return false;
    }
}

/** The zone's name (IANA). */
export const zone = () => chosen || own;

/**
 * Applies the time zone of a URL; without one, it is unchanged.
 * @param {string} query
 * @returns {string} The error; empty if there is none.
 */
export function takeZone(query) {
    const wanted = new URLSearchParams(query).get('zone');
    if (wanted === null) return '';
    if (!exists(wanted)) return `There is no time zone “${wanted.slice(0, 40)}”: times are shown in ${zone()}.`;
    chosen = wanted === own ? '' : wanted;
    return '';
}

/** @param {string} name Empty: the browser's own. */
export function setZone(name) {
    chosen = name === own ? '' : name;
}

/**
 * An address of the page that shows its times in this zone.
 * @param {string} address
 */
export function withZone(address) {
    const url = new URL(address, location.href);
    if (chosen) url.searchParams.set('zone', chosen);
    else url.searchParams.delete('zone');
    // Commas between sources, and slashes and colons, are allowed in a query (RFC 3986 §3.4).
    const query = url.search.replaceAll('%2C', ',').replaceAll('%2F', '/').replaceAll('%3A', ':');
    return url.pathname + query + url.hash;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {string} name */
function partsFormat(name) {
    let format = formats.get(name);
    if (!format) {
        format = new Intl.DateTimeFormat('en-GB', { timeZone: name, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric',
            hour: 'numeric', minute: 'numeric', second: 'numeric' });
        formats.set(name, format);
    }
    return format;
}

/**
 * Year, month, day, hour, minute and second of an instant in the zone.
 * @param {Date} date
 * @returns {[number, number, number, number, number, number]}
 */
export function localParts(date) {
    /** @type {Record<string, number>} */
    const found = {};
    for (const { type, value } of partsFormat(zone()).formatToParts(date)) found[type] = Number(value);
    return [found.year, found.month, found.day, found.hour, found.minute, found.second];
}

/** @param {number[]} parts */
const utcOf = ([year, month, day, hour, minute, second]) => Date.UTC(year, month - 1, day, hour, minute, second);

/**
 * The zone's offset from UTC at an instant, minutes.
 * @param {Date} date
 */
export const offsetMinutes = (date) => Math.round((utcOf(localParts(date)) - Math.floor(date.getTime() / 1000) * 1000) / 60_000);

/** @param {number} minutes `UTC+1`, `UTC−3:30`, `UTC` */
export function offsetText(minutes) {
    if (minutes === 0) return 'UTC';
    const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
    return `UTC${minutes < 0 ? '−' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
}

/**
 * The offset of an instant, as text that begins with a space; empty if it is the present offset.
 * @param {Date} date
 */
export function offsetNote(date) {
    const offset = offsetMinutes(date);
    return offset === offsetMinutes(new Date()) ? '' : ` ${offsetText(offset)}`;
}

/**
 * The zone with its present offset: `Europe/Berlin, UTC+1`.
 * @param {string} [name]
 */
export function zoneText(name = zone()) {
    const before = chosen;
    chosen = name === own ? '' : name;
    const text = offsetText(offsetMinutes(new Date()));
    chosen = before;
    return name === text ? text : `${name}, ${text}`;
}

/** The browser's zone. */
export const ownZone = own;

/**
 * An instant in the zone as it can be typed: `2026-11-20 15:04:05`, with its offset where that is not the present one.
 * @param {Date} date
 */
export function localText(date) {
    const [year, ...rest] = localParts(date);
    const [month, day, hour, minute, second] = rest.map((part) => String(part).padStart(2, '0'));
    return `${year}-${month}-${day} ${hour}:${minute}:${second}${offsetNote(date) && ` ${isoOffset(date)}`}`;
}

/**
 * `+01:00`, `Z` (RFC 3339)
 * @param {Date} date
 */
function isoOffset(date) {
    const minutes = offsetMinutes(date);
    if (minutes === 0) return 'Z';
    const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
    return `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

/**
 * Parses a time of day, optionally with its date: `15:04`, `15:04:05.5`, `2026-11-20 15:04`, with `Z` or `+01:00` if it is not in the
 * shown zone.
 * @param {string} text
 * @param {Date} day The day, if the text has none.
 * @param {(date: Date) => boolean} [isPossible] Chooses one where an hour comes twice.
 * @returns {{ date: Date, hasDay: boolean } | { flaw: string }}
 */
export function readInstant(text, day, isPossible = () => true) {
    const parts = /^(?:(\d{4})-(\d\d)-(\d\d)(?:[T ]+|$))?(?:(\d{1,2}):(\d\d)(?::(\d\d)(\.\d+)?)?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/i.exec(text.trim());
    if (!parts || (!parts[1] && !parts[4])) return { flaw: 'Write a time as 15:04, 15:04:05 or 2026-11-20 15:04.' };
    const [year, month, date] = parts[1] ? parts.slice(1, 4).map(Number) : localParts(day);
    const [hour, minute, second] = [4, 5, 6].map((index) => Number(parts[index] ?? 0));
    const milliseconds = Math.round(Number(parts[7] ?? 0) * 1000);
    const local = utcOf([year, month, date, hour, minute, second]) + milliseconds;
    const check = new Date(local);
    if (hour > 23 || minute > 59 || second > 59 || check.getUTCMonth() !== month - 1 || check.getUTCDate() !== date) {
        return { flaw: `${text.trim()} is no time: a day has 24 hours, an hour 60 minutes.` };
    }
    const hasDay = parts[1] !== undefined;
    if (parts[8]) return { date: new Date(local - statedOffset(parts[8]) * 60_000), hasDay };
    const offsets = new Set([-86_400_000, 0, 86_400_000].map((away) => offsetMinutes(new Date(local + away))));
    const found = [...offsets].map((offset) => new Date(local - offset * 60_000))
        .filter((date) => utcOf(localParts(date)) === Math.floor(local / 1000) * 1000).sort((one, other) => one.getTime() - other.getTime());
    const possible = found.filter(isPossible);
    if (found.length === 1 || possible.length === 1) return { date: possible[0] ?? found[0], hasDay };
    if (found.length === 0) return { flaw: `${text.trim()} does not exist in ${zone()}: clocks are put forward over it.` };
    return { flaw: `${text.trim()} comes twice in ${zone()}, because clocks are put back: write ${found.map(isoOffset).join(' or ')} behind it.` };
}

/** @param {string} text `Z`, `+01:00` @returns {number} Minutes. */
function statedOffset(text) {
    const parts = /^([+-])(\d\d):?(\d\d)$/.exec(text);
    return parts ? (parts[1] === '-' ? -1 : 1) * (Number(parts[2]) * 60 + Number(parts[3])) : 0;
}
