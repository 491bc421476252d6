import Hashing
package import Media

/// A medium of a camera that can be recorded: how its packets are read, and what its decoder has to know.
package struct CameraTrackDescription: Hashable, Sendable {
    package enum Coding: Hashable, Sendable {
        /// RFC 6184, RFC 7798; nil: the parameter sets come with the pictures.
        case video(VideoCodec, VideoFormat?)
        /// RFC 3640, mode AAC-hbr or AAC-lbr.
        case audio(AudioFormat, AACPayload)
        /// RFC 6416.
        case latm(LATMPayload)
        /// To be encoded as AAC by the receiver.
        case foreign(ForeignSound)
    }

    package var coding: Coding
    package var payloadType: UInt8
    /// Ticks per second of the packets' timestamps, as they should be.
    package var clockRate: UInt32
    package var control: String?

    /// What is recorded bit for bit; nil: no AAC.
    package var aacFormat: AudioFormat? {
        switch coding {
        case .audio(let format, _): format
        case .latm(let payload): payload.format
        case .video, .foreign: nil
        }
    }

    package var kind: TrackKind {
        switch coding {
        case .video: .video
        case .audio, .latm, .foreign: .audio
        }
    }

    /// RFC 6184 §8.2.1 and RFC 7798 §7.1 allow no other.
    private static let videoClockRate: UInt32 = 90_000

    /// For people: `AAC, G.711, L16 and Opus`.
    private static let soundCodecs = "AAC, G.711, L16 and Opus"
    private static let pictureCodecs = VideoCodec.all.map(\.description).joined(separator: ", ")

    /// - Throws: one line that says why this medium cannot be recorded.
    package init(_ media: MediaDescription) throws(RTSPError) {
        guard let payloadType = media.payloadType, let encoding = media.encoding else {
            throw .unusableDescription("its \(printable(media.kind)) has no known format")
        }
        self.payloadType = payloadType
        control = media.control
        if media.kind == "video",
            let video = videoPayloads.first(where: { $0.encoding == encoding })
        {
            if let refusal = video.refusal(media.parameters) {
                throw .unusableDescription(refusal)
            }
            coding = .video(video.codec, video.format(media.parameters))
            // Some cameras state another rate, and mean this one.
            clockRate = Self.videoClockRate
            return
        }
        switch (media.kind, encoding) {
        case ("audio", "MPEG4-GENERIC"):
            let payload = try AACPayload(media.parameters)
            guard let text = media.parameters["config"],
                let configuration = ByteText.decode(hexadecimal: text), !configuration.isEmpty
            else {
                throw .unusableDescription("its AAC has no configuration")
            }
            let format: AudioFormat
            do throws(BitstreamError) {
                format = try AudioFormat(aac: configuration)
            } catch {
                throw .unusableDescription("its AAC cannot be used: \(error)")
            }
            coding = .audio(format, payload)
            clockRate = Self.clockRate(media, format)
        case ("audio", "MP4A-LATM"):
            let payload = try LATMPayload(media.parameters)
            coding = .latm(payload)
            clockRate = Self.clockRate(media, payload.format)
        default:
            if media.kind == "audio", let sound = try ForeignSound(media) {
                coding = .foreign(sound)
                clockRate = sound.sampleRate
                return
            }
            throw .unusableDescription(
                "its \(printable(media.kind)) is \(printable(encoding, limit: 20)): only \(Self.pictureCodecs), \(Self.soundCodecs) are recorded"
            )
        }
    }

    /// The rate that the camera states; where that is nonsense, the configuration's.
    private static func clockRate(_ media: MediaDescription, _ format: AudioFormat) -> UInt32 {
        let stated = media.clockRate ?? 0
        return stated == 0 ? max(1, format.sampleRate) : stated
    }
}
