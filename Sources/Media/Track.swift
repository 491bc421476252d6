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
    case h264(H264Format)
    case aac(AACFormat)

    package var kind: TrackKind {
        switch self {
        case .h264: .video
        case .aac: .audio
        }
    }

    /// The timescale of this track in recordings: 90 kHz, or the audio's own sample rate.
    package var timescale: Timescale {
        switch self {
        case .h264: .video
        case .aac(let format): Timescale(format.sampleRate)
        }
    }
}

/// An H.264 track: its parameter sets and the picture's size.
package struct H264Format: Hashable, Sendable {
    /// Sequence parameter set NAL units, header byte included, without start code or length.
    package var sequenceParameterSets: [[UInt8]]
    /// Picture parameter set NAL units, header byte included, without start code or length.
    package var pictureParameterSets: [[UInt8]]
    /// Width of the cropped picture in pixels.
    package var width: UInt32
    /// Height of the cropped picture in pixels.
    package var height: UInt32
    /// Display orientation.
    package var orientation: PictureOrientation
    /// The pixel shape, if the container's differs from that of the parameter sets (`pasp`, `DisplayWidth`).
    package var sampleAspectRatio: SampleAspectRatio?

    package init(
        sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]], width: UInt32,
        height: UInt32, orientation: PictureOrientation = .upright,
        sampleAspectRatio: SampleAspectRatio? = nil
    ) {
        self.orientation = orientation
        self.sampleAspectRatio = sampleAspectRatio
        self.sequenceParameterSets = sequenceParameterSets
        self.pictureParameterSets = pictureParameterSets
        self.width = width
        self.height = height
    }
}

/// An AAC track: the decoder's configuration.
package struct AACFormat: Hashable, Sendable {
    /// AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1), as in `esds`.
    package var configuration: [UInt8]
    /// Sampling frequency in Hz.
    package var sampleRate: UInt32
    /// Number of channels, at least 1.
    package var channels: UInt32

    package init(configuration: [UInt8], sampleRate: UInt32, channels: UInt32) {
        self.configuration = configuration
        self.sampleRate = sampleRate
        self.channels = channels
    }
}
