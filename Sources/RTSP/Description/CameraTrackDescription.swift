package import Media

/// A medium that can be recorded: its payload format and codec configuration.
package struct CameraTrackDescription: Hashable, Sendable {
    package enum Coding: Hashable, Sendable {
        /// RFC 6184, RFC 7798. The format is nil if parameter sets are sent in-band.
        case video(VideoCodec, VideoFormat?)
        /// A codec of recordings, which is not transcoded.
        case audio(AudioStream)
        /// Transcoded by the receiver.
        case foreign(ForeignSound)
    }

    /// The payload format of recorded audio, which can be compared.
    package struct AudioStream: Hashable, Sendable {
        package let payload: any AudioPayload

        package init(_ payload: any AudioPayload) { self.payload = payload }

        package static func == (left: AudioStream, right: AudioStream) -> Bool {
            AnyHashable(left.payload) == AnyHashable(right.payload)
        }

        package func hash(into hasher: inout Hasher) { payload.hash(into: &hasher) }
    }

    package var coding: Coding
    package var payloadType: UInt8
    /// Nominal RTP clock rate, Hz.
    package var clockRate: UInt32
    package var control: String?

    /// Format of audio that is recorded without transcoding; nil for other codecs.
    package var audioFormat: AudioFormat? {
        if case .audio(let stream) = coding { stream.payload.format } else { nil }
    }

    package var kind: TrackKind {
        switch coding {
        case .video: .video
        case .audio, .foreign: .audio
        }
    }

    /// Required by RFC 6184 §8.2.1 and RFC 7798 §7.1.
    private static let videoClockRate: UInt32 = 90_000

    /// Supported audio codecs, for error messages.
    private static let soundCodecs =
        "\(AudioCodec.list), \(ForeignSound.Codec.list("and"))"
    private static let pictureCodecs = VideoCodec.all.map(\.description).joined(separator: ", ")

    /// - Throws: the reason why this medium cannot be recorded, on one line.
    package init(_ media: MediaDescription) throws(RTSPError) {
        guard !media.isEncrypted else {
            throw .unusableDescription(
                "its \(printable(media.kind)) is encrypted with SRTP, which is not supported: remove ?enableSrtp from the URL, or switch "
                    + "SRTP off at the camera; rtsps:// is encrypted without it")
        }
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
        guard media.kind == "audio" else { throw Self.unsupported(media, encoding) }
        if let audio = audioPayloads.first(where: { $0.encoding == encoding }) {
            let payload = try audio.init(media.parameters)
            coding = .audio(AudioStream(payload))
            clockRate = Self.clockRate(media, payload.format)
        } else if let sound = try ForeignSound(media) {
            coding = .foreign(sound)
            clockRate = sound.sampleRate
        } else {
            throw Self.unsupported(media, encoding)
        }
    }

    private static func unsupported(_ media: MediaDescription, _ encoding: String) -> RTSPError {
        .unusableDescription(
            "its \(printable(media.kind)) is \(printable(encoding, limit: 20)): only \(pictureCodecs), \(soundCodecs) are recorded"
        )
    }

    /// Clock rates of sound that a camera may state, Hz.
    private static let clockRates: ClosedRange<UInt32> = 1_000...1_000_000

    /// The stated rate; the rate of the codec configuration if the stated one is implausible.
    private static func clockRate(_ media: MediaDescription, _ format: AudioFormat) -> UInt32 {
        let stated = media.clockRate ?? 0
        return clockRates.contains(stated) ? stated : max(clockRates.lowerBound, format.sampleRate)
    }
}

extension [CameraTrackDescription] {
    /// The track to record: the first one, and of several audio tracks the first one that is not transcoded.
    package func preferredTrack(of kind: TrackKind) -> Int? {
        let own = indices.filter { self[$0].kind == kind }
        return own.first { self[$0].audioFormat != nil } ?? own.first
    }
}
