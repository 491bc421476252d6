// @ts-check
// `/embed/SOURCE`: one live source without controls, for an iframe. The URL authorises it: a signed link
// (`?account=…&expires=…&signature=…`), or a token in the fragment (`#token=`), which browsers do not send.

import { disableLogIn, useAuthorization } from './api.js';
import { element } from './element.js';
import { LiveConnection } from './live-connection.js';
import { LiveWall } from './live-wall.js';

/** The Authorization header from the URL; empty if it has none. */
function authorization() {
    const token = new URLSearchParams(location.hash.slice(1)).get('token');
    if (token) return ['Bearer', token].join(' ');
    const isLink = new URLSearchParams(location.search).has('signature');
    return isLink ? ['Link', location.pathname + location.search].join(' ') : '';
}

/** The source in the URL; null if its encoding is invalid. */
function sourceName() {
    try {
        return decodeURIComponent(location.pathname.split('/')[2] ?? '');
    } catch {
        return null;
    }
}

/** A frame has no log-in form: browsers send no cookies from a frame of another site, and people cannot see whose form it is. */
const isFramed = window.parent !== window;

/**
 * Why nothing is shown.
 * @param {import('./api.js').ApiError} error
 * @param {boolean} hasAuthorization
 */
function wordsOf({ status, text }, hasAuthorization) {
    if (status === 401 && !hasAuthorization) {
        return 'The address of this frame needs a signed link, or #token=TOKEN. Correct it where the frame is, then reload the page.';
    }
    return `The viewer refuses this address: ${text}. Reload the page to try again.`;
}

function open() {
    const root = /** @type {HTMLElement} */ (document.getElementById('page'));
    const message = element('div', { className: 'middle' });
    const stage = element('section', { className: 'stage', 'aria-label': 'Live pictures' }, message);
    root.replaceChildren(stage);
    /** @param {string} [text] */
    const tell = (text) => message.replaceChildren(...(text ? [element('p', {}, text)] : []));
    const name = sourceName();
    if (name === null) return tell('This address has no valid name of a source: use /embed/SOURCE.');
    const header = authorization();
    if (header) useAuthorization(header);
    if (header || isFramed) disableLogIn();
    document.title = name;
    const wall = new LiveWall([name], null, null);
    wall.mode = 'fastest';
    const tile = wall.tile(name);
    stage.prepend(wall.root);
    new LiveConnection([name], {
        take: (frame) => wall.take(frame),
        change: (state, text) => {
            tell(state === 'lost' ? text : '');
            wall.setConnection(state);
        },
        refuse: (error) => {
            tell(wordsOf(error, header !== ''));
            wall.setConnection('refused');
        },
    });
    Object.assign(window, {
        tributary: {
            state: () => ({ mode: 'live', at: tile.at, rate: 1, sources: wall.states }),
        },
    });
}

open();
