/// Properties of a sample.
package struct SampleFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Decoding can begin here: a picture that is an ``AccessPoint``, or any packet of audio.
    package static let keyframe = SampleFlags(rawValue: 1 << 0)
    /// Needed by the decoder, never presented: an AAC encoder's delay before the first captured sound.
    package static let priming = SampleFlags(rawValue: 1 << 1)
}

/// One access unit or one AAC packet, with its times on the agent's capture clock.
package struct EncodedSample: Hashable, Sendable {
    package var track: TrackKind
    /// Presentation time, nanoseconds of the agent's `CLOCK_MONOTONIC`.
    package var ptsNanoseconds: Int64
    /// Decoding time, nanoseconds of the same clock; never after the presentation time.
    package var dtsNanoseconds: Int64
    /// Expected duration, nanoseconds.
    package var durationNanoseconds: Int64
    package var flags: SampleFlags
    /// Video: NAL units with 4-byte lengths (ISO/IEC 14496-15 §5.3). Sound: one raw AAC packet, no ADTS header.
    package var data: [UInt8]
    /// Stamps of a sample from a network camera, and the sender reports since the previous sample; nil for other sources.
    package var camera: CameraStamps?

    package init(
        track: TrackKind, ptsNanoseconds: Int64, dtsNanoseconds: Int64, durationNanoseconds: Int64,
        flags: SampleFlags, data: [UInt8]
    ) {
        self.track = track
        self.ptsNanoseconds = ptsNanoseconds
        self.dtsNanoseconds = dtsNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.flags = flags
        self.data = data
    }
}
