// @ts-check
// `/account`: the account, its password, and the links that it has made.

import { account, address, ApiError, get, post, remove } from './api.js';
import { button, element, setText } from './element.js';
import { wordsOf } from './form-dialog.js';
import { dateTime, timeElement } from './format.js';
import { logIn } from './login.js';
import { titleOf } from './session-name.js';
import { say, setTitle } from './shell.js';

/** Minimum length that the viewer accepts. */
const shortestPassword = 12;

/** @typedef {{ id: string, address: string, made: string, expires: string }} MadeLink */

/** @type {import('./main.js').Open} */
export async function open(root) {
    setTitle('Account');
    const known = await account();
    root.append(element('h1', {}, 'Account'));
    if (!known.needsLogIn) {
        root.append(element('p', { className: 'muted' }, 'This viewer has no accounts: everybody who reaches it may see and change everything.'));
    } else {
        const links = new LinkList();
        root.append(element('div', { className: 'below' }, aboutCard(known), passwordCard(), links.element));
        void links.read();
    }
    return { close: () => {}, state: () => ({ mode: 'account', at: null, rate: 0, sources: {} }) };
}

/** @param {import('./api.js').Account} known */
function aboutCard({ name, role, sources }) {
    const line = (/** @type {string} */ term, /** @type {string} */ text) => [element('dt', {}, term), element('dd', {}, text)];
    return element('section', { className: 'card', 'aria-label': 'Who you are' }, element('h2', {}, name), element('dl', { className: 'goes' },
        ...line('Role', role === 'operator' ? 'Operator: looks, exports and changes' : 'Viewer: looks and exports'),
        ...line('Sources', sources ? sources.join(', ') || 'none' : 'all')));
}

function passwordCard() {
    const field = (/** @type {string} */ complete, /** @type {Record<string, any>} */ more = {}) =>
        element('input', { type: 'password', required: true, autocomplete: complete, ...more });
    const [before, now, again] = [field('current-password'), field('new-password', { minLength: shortestPassword }), field('new-password')];
    const wrong = element('p', { className: 'wrong', role: 'alert' });
    const send = element('button', { type: 'submit', className: 'main' }, 'Change the password');
    const form = element('form', { className: 'fields', onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        if (send.disabled) return;
        if (now.value !== again.value) return setText(wrong, 'The new password was typed in two different ways.');
        send.disabled = true;
        setText(wrong, '');
        try {
            await post('/api/v1/account/password', { password: before.value, newPassword: now.value });
            form.reset();
            say('The password is changed. Log in with the new one.');
            await logIn();
        } catch (error) {
            setText(wrong, wordsOf(error));
        }
        send.disabled = false;
    } },
    element('label', {}, 'Present password', before), element('label', {}, `New password, at least ${shortestPassword} characters`, now), element('label', {}, 'The same again', again),
    wrong, send);
    return element('section', { className: 'card', 'aria-label': 'Password' }, element('h2', {}, 'Password'),
        element('p', { className: 'muted' }, 'All log-ins of this account end with it, on every device.'), form);
}

class LinkList {
    constructor() {
        this.words = element('p', { className: 'muted', role: 'status' }, 'Reading the list of links…');
        this.list = element('ul', { className: 'links', 'aria-label': 'Links' });
        this.element = element('section', { className: 'card', 'aria-label': 'Links' }, element('h2', { tabIndex: -1 }, 'Links'), this.words, this.list);
    }

    async read() {
        try {
            /** @type {MadeLink[]} */
            const links = await get('/api/v1/links');
            setText(this.words, links.length > 0 ? 'Everybody who has one of these can open it, without a log-in.' : 'No link that you have made is open.');
            this.list.replaceChildren(...links.map((link) => this.#line(link)));
        } catch (error) {
            setText(this.words, error instanceof ApiError ? error.text : String(error));
        }
    }

    /** @param {MadeLink} link */
    #line(link) {
        const what = wordsOfLink(link);
        return element('li', {}, element('span', { className: 'what' }, what, element('br'),
            element('span', { className: 'muted' }, 'until ', timeElement(new Date(link.expires)))),
        button('End', () => void this.#end(link, what), { 'aria-label': `End the link to ${what}` }));
    }

    /** @param {MadeLink} link @param {string} what */
    async #end({ id }, what) {
        try {
            await remove(address`/api/v1/links/${id}`);
            say(`The link to ${what} opens nothing any more.`);
        } catch (error) {
            say(wordsOf(error));
        }
        await this.read();
        const next = this.list.querySelector('button') ?? this.element.querySelector('h2');
        if (next instanceof HTMLElement) next.focus({ preventScroll: true });
    }
}

/**
 * The resource of a link.
 * @param {MadeLink} link
 */
function wordsOfLink({ address }) {
    const url = new URL(address, location.href);
    const live = /^\/(?:embed|live|api\/v1\/live)\/([^/]+)(\/picture\.jpg)?$/.exec(url.pathname);
    if (live) return live[2] ? `the newest picture of ${live[1]}` : `a frame with ${live[1]}, live`;
    const [, , , , session, , source, file] = url.pathname.split('/').map(decodeURIComponent);
    const query = url.searchParams;
    const title = titleOf({ session: session ?? '' }, dateTime);
    if (file !== 'media.mp4') return `a picture of ${source}, ${title}`;
    const [from, until] = [query.get('from'), query.get('until')];
    const part = from || until ? `, ${from ? `from ${from}\u00a0s` : ''}${from && until ? ' ' : ''}${until ? `until ${until}\u00a0s` : ''}` : '';
    return `${source}, ${title}${part}`;
}
