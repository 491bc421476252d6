/// A source's two kinds of track; the raw value is the track's number on the wire and its track_ID in files.
package enum TrackKind: UInt8, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    case video = 1
    case audio = 2

    package var description: String {
        switch self {
        case .video: "video"
        case .audio: "audio"
        }
    }
}

/// The decoder configuration of a track.
package enum TrackFormat: Hashable, Sendable {
    case video(VideoFormat)
    case audio(AudioFormat)

    package var kind: TrackKind {
        switch self {
        case .video: .video
        case .audio: .audio
        }
    }

    /// The timescale of this track in recordings: 90 kHz, or the audio's own sample rate.
    package var timescale: Timescale {
        switch self {
        case .video: .video
        case .audio(let format): Timescale(format.sampleRate)
        }
    }
}

extension TrackFormat {
    /// The codec in `CODECS` and MIME types (RFC 6381 §3.3): `avc1.64001e`, `mp4a.40.2`.
    package var codecText: String {
        switch self {
        case .video(let format): format.codec.coding.codecText(format)
        case .audio(let format): format.codec.coding.codecText(format)
        }
    }

    /// Display name of the codec: `H.264`, `AAC`.
    package var codecName: String {
        switch self {
        case .video(let format): format.codec.description
        case .audio(let format): format.codec.description
        }
    }

    /// A self-contained sample: a picture with its parameter sets where decoding can begin, audio with its header.
    package func describing(_ sample: [UInt8]) throws(BitstreamError) -> [UInt8] {
        switch self {
        case .video(let format): try format.describing(sample.span)
        case .audio(let format): try format.codec.coding.describing(sample, format)
        }
    }
}

extension CodedTrack {
    /// The codec, if recordings can have it.
    package var audioCodec: AudioCodec? { AudioCodec(libraryName: codec) }

    /// A recording's track, as its container would describe it.
    package init(_ format: TrackFormat) throws(BitstreamError) {
        switch format {
        case .video(let format):
            let properties = try format.properties()
            self.init(
                codec: format.codec.libraryName, codecTag: 0, configuration: try format.record(),
                content: .picture(
                    Picture(
                        width: Int(format.width), height: Int(format.height),
                        format: properties.pixelFormat, colour: properties.colour, rate: nil,
                        hasConstantRate: false, sampleAspectRatio: format.pixelShape,
                        orientation: format.orientation)))
        case .audio(let format):
            self.init(
                codec: format.codec.libraryName, codecTag: 0, configuration: format.configuration,
                content: .sound(
                    Audio(
                        sampleRate: Int(format.sampleRate), channels: Int(format.channels),
                        packetFrames: Int(try format.codec.coding.packetFrames(format)))))
        }
    }
}

/// Display names of the codecs that recordings support: `H.264, H.265 and AAC`.
package var recordableCodecs: String {
    (VideoCodec.all.map(\.description) + AudioCodec.all.dropLast().map(\.description))
        .joined(separator: ", ") + " and \(AudioCodec.all[AudioCodec.all.count - 1])"
}
