// @ts-check
// The pictures of initialization sections and fragments, one by one, for a decoder of our own (ISO/IEC 14496-12 §8.8, 14496-15 §5.4.2).

import { boxes, find, isWide, viewOf } from './boxes.js';
import { pictureDescription } from './codecs.js';

/**
 * @typedef {object} PictureTrack
 * @property {number} identifier
 * @property {number} timescale
 * @property {Uint8Array | undefined} description The decoder configuration: the content of `avcC` or `hvcC`.
 * @property {number} duration Default duration of a sample.
 * @property {number} size
 * @property {number} flags
 * @property {Turn} turn
 */

/** @typedef {{ time: number, duration: number, isKeyframe: boolean, bytes: Uint8Array }} Picture Times in seconds of the session. */

/**
 * The track with pictures that is kept in an initialization section.
 * @param {Uint8Array} bytes
 * @returns {PictureTrack | undefined}
 */
export function pictureTrack(bytes) {
    const found = keptTrack(bytes);
    if (!found) return undefined;
    const { track, entry, view } = found;
    track.description = pictureDescription(view, entry);
    return track;
}

/**
 * The track that is kept in an initialization section, without its description, and its sample entry.
 * @param {Uint8Array} bytes
 */
export function keptTrack(bytes) {
    const view = viewOf(bytes);
    const moov = find(view, { body: 0, end: bytes.length }, 'moov');
    const trak = moov && find(view, moov, 'trak');
    const tkhd = trak && find(view, trak, 'tkhd');
    const mdhd = trak && find(view, trak, 'mdia', 'mdhd');
    const stsd = trak && find(view, trak, 'mdia', 'minf', 'stbl', 'stsd');
    const [entry] = stsd ? boxes(view, stsd.body + 8, stsd.end) : [];
    if (!moov || !tkhd || !mdhd || !entry) return undefined;
    const identifier = view.getUint32(tkhd.body + (isWide(view, tkhd) ? 20 : 12));
    /** @type {PictureTrack} */
    const track = {
        identifier, timescale: view.getUint32(mdhd.body + (isWide(view, mdhd) ? 20 : 12)), description: undefined, duration: 0, size: 0, flags: 0,
        turn: turnOf(view, tkhd.body + (isWide(view, tkhd) ? 52 : 40)),
    };
    const mvex = find(view, moov, 'mvex');
    for (const trex of mvex ? boxes(view, mvex.body, mvex.end) : []) {
        if (trex.type !== 'trex' || view.getUint32(trex.body + 4) !== identifier) continue;
        [track.duration, track.size, track.flags] = [12, 16, 20].map((at) => view.getUint32(trex.body + at));
    }
    return { track, entry, view };
}

/**
 * How a decoded picture is turned and mirrored to be shown: the first four values of a canvas's transformation.
 * @typedef {[number, number, number, number]} Turn
 */

/** @type {Turn} */
export const upright = [1, 0, 0, 1];

/**
 * Turn by a track's matrix (ISO/IEC 14496-12 §8.3.2, §6.2.2): right angles and mirroring. Other matrices are ignored.
 * @param {DataView} view
 * @param {number} at Offset of the matrix.
 * @returns {Turn}
 */
function turnOf(view, at) {
    // The order is a, b, u, c, d, v, x, y, w; a, b, c and d are 16.16.
    const [a, b, c, d] = [0, 4, 12, 16].map((offset) => view.getInt32(at + offset) / 0x10000);
    const areUnits = [a, b, c, d].every((value) => Math.abs(value) === 1 || value === 0);
    return areUnits && Math.abs(a * d - b * c) === 1 ? [a, b, c, d] : upright;
}

/**
 * The pictures of a fragment, in the order of decoding.
 * @param {Uint8Array} bytes
 * @param {PictureTrack} track
 * @returns {Picture[]}
 */
export function pictures(bytes, track) {
    const view = viewOf(bytes);
    /** @type {Picture[]} */
    const found = [];
    for (const moof of boxes(view, 0, bytes.length)) {
        if (moof.type !== 'moof') continue;
        for (const traf of boxes(view, moof.body, moof.end)) {
            const tfhd = traf.type === 'traf' && find(view, traf, 'tfhd');
            const tfdt = traf.type === 'traf' && find(view, traf, 'tfdt');
            if (!tfhd || !tfdt || view.getUint32(tfhd.body + 4) !== track.identifier) continue;
            const defaults = defaultsOf(view, tfhd, track);
            let time = view.getUint8(tfdt.body) === 1 ? Number(view.getBigUint64(tfdt.body + 4)) : view.getUint32(tfdt.body + 4);
            for (const trun of boxes(view, traf.body, traf.end)) {
                if (trun.type === 'trun') time = readRun(bytes, view, trun, { start: moof.at, time, timescale: track.timescale, ...defaults }, found);
            }
        }
    }
    return found;
}

/**
 * @param {DataView} view
 * @param {{ body: number }} tfhd
 * @param {PictureTrack} track
 */
function defaultsOf(view, tfhd, track) {
    const has = view.getUint32(tfhd.body) & 0xffffff;
    let at = tfhd.body + 8 + (has & 1 ? 8 : 0) + (has & 2 ? 4 : 0);
    const next = (/** @type {number} */ flag, /** @type {number} */ otherwise) => {
        if (!(has & flag)) return otherwise;
        at += 4;
        return view.getUint32(at - 4);
    };
    return { duration: next(8, track.duration), size: next(16, track.size), flags: next(32, track.flags) };
}

/**
 * @param {Uint8Array} bytes
 * @param {DataView} view
 * @param {{ body: number }} trun
 * @param {{ start: number, time: number, timescale: number, duration: number, size: number, flags: number }} context
 * @param {Picture[]} found
 * @returns {number} The time after it.
 */
function readRun(bytes, view, trun, context, found) {
    const has = view.getUint32(trun.body) & 0xffffff;
    const count = view.getUint32(trun.body + 4);
    let at = trun.body + 8;
    const next = () => view.getUint32((at += 4) - 4);
    let data = context.start + (has & 1 ? view.getInt32((at += 4) - 4) : 0);
    const first = has & 4 ? next() : undefined;
    let { time } = context;
    for (let index = 0; index < count; index += 1) {
        const duration = has & 0x100 ? next() : context.duration;
        const size = has & 0x200 ? next() : context.size;
        const own = has & 0x400 ? next() : context.flags;
        const offset = has & 0x800 ? view.getInt32((at += 4) - 4) : 0;
        const flags = index === 0 && first !== undefined ? first : own;
        found.push({
            time: (time + offset) / context.timescale,
            duration: duration / context.timescale,
            // sample_is_non_sync_sample (§8.8.3.1).
            isKeyframe: !(flags & 0x10000),
            bytes: bytes.subarray(data, data + size),
        });
        data += size;
        time += duration;
    }
    return time;
}
