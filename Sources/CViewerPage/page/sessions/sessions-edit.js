// @ts-check
// Operators' actions on a session: rename, tag, note, protect, end, remove.

import { address, ApiError, patch, post, remove } from './api.js';
import { element, setText } from './element.js';
import { askForm, wordsOf } from './form-dialog.js';
import { bytes, counted, duration } from './format.js';
import { titleOf } from './session-name.js';
import { readDetails } from './sessions-details.js';
import { mainSources } from './sessions-list.js';
import { say } from './shell.js';

/** @typedef {import('./sessions-list.js').Listing} Listing */

/** Limit of the viewer. */
const longestTag = 64;

/** @param {string} text */
function tagsOf(text) {
    return [...new Set(text.split(',').map((tag) => tag.trim()).filter(Boolean))];
}

/**
 * @param {Listing} listing
 * @param {() => void} done
 */
export function editSession(listing, done) {
    const name = element('input', { value: listing.name ?? '', maxLength: 200, autocomplete: 'off', autofocus: true });
    const tags = element('input', { value: listing.tags.join(', '), autocomplete: 'off', placeholder: 'separated by commas' });
    const note = element('textarea', { value: listing.note ?? '', rows: 4 });
    askForm('Name, tags and note', [
        element('label', {}, 'Name', name), element('label', {}, 'Tags', tags), element('label', {}, 'Note', note),
    ], { text: 'Save', doing: 'Saving…', className: 'main', act: async () => {
        const wanted = tagsOf(tags.value);
        const long = wanted.find((tag) => tag.length > longestTag);
        if (long) throw new ApiError(0, `A tag has at most ${longestTag} characters: shorten “${long.slice(0, 20)}…”.`);
        /** @type {Record<string, unknown>} */
        const change = {};
        if (name.value.trim() !== (listing.name ?? '')) change.name = name.value.trim();
        if (note.value.trim() !== (listing.note ?? '')) change.note = note.value.trim();
        const [added, removed] = [wanted.filter((tag) => !listing.tags.includes(tag)), listing.tags.filter((tag) => !wanted.includes(tag))];
        if (added.length > 0) change.addTags = added;
        if (removed.length > 0) change.removeTags = removed;
        if (Object.keys(change).length === 0) return say('Nothing was changed.');
        await patch(address`/api/v1/sessions/${listing.session}`, change);
        say('Saved.');
        done();
    } });
}

/**
 * @param {Listing} listing
 * @param {() => void} done
 */
export async function protectSession(listing, done) {
    const isProtected = !listing.isProtected;
    try {
        await patch(address`/api/v1/sessions/${listing.session}`, { isProtected });
        say(isProtected ? `${titleOf(listing)} is protected: nothing removes it.` : `${titleOf(listing)} is not protected any more.`);
        done();
    } catch (error) {
        say(wordsOf(error));
    }
}

/**
 * @param {Listing} listing
 * @param {() => void} done
 */
export function endSession(listing, done) {
    askForm(`End the recording ${titleOf(listing)}?`, [
        element('p', {}, 'The session ends now and is kept. A source that goes on sending begins another session.'),
    ], { text: 'End it', doing: 'Ending…', className: 'danger', act: async () => {
        await post(address`/api/v1/sessions/${listing.session}/stop`);
        say(`${titleOf(listing)} has ended.`);
        done();
    } });
}

/**
 * @param {Listing} listing
 * @param {import('./sessions-details.js').Details | undefined} details Undefined: not read yet.
 * @param {() => void} done
 */
export function removeSession(listing, details, done) {
    const sources = mainSources(listing);
    const length = element('dd', {}, 'is being read…');
    const tell = (/** @type {{ start: number, end: number }} */ { start, end }) => setText(length, duration(end - start));
    if (details) tell(details);
    else readDetails(listing.session).then(tell, () => setText(length, 'not known'));
    askForm(`Remove ${titleOf(listing)}?`, [
        element('dl', { className: 'goes' },
            element('dt', {}, 'Session'), element('dd', {}, titleOf({ session: listing.session })), element('dt', {}, 'Length'), length,
            element('dt', {}, 'Size'), element('dd', {}, bytes(listing.sizeBytes)),
            element('dt', {}, counted(sources.length, 'Source')), element('dd', {}, sources.join(', ') || 'none')),
        element('p', {}, 'All of this is deleted from the archive, whatever part of it the list was narrowed to. It cannot be brought back.'),
    ], { text: 'Remove for ever', doing: 'Removing…', className: 'danger', act: async () => {
        await remove(address`/api/v1/sessions/${listing.session}`);
        say(`${titleOf(listing)} is removed.`);
        done();
    } });
}
