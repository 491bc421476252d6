// @ts-check
// Codec-specific properties of a track: the content of its sample entry (ISO/IEC 14496-15 §5.4 and §8.4, 14496-14 §6.7), and its name in MIME
// types (RFC 6381 §3.3).

import { find } from './boxes.js';

/** @typedef {import('./boxes.js').Box} Box */
/** @typedef {'video' | 'audio'} TrackKind */

/** Kinds of tracks as `hdlr` names them (ISO/IEC 14496-12 §8.4.3). */
export const handlers = { video: 'vide', audio: 'soun' };

/** Codecs of sound by the type of their sample entry, which begins the name: the configuration in the entry, and the name that it makes. */
const soundCodecs = new Map([['mp4a', { configuration: audioSpecificConfig, name: aacName }]]);

/**
 * The codecs of a kind.
 * @param {string} codecs `avc1.64001e,mp4a.40.2`
 * @param {TrackKind} kind
 */
export function codecsOf(codecs, kind) {
    return codecs.split(',').map((codec) => codec.trim())
        .filter((codec) => codec && soundCodecs.has(codec.split('.')[0]) === (kind === 'audio')).join(',');
}

/**
 * Boxes of a visual sample entry (ISO/IEC 14496-12 §12.1.3), which has 78 bytes before them.
 * @param {Box} entry
 */
const ofPictures = (entry) => ({ body: entry.body + 78, end: entry.end });

/**
 * Boxes of an audio sample entry (ISO/IEC 14496-12 §12.2.3), which has 28 bytes before them.
 * @param {Box} entry
 */
const ofSound = (entry) => ({ body: entry.body + 28, end: entry.end });

/**
 * Codecs of pictures by the box of their configuration: bytes before its record (4 in a FullBox, as `vvcC`), and the name that the record makes.
 */
const pictureCodecs = { avcC: { skip: 0, name: avcName }, hvcC: { skip: 0, name: hevcName } };

/**
 * @param {DataView} view
 * @param {Box} entry
 */
function pictureConfiguration(view, entry) {
    for (const [type, { skip, name }] of Object.entries(pictureCodecs)) {
        const box = find(view, ofPictures(entry), type);
        if (box) return { record: { ...box, body: box.body + skip }, name };
    }
    return undefined;
}

/**
 * The decoder configuration of pictures, as decoders want it: the record in `avcC` or `hvcC`.
 * @param {DataView} view
 * @param {Box} entry Of `stsd`.
 */
export function pictureDescription(view, entry) {
    const found = pictureConfiguration(view, entry);
    return found && bytesOf(view, found.record.body, found.record.end);
}

/**
 * Channels and rate of sound, and the decoder configuration as decoders want it.
 * @param {DataView} view
 * @param {Box} entry Of `stsd`.
 */
export function soundDescription(view, entry) {
    return {
        channels: view.getUint16(entry.body + 16), rate: view.getUint32(entry.body + 24) >>> 16,
        description: soundCodecs.get(entry.type)?.configuration(view, entry),
    };
}

/**
 * The codec as MIME types name it.
 * @param {DataView} view
 * @param {Box} entry Of `stsd`.
 */
export function codecOf(view, entry) {
    const sound = soundCodecs.get(entry.type);
    if (sound) return sound.name(sound.configuration(view, entry));
    const found = pictureConfiguration(view, entry);
    return found ? found.name(view, entry.type, found.record) : entry.type;
}

/**
 * `avc1.64001e`: profile, constraints, level (RFC 6381 §3.3).
 * @param {DataView} view
 * @param {string} _type
 * @param {Box} box `avcC`
 */
function avcName(view, _type, box) {
    const digits = [1, 2, 3].map((index) => view.getUint8(box.body + index).toString(16).padStart(2, '0'));
    return `avc1.${digits.join('')}`;
}

/**
 * `hvc1.1.6.L93.B0`: profile, compatibility flags, tier and level, constraint flags (ISO/IEC 14496-15 §E.3).
 * @param {DataView} view
 * @param {string} type Of the sample entry.
 * @param {Box} box `hvcC`
 */
function hevcName(view, type, { body, end }) {
    if (body + 13 > end) return type;
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
 * `mp4a.40.2`: the object type, which is the first five bits of AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1).
 * @param {Uint8Array | undefined} specific
 */
function aacName(specific) {
    return `mp4a.40.${specific?.length ? specific[0] >> 3 : 2}`;
}

/**
 * DecoderSpecificInfo of the ES_Descriptor in `esds` (ISO/IEC 14496-1 §7.2.6.5), which is AudioSpecificConfig.
 * @param {DataView} view
 * @param {Box} entry `mp4a`
 * @returns {Uint8Array | undefined}
 */
function audioSpecificConfig(view, entry) {
    const esds = find(view, ofSound(entry), 'esds');
    const bytes = esds ? bytesOf(view, esds.body + 4, esds.end) : new Uint8Array();
    let at = 0;
    const header = () => {
        const tag = bytes[at];
        at += 1;
        let [size, more] = [0, 0x80];
        while (more && at < bytes.length) {
            size = size * 128 + (bytes[at] & 0x7f);
            more = bytes[at] & 0x80;
            at += 1;
        }
        return { tag, size };
    };
    while (at < bytes.length) {
        const { tag, size } = header();
        if (tag === 3) at += 3;
        else if (tag === 4) at += 13;
        else if (tag === 5) return bytes.slice(at, at + size);
        else at += size;
    }
    return undefined;
}

/**
 * A copy of the bytes between two offsets.
 * @param {DataView} view
 * @param {number} from
 * @param {number} until
 */
const bytesOf = (view, from, until) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice(from, until);
