// @ts-check
// Parses recorded files (ISO/IEC 14496-12): the decoder configuration of one track, and the presentation times of its samples.
//
// A media element plays only where all of its tracks have media, so each element gets one track: boxes of other tracks become `free`.

import { blank, boxes, find, fourCC, isWide } from './boxes.js';
import { codecOf, handlers } from './codecs.js';

/** @typedef {import('./boxes.js').Box} Box */
/** @typedef {import('./codecs.js').TrackKind} Kind */

/**
 * One track of a file, as its initialization section describes it.
 * @typedef {object} Track
 * @property {number} id
 * @property {number} timescale
 * @property {number} shift Added to presentation times by the edit list, seconds.
 * @property {string} codec `avc1.64001e`
 * @property {number} sampleDuration Default of a fragment, in ticks.
 * @property {number} sampleFlags
 * @property {Uint8Array} bytes The initialization segment with this track only, without its edit list.
 */

/**
 * Samples of a segment, in the order of presentation. Times are seconds on the timeline of the file.
 * @typedef {object} Fragments
 * @property {number[]} starts
 * @property {number[]} ends
 * @property {number | null} origin Start of the file's timeline, session time; null if unknown.
 * @property {number[]} boundStarts Start of each error bound.
 * @property {number[]} bounds Error bounds, seconds.
 * @property {Uint8Array[]} parts Data to append.
 */

/** The record of a fragment (`FragmentRecord` in the module Archive): its user type. */
const recordType = 'b5a7c5b49e0e4c6b8f5d5452494255f1';

/**
 * @param {ArrayBuffer} buffer An initialization section.
 * @param {Kind} kind
 * @returns {Track | null} Null: the file has no such track.
 */
export function readInitialization(buffer, kind) {
    const bytes = new Uint8Array(buffer.slice(0));
    const view = new DataView(bytes.buffer);
    const movie = find(view, { body: 0, end: bytes.length }, 'moov');
    if (!movie) return null;
    const header = find(view, movie, 'mvhd');
    const movieTimescale = header ? view.getUint32(header.body + (isWide(view, header) ? 20 : 12)) : 1;
    /** @type {Track | null} */
    let track = null;
    for (const box of boxes(view, movie.body, movie.end)) {
        if (box.type !== 'trak') continue;
        const handler = find(view, box, 'mdia', 'hdlr');
        if (!track && handler && fourCC(view, handler.body + 8) === handlers[kind]) {
            track = readTrack(view, box, movieTimescale, bytes);
        } else {
            blank(view, box);
        }
    }
    if (!track) return null;
    const extends_ = find(view, movie, 'mvex');
    if (extends_) {
        for (const box of boxes(view, extends_.body, extends_.end)) {
            if (box.type !== 'trex') continue;
            if (view.getUint32(box.body + 4) === track.id) {
                track.sampleDuration = view.getUint32(box.body + 12);
                track.sampleFlags = view.getUint32(box.body + 20);
            } else {
                blank(view, box);
            }
        }
    }
    return track;
}

/**
 * @param {DataView} view
 * @param {Box} box `trak`
 * @param {number} movieTimescale
 * @param {Uint8Array} bytes
 * @returns {Track | null}
 */
function readTrack(view, box, movieTimescale, bytes) {
    const header = find(view, box, 'tkhd');
    const media = find(view, box, 'mdia', 'mdhd');
    const entries = find(view, box, 'mdia', 'minf', 'stbl', 'stsd');
    if (!header || !media || !entries) return null;
    const id = view.getUint32(header.body + (isWide(view, header) ? 20 : 12));
    const timescale = view.getUint32(media.body + (isWide(view, media) ? 20 : 12));
    let shift = 0;
    const edits = find(view, box, 'edts');
    const list = edits && find(view, edits, 'elst');
    if (edits && list) {
        shift = editShift(view, list, movieTimescale, timescale);
        blank(view, edits);
    }
    const [entry] = boxes(view, entries.body + 8, entries.end);
    if (!entry) return null;
    return {
        id, timescale, shift, codec: codecOf(view, entry), sampleDuration: 0, sampleFlags: 0, bytes,
    };
}

/**
 * The shift of presentation times by an edit list, seconds (§8.6.6).
 * @param {DataView} view
 * @param {Box} list
 * @param {number} movieTimescale
 * @param {number} timescale
 */
function editShift(view, list, movieTimescale, timescale) {
    const isLong = isWide(view, list);
    const count = view.getUint32(list.body + 4);
    let shift = 0;
    let at = list.body + 8;
    for (let index = 0; index < count && at + (isLong ? 20 : 12) <= list.end; index += 1) {
        const length = isLong ? Number(view.getBigUint64(at)) : view.getUint32(at);
        const start = isLong ? Number(view.getBigInt64(at + 8)) : view.getInt32(at + 4);
        if (start >= 0) return shift - start / timescale;
        shift += length / movieTimescale;
        at += isLong ? 20 : 12;
    }
    return shift;
}

