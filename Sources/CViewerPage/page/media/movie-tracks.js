// @ts-check
// Tracks of initialization sections and fragments (ISO/IEC 14496-12): one kind is kept, the others become `free` boxes (§8.1.2), so that no
// offset changes. Pictures then play by the system's clock, and only the sound that is heard is decoded.

import { blank, boxes, find, fourCC, isWide, viewOf } from './boxes.js';
import { handlers } from './codecs.js';

/**
 * Keeps the tracks of one kind in an initialization section, in place.
 * @param {Uint8Array} bytes
 * @param {import('./codecs.js').TrackKind} kind
 * @returns {Set<number>} Their identifiers; empty without such a track.
 */
export function keepTracks(bytes, kind) {
    const view = viewOf(bytes);
    /** @type {Set<number>} */
    const kept = new Set();
    for (const moov of boxes(view, 0, bytes.length)) {
        if (moov.type !== 'moov') continue;
        for (const box of boxes(view, moov.body, moov.end)) {
            if (box.type !== 'trak') continue;
            const tkhd = find(view, box, 'tkhd');
            const hdlr = find(view, box, 'mdia', 'hdlr');
            if (!tkhd || !hdlr) continue;
            // tkhd (§8.3.2): version and flags, two times of 4 or 8 bytes, the identifier.
            const identifier = view.getUint32(tkhd.body + (isWide(view, tkhd) ? 20 : 12));
            if (fourCC(view, hdlr.body + 8) === handlers[kind]) kept.add(identifier);
            else blank(view, box);
        }
        const mvex = find(view, moov, 'mvex');
        if (!mvex) continue;
        for (const box of boxes(view, mvex.body, mvex.end)) {
            if (box.type === 'trex' && !kept.has(view.getUint32(box.body + 4))) blank(view, box);
        }
    }
    return kept;
}

/**
 * Keeps tracks in a fragment, in place.
 * @param {Uint8Array} bytes
 * @param {Set<number>} kept
 * @returns {boolean} Whether it has samples of them.
 */
export function keepRuns(bytes, kept) {
    const view = viewOf(bytes);
    let has = false;
    for (const moof of boxes(view, 0, bytes.length)) {
        if (moof.type !== 'moof') continue;
        for (const traf of boxes(view, moof.body, moof.end)) {
            if (traf.type !== 'traf') continue;
            const tfhd = find(view, traf, 'tfhd');
            if (tfhd && kept.has(view.getUint32(tfhd.body + 4))) has = true;
            else blank(view, traf);
        }
    }
    return has;
}
