// @ts-check
// `/embed/SOURCE`: one live source and nothing else, for a frame in another page. What lets it in is in its own address: a signed link
// (`?account=…&expires=…&signature=…`), or a token behind `#token=`, which browsers send to nobody.

import { useAuthorization } from './api.js';
import { element } from './element.js';
import { LiveConnection } from './live-connection.js';
import { LiveWall } from './live-wall.js';

/** The header that the address stands for; empty: a cookie, or nothing is needed. */
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
            tile.hindrance = state === 'open' ? '' : state;
            if (state !== 'open') tile.pause();
            message.replaceChildren(...(state === 'lost' ? [element('p', {}, text)] : []));
            wall.draw();
        },
    });
    Object.assign(window, {
        tributary: {
            state: () => ({
                mode: 'live', at: tile.at, rate: 1,
                sources: { [name]: { at: tile.at, bound: tile.bound, lag: tile.lag, state: tile.state } },
            }),
        },
    });
}

open();
