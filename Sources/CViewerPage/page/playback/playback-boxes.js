// @ts-check
// Parses recorded files (ISO/IEC 14496-12): the decoder configuration of one track, and the presentation times of its samples.
//
// A media element plays only ranges where all of its tracks have media. So each element gets a single track, and a gap of the audio
// does not hide pictures: boxes of other tracks become `free` boxes of the same size, which keeps all offsets.

/** @typedef {'video' | 'audio'} Kind */

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

/** `video` and `audio` as `hdlr` says them. */
const handlers = { video: 'vide', audio: 'soun' };

/**
 * @typedef {{ type: string, start: number, body: number, end: number }} Box
 */

/**
 * The boxes in a range; ends where one does not fit.
 * @param {DataView} view
 * @param {number} start
 * @param {number} end
 * @returns {Generator<Box>}
 */
function* boxes(view, start, end) {
    while (start + 8 <= end) {
        let size = view.getUint32(start);
        let body = start + 8;
        if (size === 1) {
            if (start + 16 > end) return;
            size = Number(view.getBigUint64(start + 8));
            body = start + 16;
        } else if (size === 0) {
            size = end - start;
        }
        if (size < body - start || start + size > end) return;
        yield { type: fourCC(view, start + 4), start, body, end: start + size };
        start += size;
    }
}

/**
 * @param {DataView} view
 * @param {number} at
 */
function fourCC(view, at) {
    let text = '';
    for (let index = 0; index < 4; index += 1) text += String.fromCharCode(view.getUint8(at + index));
    return text;
}

/**
 * The first box at a path below another.
 * @param {DataView} view
 * @param {{ body: number, end: number }} parent
 * @param {...string} path
 * @returns {Box | undefined}
 */
function find(view, parent, ...path) {
    /** @type {{ body: number, end: number }} */
    let inside = parent;
    /** @type {Box | undefined} */
    let found;
    for (const type of path) {
        found = undefined;
        for (const box of boxes(view, inside.body, inside.end)) {
            if (box.type === type) {
                found = box;
                break;
            }
        }
        if (!found) return undefined;
        inside = found;
    }
    return found;
}

/**
 * @param {DataView} view
 * @param {number} start Of a box.
 */
function blank(view, start) {
    for (let index = 0; index < 4; index += 1) view.setUint8(start + 4 + index, 'free'.charCodeAt(index));
}

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
    const movieTimescale = header ? view.getUint32(header.body + (view.getUint8(header.body) === 1 ? 20 : 12)) : 1;
    /** @type {Track | null} */
    let track = null;
    for (const box of boxes(view, movie.body, movie.end)) {
        if (box.type !== 'trak') continue;
        const handler = find(view, box, 'mdia', 'hdlr');
        if (!track && handler && fourCC(view, handler.body + 8) === handlers[kind]) {
            track = readTrack(view, box, movieTimescale, bytes);
        } else {
            blank(view, box.start);
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
                blank(view, box.start);
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
    const id = view.getUint32(header.body + (view.getUint8(header.body) === 1 ? 20 : 12));
    const timescale = view.getUint32(media.body + (view.getUint8(media.body) === 1 ? 20 : 12));
    let shift = 0;
    const edits = find(view, box, 'edts');
    const list = edits && find(view, edits, 'elst');
    if (edits && list) {
        shift = editShift(view, list, movieTimescale, timescale);
        blank(view, edits.start);
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
    const isLong = view.getUint8(list.body) === 1;
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
 * The codec as MIME types name it (RFC 6381 §3.3).
 * @param {DataView} view
 * @param {Box} entry Of `stsd`.
 */
function codecOf(view, entry) {
    if (entry.type === 'mp4a') {
        const box = find(view, { body: entry.body + 28, end: entry.end }, 'esds');
        return `mp4a.40.${box ? audioObjectType(view, box) : 2}`;
    }
    const boxes = { body: entry.body + 78, end: entry.end };
    const hvcC = find(view, boxes, 'hvcC');
    if (hvcC && hvcC.body + 13 <= hvcC.end) return hevcCodec(view, entry.type, hvcC);
    const box = find(view, boxes, 'avcC');
    if (!box) return entry.type;
    const digits = [1, 2, 3].map((index) => view.getUint8(box.body + index).toString(16).padStart(2, '0'));
    return `avc1.${digits.join('')}`;
}

/**
 * `hvc1.1.6.L93.B0`: profile, compatibility flags, tier and level, constraint flags (ISO/IEC 14496-15 §E.3).
 * @param {DataView} view
 * @param {string} type Of the sample entry.
 * @param {Box} box `hvcC`
 */
function hevcCodec(view, type, { body }) {
    const profile = view.getUint8(body + 1);
    let flags = 0;
    for (let bit = 0; bit < 32; bit += 1) {
        if (view.getUint32(body + 2) & (1 << bit)) flags = (flags | (1 << (31 - bit))) >>> 0;
    }
    const constraints = [6, 7, 8, 9, 10, 11].map((index) => view.getUint8(body + index));
    while (constraints.at(-1) === 0) constraints.pop();
    return [
        type, `${['', 'A', 'B', 'C'][profile >> 6]}${profile & 0x1f}`, flags.toString(16).toUpperCase(),
        `${profile & 0x20 ? 'H' : 'L'}${view.getUint8(body + 12)}`, ...constraints.map((byte) => byte.toString(16).toUpperCase()),
    ].join('.');
}

/**
 * @param {DataView} view
 * @param {Box} box `esds`
 */
function audioObjectType(view, box) {
    // Descriptors are nested: ES (3), decoder configuration (4), decoder specific info (5).
    const skips = new Map([[3, 3], [4, 13]]);
    let at = box.body + 4;
    while (at + 2 < box.end) {
        const tag = view.getUint8(at);
        at += 1;
        while (view.getUint8(at) & 0x80 && at < box.end - 1) at += 1;
        at += 1;
        if (tag === 5) return view.getUint8(at) >> 3;
        const skip = skips.get(tag);
        if (skip === undefined) break;
        at += skip;
    }
    return 2;
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
                result.parts.push(new Uint8Array(buffer, head.start, box.end - head.start));
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
            blank(view, part.start);
            continue;
        }
        const flags = view.getUint32(header.body) & 0xffffff;
        // A data offset of 8 bytes and a description's index of 4 may precede the default duration (§8.8.7).
        const place = header.body + 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
        const usual = flags & 8 ? view.getUint32(place) : track.sampleDuration;
        const time = find(view, part, 'tfdt');
        if (!time) continue;
        let ticks = view.getUint8(time.body) === 1
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
 * @param {number} ticks When its first sample is decoded.
 * @param {number} usual Duration of samples that say none.
 * @param {{ start: number, end: number }[]} samples
 * @returns {number} When the next run begins.
 */
function readRun(view, run, track, ticks, usual, samples) {
    const isSigned = view.getUint8(run.body) === 1;
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
 * Where the file's timeline begins and how exact its times are, as the fragment's record says.
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