/**
 * The fragments of a segment: the data to append, and the presentation times of its samples.
 * @param {ArrayBuffer} buffer `moof` and `mdat` boxes, and others between them. Boxes of other tracks are blanked in it.
 * @param {Track} track
 * @returns {Fragments}
 */
export function readFragments(buffer, track) {
    const view = new DataView(buffer);
    /** @type {{ start: number, end: number }[]} */
    const samples = [];
    /** @type {Fragments} */
    const result = { starts: [], ends: [], origin: null, boundStarts: [], bounds: [], parts: [] };
    /** @type {Box | undefined} */
    let head;
    for (const box of boxes(view, 0, buffer.byteLength)) {
        if (box.type === 'moof') {
            head = box;
        } else if (box.type === 'mdat' && head) {
            const first = samples.length;
            readFragment(view, head, track, samples);
            const record = readRecord(view, head);
            if (record) result.origin = record.origin;
            if (samples.length > first) {
                result.parts.push(new Uint8Array(buffer, head.at, box.end - head.at));
                if (record) {
                    result.boundStarts.push(samples[first].start);
                    result.bounds.push(record.bound);
                }
            }
            head = undefined;
        }
    }
    samples.sort((one, other) => one.start - other.start);
    for (const sample of samples) {
        result.starts.push(sample.start);
        result.ends.push(sample.end);
    }
    return result;
}

/**
 * @param {DataView} view
 * @param {Box} head `moof`
 * @param {Track} track
 * @param {{ start: number, end: number }[]} samples
 */
function readFragment(view, head, track, samples) {
    for (const part of boxes(view, head.body, head.end)) {
        if (part.type !== 'traf') continue;
        const header = find(view, part, 'tfhd');
        if (!header || view.getUint32(header.body + 4) !== track.id) {
            blank(view, part);
            continue;
        }
        const flags = view.getUint32(header.body) & 0xffffff;
        // A data offset of 8 bytes and a description's index of 4 may precede the default duration (§8.8.7).
        const place = header.body + 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
        const usual = flags & 8 ? view.getUint32(place) : track.sampleDuration;
        const time = find(view, part, 'tfdt');
        if (!time) continue;
        let ticks = isWide(view, time)
            ? Number(view.getBigUint64(time.body + 4)) : view.getUint32(time.body + 4);
        for (const run of boxes(view, part.body, part.end)) {
            if (run.type === 'trun') ticks = readRun(view, run, track, ticks, usual, samples);
        }
    }
}

/**
 * @param {DataView} view
 * @param {Box} run `trun` (§8.8.8)
 * @param {Track} track
 * @param {number} ticks Decoding time of its first sample.
 * @param {number} usual Duration of samples without one.
 * @param {{ start: number, end: number }[]} samples
 * @returns {number} Decoding time of the next run.
 */
function readRun(view, run, track, ticks, usual, samples) {
    const isSigned = isWide(view, run);
    const flags = view.getUint32(run.body) & 0xffffff;
    const count = view.getUint32(run.body + 4);
    let at = run.body + 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
    for (let index = 0; index < count; index += 1) {
        let length = usual;
        if (flags & 0x100) {
            length = view.getUint32(at);
            at += 4;
        }
        if (flags & 0x200) at += 4;
        if (flags & 0x400) at += 4;
        let offset = 0;
        if (flags & 0x800) {
            offset = isSigned ? view.getInt32(at) : view.getUint32(at);
            at += 4;
        }
        const start = (ticks + offset) / track.timescale + track.shift;
        samples.push({ start, end: start + length / track.timescale });
        ticks += length;
    }
    return ticks;
}

/**
 * The start of the file's timeline and the bounds of its times, from the fragment's record.
 * @param {DataView} view
 * @param {Box} head `moof`
 */
function readRecord(view, head) {
    for (const box of boxes(view, head.body, head.end)) {
        if (box.type !== 'uuid' || box.body + 100 > box.end) continue;
        let type = '';
        for (let index = 0; index < 16; index += 1) {
            type += view.getUint8(box.body + index).toString(16).padStart(2, '0');
        }
        if (type !== recordType) continue;
        const record = box.body + 16;
        // Version 1 lacks the session's zero on the collector's own clock.
        const origin = record + (view.getUint8(record) === 1 ? 68 : 76);
        return {
            bound: Number(view.getBigUint64(record + 44)) / 1e9,
            origin: Number(view.getBigInt64(origin)) / 1e9,
        };
    }
    return null;
}
