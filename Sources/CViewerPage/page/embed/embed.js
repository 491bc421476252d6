// @ts-check
// `/embed/SOURCE`: one live source without controls, for an iframe. The URL authorises it: a signed link
// (`?account=…&expires=…&signature=…`), or a token in the fragment (`#token=`), which browsers do not send.

import { useAuthorization } from './api.js';
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

function open() {
    const name = decodeURIComponent(location.pathname.split('/')[2] ?? '');
    const header = authorization();
    if (header) useAuthorization(header);
    document.title = name;
    const wall = new LiveWall([name], null, null);
    wall.mode = 'fastest';
    const tile = wall.tile(name);
    const message = element('div', { className: 'middle' });
    const root = /** @type {HTMLElement} */ (document.getElementById('page'));
    root.replaceChildren(element('section', { className: 'stage', 'aria-label': 'Live pictures' }, wall.root, message));
    new LiveConnection([name], {
        take: (frame) => wall.take(frame),
        change: (state, text) => {
            message.replaceChildren(...(state === 'lost' ? [element('p', {}, text)] : []));
            wall.setConnection(state);
        },
    });
    Object.assign(window, {
        tributary: {
            state: () => ({ mode: 'live', at: tile.at, rate: 1, sources: wall.states }),
        },
    });
}

open();
