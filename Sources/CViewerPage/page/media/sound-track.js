// @ts-check
// The audio track of an initialization segment, and its decoder configuration.

import { soundDescription } from './codecs.js';
import { keptTrack } from './live-samples.js';

/** Sound is decoded where WebCodecs are. */
export const canDecodeSound = 'AudioDecoder' in window && isSecureContext;

/**
 * @param {Uint8Array} bytes An initialization section in which no track but the one with sound is kept.
 * @param {string} codec `mp4a.40.2`
 * @returns {{ track: import('./live-samples.js').PictureTrack, configuration: AudioDecoderConfig } | undefined}
 */
export function soundTrack(bytes, codec) {
    const found = keptTrack(bytes);
    if (!found) return undefined;
    const { channels, rate, description } = soundDescription(found.view, found.entry);
    return { track: found.track, configuration: { codec, sampleRate: rate, numberOfChannels: channels, ...description && { description } } };
}
