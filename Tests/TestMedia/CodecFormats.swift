package import Media

/// A valid track format of each codec in ``VideoCodec/all`` and ``AudioCodec/all``, for tests of what every codec needs.
package enum CodecFormats {
    /// A codec without a format here: add one.
    package struct Missing: Error, CustomStringConvertible {
        package var description: String
    }

    /// The formats of all codecs.
    package static func all() throws -> [TrackFormat] {
        try VideoCodec.all.map { .video(try video($0)) }
            + AudioCodec.all.map { .audio(try audio($0)) }
    }

    private static func video(_ codec: VideoCodec) throws -> VideoFormat {
        switch codec {
        case .h264:
            // 1280×720, High, level 3.1.
            let sequenceSet = H265Stream.bytes(
                "6764001facd9405005bb011000000300100000030003c0f1831960")
            return .h264(
                sequenceParameterSets: [sequenceSet],
                pictureParameterSets: [H265Stream.bytes("68ebe3cb22c0")], width: 1280, height: 720)
        case .h265:
            return VideoFormat(.h265, parameterSets: H265Stream.sets, width: 64, height: 64)
        default:
            throw Missing(description: "\(codec) has no format in TestMedia/CodecFormats.swift")
        }
    }

    private static func audio(_ codec: AudioCodec) throws -> AudioFormat {
        switch codec {
        // AAC-LC.
        case .aac: return .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)
        default:
            throw Missing(description: "\(codec) has no format in TestMedia/CodecFormats.swift")
        }
    }
}
