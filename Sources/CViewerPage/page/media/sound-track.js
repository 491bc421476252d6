// @ts-check
// The audio track of an initialization segment, and its decoder configuration (ISO/IEC 14496-12 §12.2, 14496-1 §7.2.6).

import { keptTrack } from './live-samples.js';
import { boxes, child } from './movie-tracks.js';

/** Sound is decoded where WebCodecs are. */
export const canDecodeSound = 'AudioDecoder' in window && isSecureContext;

/**
 * @param {Uint8Array} bytes An initialization section in which no track but the one with sound is kept.
 * @param {string} codec `mp4a.40.2`
 * @returns {{ track: import('./live-samples.js').PictureTrack, configuration: AudioDecoderConfig } | undefined}
 */
export function soundTrack(bytes, codec) {
    const found = keptTrack(bytes);
    const entry = found && [...boxes(found.view, found.stsd.body + 8, found.stsd.end)][0];
    if (!found || !entry) return undefined;
    // AudioSampleEntry (ISO/IEC 14496-12 §12.2.3): channels and rate, then its boxes.
    const [channels, rate] = [found.view.getUint16(entry.body + 16), found.view.getUint32(entry.body + 24) >>> 16];
    const esds = child(found.view, { body: entry.body + 28, end: entry.end }, 'esds');
    const description = esds && specificInfo(bytes.subarray(esds.body + 4, esds.end));
    return { track: found.track, configuration: { codec, sampleRate: rate, numberOfChannels: channels, ...(description ? { description } : {}) } };
}

/**
 * DecoderSpecificInfo of an ES_Descriptor (ISO/IEC 14496-1 §7.2.6.5), which is AudioSpecificConfig.
 * @param {Uint8Array} bytes
 * @returns {Uint8Array | undefined}
 */
function specificInfo(bytes) {
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
