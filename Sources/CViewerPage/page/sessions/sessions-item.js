// @ts-check
// One session in the list: thumbnails, its name, and details.

import { address } from './api.js';
import { isOnPurpose, missingText } from './causes.js';
import { button, element, setText } from './element.js';
import { bytes, clock, counted, duration, timeElement, utc } from './format.js';
import { isRecording, readDetails } from './sessions-details.js';
import { titleOf, zeroOf } from './session-name.js';
import { mainSources } from './sessions-list.js';

/** Sources with a small picture, and its width. */
const pictures = 3;
const pictureWidth = 240;
/** Seconds: a recording that begins between two keyframes has only sound up to the next one. */
const withoutPicture = 4;

/**
 * @typedef {object} Acts
 * @property {(listing: import('./sessions-list.js').Listing) => void} edit
 * @property {(listing: import('./sessions-list.js').Listing) => void} protect
 * @property {(listing: import('./sessions-list.js').Listing) => void} end
 * @property {(listing: import('./sessions-list.js').Listing, details: import('./sessions-details.js').Details | undefined) => void} remove
 */

/**
 * @param {import('./sessions-list.js').Listing} listing
 * @param {Date | null} wanted The searched time.
 * @param {import('./sessions-details.js').DetailReader} reader
 * @param {Acts | null} acts Null without the role of an operator.
 * @param {(details: import('./sessions-details.js').Details) => void} tell Called with the details.
 * @returns {{ item: HTMLElement, show: (details: import('./sessions-details.js').Details) => void }} The element, and how to update its
 *     duration and gaps.
 */
export function sessionItem(listing, wanted, reader, acts, tell) {
    const zero = zeroOf(listing.session);
    const isNow = isRecording(listing);
    const path = address`/sessions/${listing.session}`;
    const at = wanted && zero && wanted > zero ? (wanted.getTime() - zero.getTime()) / 1000 : null;
    const href = at === null ? path : `${path}?at=${at.toFixed(3)}`;
    const title = titleOf(listing, clock);
    const link = element('a', { href, title: zero ? utc(zero) : '' }, title);
    const length = element('span', {}, '…');
    const missing = element('span', {}, '…');
    const act = (/** @type {string} */ name, /** @type {string} */ text, /** @type {() => void} */ act, more = {}) =>
        button(text, act, { ...more, dataset: { act: name }, 'aria-label': `${text} ${title}` });
    const sources = mainSources(listing);
    const facts = [...(zero && listing.name ? [timeElement(zero, clock)] : []), length, counted(sources.length, 'source'), bytes(listing.sizeBytes), missing];
    const shown = sources.slice(0, pictures);
    const strip = element('a', { className: 'strip', href, tabIndex: -1, 'aria-hidden': 'true' },
        ...shown.map((name, index) => element('span', { className: 'frame', dataset: { name,
            ...(index === pictures - 1 && sources.length > pictures ? { more: `+${sources.length - pictures}` } : {}) } })));
    const item = element('article', { className: 'session', dataset: { session: listing.session } },
        strip,
        element('div', { className: 'about' },
            element('h3', {}, link,
                isNow && element('span', { className: 'badge live' }, 'Recording now'),
                !isNow && listing.state !== 'finished' && element('span', { className: 'badge' }, 'Not ended in order'),
                listing.isProtected && element('span', { className: 'badge' }, 'Protected')),
            element('p', { className: 'facts' }, ...facts.flatMap((fact, index) => index > 0 ? [' · ', fact] : [fact])),
            listing.tags.length > 0 && element('ul', { className: 'tags', 'aria-label': 'Tags' },
                ...listing.tags.map((tag) => element('li', {}, element('a', { href: `/sessions?text=${encodeURIComponent(tag)}` }, tag)))),
            listing.note ? element('p', { className: 'note' }, listing.note) : null,
            element('p', { className: 'sources muted' }, sources.join(', '))),
        acts && element('div', { className: 'acts' },
            act('edit', 'Edit', () => acts.edit(listing)),
            act('protect', listing.isProtected ? 'Unprotect' : 'Protect', () => acts.protect(listing)),
            isNow ? act('end', 'End', () => acts.end(listing))
                : act('remove', 'Remove', () => acts.remove(listing, known), {
                    className: 'plain', disabled: listing.isProtected, title: listing.isProtected ? 'Protected sessions are not removed: unprotect it first' : '' })));
    /** @type {import('./sessions-details.js').Details | undefined} */
    let known;
    const show = (/** @type {import('./sessions-details.js').Details} */ details) => {
        known = details;
        tell(details);
        setText(length, duration(details.end - details.start));
        setText(missing, missingText(details.missing));
        missing.classList.toggle('lost', details.missing.some((gap) => !isOnPurpose(gap)));
    };
    reader.watch(item, () => readDetails(listing.session), (details) => {
        show(details);
        for (const source of details.sources) {
            const frame = [...strip.children].find((frame) => frame instanceof HTMLElement && frame.dataset.name === source.name);
            if (!frame || !source.hasPictures || !(source.start < source.end)) continue;
            const isShort = source.end - source.start < withoutPicture;
            // A source that has just begun may have sound only.
            if (isNow && isShort) continue;
            const usual = isShort ? source.end - 0.05 : (source.start + source.end) / 2;
            const place = at !== null && at > source.start && at < source.end ? at : usual;
            showPicture(frame, listing.session, source, place);
        }
    }, () => {
        setText(length, 'length unknown');
        setText(missing, 'what is missing is unknown');
    });
    return { item, show };
}

/**
 * @param {Element} frame
 * @param {string} session
 * @param {{ name: string, preview?: string }} source
 * @param {number} at
 */
function showPicture(frame, session, { name, preview }, at) {
    const path = (/** @type {string} */ source) =>
        `${address`/api/v1/sessions/${session}/sources/${source}/picture.jpg`}?at=${at.toFixed(3)}&nearest=yes&width=${pictureWidth}`;
    const picture = element('img', { alt: '', loading: 'lazy', decoding: 'async', src: path(preview ?? name) });
    picture.onerror = () => {
        // A preview that began and ended without a picture is no reason to show none.
        picture.onerror = () => picture.remove();
        if (preview === undefined) picture.remove();
        else picture.src = path(name);
    };
    frame.replaceChildren(picture);
}
