// @ts-check
// What operators do to a session: rename, tag, note, protect, remove.

import { address, ApiError, patch, remove } from './api.js';
import { button, element, setText } from './element.js';
import { bytes } from './format.js';
import { say } from './shell.js';

/** @typedef {import('./sessions-list.js').Listing} Listing */

/** What the viewer takes. */
const longestTag = 64;

/** @param {Listing} listing */
const titleOf = (listing) => listing.name || listing.session;

/**
 * A dialog with a form; an error is said in it.
 * @param {string} title
 * @param {(Node | string)[]} content
 * @param {{ text: string, className: string, act: () => Promise<void> }} action
 */
function ask(title, content, action) {
    const wrong = element('p', { className: 'wrong', role: 'alert' });
    const take = element('button', { type: 'submit', className: action.className }, action.text);
    /** @type {HTMLDialogElement} */
    const dialog = element('dialog', { className: 'edit', 'aria-label': title, onclose: () => dialog.remove() },
        element('form', { onsubmit: async (/** @type {Event} */ event) => {
            event.preventDefault();
            take.disabled = true;
            try {
                await action.act();
                dialog.close();
            } catch (error) {
                setText(wrong, error instanceof ApiError ? error.text : String(error));
            }
            take.disabled = false;
        } }, element('h2', {}, title), ...content, wrong,
        element('div', { className: 'buttons' }, button('Cancel', () => dialog.close()), take)));
    document.body.append(dialog);
    dialog.showModal();
}

/** @param {string} text */
function tagsOf(text) {
    return [...new Set(text.split(',').map((tag) => tag.trim().slice(0, longestTag)).filter(Boolean))];
}

/**
 * @param {Listing} listing
 * @param {() => void} done
 */
export function editSession(listing, done) {
    const name = element('input', { value: listing.name ?? '', maxLength: 200, autocomplete: 'off' });
    const tags = element('input', { value: listing.tags.join(', '), autocomplete: 'off', placeholder: 'separated by commas' });
    const note = element('textarea', { value: listing.note ?? '', rows: 4 });
    ask('Name, tags and note', [
        element('label', {}, 'Name', name), element('label', {}, 'Tags', tags), element('label', {}, 'Note', note),
    ], { text: 'Save', className: 'main', act: async () => {
        const wanted = tagsOf(tags.value);
        await patch(address`/api/v1/sessions/${listing.session}`, {
            name: name.value.trim(), note: note.value.trim(),
            addTags: wanted.filter((tag) => !listing.tags.includes(tag)), removeTags: listing.tags.filter((tag) => !wanted.includes(tag)),
        });
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
        say(error instanceof ApiError ? error.text : String(error));
    }
}

/**
 * @param {Listing} listing
 * @param {() => void} done
 */
export function removeSession(listing, done) {
    ask(`Remove ${titleOf(listing)}?`, [
        element('p', {}, `${bytes(listing.sizeBytes)} of ${listing.sources.join(', ') || 'no source'} will be deleted from the archive. `
            + 'Nobody can bring it back.'),
    ], { text: 'Remove for ever', className: 'danger', act: async () => {
        await remove(address`/api/v1/sessions/${listing.session}`);
        say(`${titleOf(listing)} is removed.`);
        done();
    } });
}
