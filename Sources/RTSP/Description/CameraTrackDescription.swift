import Hashing
package import Media

/// A medium that can be recorded: its payload format and codec configuration.
package struct CameraTrackDescription: Hashable, Sendable {
    package enum Coding: Hashable, Sendable {
        /// RFC 6184, RFC 7798. The format is nil if parameter sets are sent in-band.
        case video(VideoCodec, VideoFormat?)
        /// RFC 3640, mode AAC-hbr or AAC-lbr.
        case audio(AudioFormat, AACPayload)
        /// RFC 6416.
        case latm(LATMPayload)
        /// Transcoded to AAC by the receiver.
        case foreign(ForeignSound)
    }

    package var coding: Coding
    package var payloadType: UInt8
    /// Nominal RTP clock rate, Hz.
    package var clockRate: UInt32
    package var control: String?

    /// Format of AAC, which is recorded without transcoding; nil for other codecs.
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

    /// Required by RFC 6184 §8.2.1 and RFC 7798 §7.1.
    private static let videoClockRate: UInt32 = 90_000

    /// Supported audio codecs, for error messages.
    private static let soundCodecs = "AAC, G.711, L16 and Opus"
    private static let pictureCodecs = VideoCodec.all.map(\.description).joined(separator: ", ")

    /// - Throws: the reason why this medium cannot be recorded, on one line.
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
            // Some cameras state another rate but use this one.
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

    /// The stated rate; the rate of the codec configuration if the stated one is implausible.
    private static func clockRate(_ media: MediaDescription, _ format: AudioFormat) -> UInt32 {
        let stated = media.clockRate ?? 0
        return stated == 0 ? max(1, format.sampleRate) : stated
    }
}
