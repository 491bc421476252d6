// @ts-check
// Tracks of initialization sections and fragments (ISO/IEC 14496-12): one kind is kept, the others become `free` boxes (§8.1.2), so that no
// offset changes. Pictures then play by the system's clock, and only the sound that is heard is decoded.

/** @typedef {'video' | 'audio'} TrackKind */

const handlers = { video: 'vide', audio: 'soun' };

/** Codecs of sound; all others are of pictures (RFC 6381 §3.3). */
const soundCodecs = /^(mp4a|opus|flac|ac-3|ec-3|alac)/i;

/**
 * The codecs of a kind.
 * @param {string} codecs `avc1.64001e,mp4a.40.2`
 * @param {TrackKind} kind
 */
export function codecsOf(codecs, kind) {
    return codecs.split(',').map((codec) => codec.trim())
        .filter((codec) => codec && soundCodecs.test(codec) === (kind === 'audio')).join(',');
}

/**
 * The boxes between two offsets.
 * @param {DataView} view
 * @param {number} from
 * @param {number} until
 * @returns {Generator<{ type: string, at: number, body: number, end: number }>}
 */
export function* boxes(view, from, until) {
    let at = from;
    while (at + 8 <= until) {
        let size = view.getUint32(at);
        let body = at + 8;
        if (size === 1) {
            size = Number(view.getBigUint64(body));
            body += 8;
        } else if (size === 0) size = until - at;
        if (size < body - at || at + size > until) return;
        yield { type: typeAt(view, at + 4), at, body, end: at + size };
        at += size;
    }
}

/**
 * @param {DataView} view
 * @param {number} at
 */
function typeAt(view, at) {
    return String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)));
}

/**
 * @param {DataView} view
 * @param {{ body: number, end: number }} box
 * @param {string} type
 */
export function child(view, box, type) {
    for (const other of boxes(view, box.body, box.end)) if (other.type === type) return other;
    return undefined;
}

/**
 * @param {DataView} view
 * @param {number} at Of a box.
 */
function free(view, at) {
    view.setUint32(at + 4, 0x66726565);
}

/** @param {Uint8Array} bytes */
export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Keeps the tracks of one kind in an initialization section, in place.
 * @param {Uint8Array} bytes
 * @param {TrackKind} kind
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
            const tkhd = child(view, box, 'tkhd');
            const mdia = child(view, box, 'mdia');
            const hdlr = mdia && child(view, mdia, 'hdlr');
            if (!tkhd || !hdlr) continue;
            // tkhd (§8.3.2): version and flags, two times of 4 or 8 bytes, the identifier.
            const identifier = view.getUint32(tkhd.body + (view.getUint8(tkhd.body) === 1 ? 20 : 12));
            if (typeAt(view, hdlr.body + 8) === handlers[kind]) kept.add(identifier);
            else free(view, box.at);
        }
        const mvex = child(view, moov, 'mvex');
        if (!mvex) continue;
        for (const box of boxes(view, mvex.body, mvex.end)) {
            if (box.type === 'trex' && !kept.has(view.getUint32(box.body + 4))) free(view, box.at);
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
            const tfhd = child(view, traf, 'tfhd');
            if (tfhd && kept.has(view.getUint32(tfhd.body + 4))) has = true;
            else free(view, traf.at);
        }
    }
    return has;
}
