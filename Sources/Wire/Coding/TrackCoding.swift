import FoundationEssentials
import Media
import SwiftProtobuf

extension TrackKind {
    var encoded: Tributary_V1_TrackKind {
        switch self {
        case .video: .video
        case .audio: .audio
        }
    }

    init(decoding kind: Tributary_V1_TrackKind, _ field: String) throws(WireError) {
        switch kind {
        case .video: self = .video
        case .audio: self = .audio
        case .unspecified, .UNRECOGNIZED:
            throw .malformed("\(field) is \(kind.rawValue), neither video nor audio")
        }
    }
}

extension TrackFormat {
    func encoded() -> Tributary_V1_Track {
        var message = Tributary_V1_Track()
        message.kind = kind.encoded
        switch self {
        case .video(let format) where format.codec == .h264: message.h264 = format.encodedH264()
        case .video(let format): message.video = format.encoded()
        case .audio(let format):
            precondition(format.codec == .aac, "tributary.proto has no message of \(format.codec)")
            message.aac = format.encoded()
        }
        return message
    }

    init(decoding message: Tributary_V1_Track) throws(WireError) {
        let kind = try TrackKind(decoding: message.kind, "Track.kind")
        switch message.format {
        case .h264(let format): self = .video(try VideoFormat(decoding: format))
        case .video(let format): self = .video(try VideoFormat(decoding: format))
        case .aac(let format): self = .audio(try AudioFormat(decoding: format))
        case nil: throw .malformed("Track.format is neither h264 nor video nor aac")
        }
        guard self.kind == kind else {
            throw .malformed("Track.kind is \(kind), but its format is of \(self.kind)")
        }
    }
}

/// A message of a video format.
private protocol PictureMessage {
    var width: UInt32 { get set }
    var height: UInt32 { get set }
    var rotation: UInt32 { get set }
    var mirrored: Bool { get set }
    var pixelWidth: UInt32 { get set }
    var pixelHeight: UInt32 { get set }
}

extension Tributary_V1_H264: PictureMessage {}
extension Tributary_V1_Video: PictureMessage {}

/// The fields that all messages of video formats have.
private struct PictureFields {
    var width: UInt32
    var height: UInt32
    var rotation: UInt32
    var isMirrored: Bool
    var pixelWidth: UInt32
    var pixelHeight: UInt32

    init(_ format: VideoFormat) {
        width = format.width
        height = format.height
        rotation = UInt32(format.orientation.rotation.rawValue)
        isMirrored = format.orientation.isMirrored
        pixelWidth = UInt32(format.sampleAspectRatio?.horizontal ?? 0)
        pixelHeight = UInt32(format.sampleAspectRatio?.vertical ?? 0)
    }

    init(_ message: some PictureMessage) {
        width = message.width
        height = message.height
        rotation = message.rotation
        isMirrored = message.mirrored
        pixelWidth = message.pixelWidth
        pixelHeight = message.pixelHeight
    }

    func set(in message: inout some PictureMessage) {
        message.width = width
        message.height = height
        message.rotation = rotation
        message.mirrored = isMirrored
        message.pixelWidth = pixelWidth
        message.pixelHeight = pixelHeight
    }

    /// - Parameter name: of the message, for errors.
    func format(
        _ codec: VideoCodec, _ name: String, sets: [[UInt8]]
    ) throws(WireError) -> VideoFormat {
        // The header's size keeps the sum far below an overflow.
        let size = sets.reduce(0) { $0 + $1.count }
        guard size <= WireLimits.parameterSetBytes else {
            throw .limit(
                "\(name)'s parameter sets have \(size) bytes; "
                    + "\(WireLimits.parameterSetBytes) are allowed")
        }
        guard (1...WireLimits.pictureSide).contains(width),
            (1...WireLimits.pictureSide).contains(height)
        else {
            throw .limit(
                "a picture of \(width)×\(height); 1 to \(WireLimits.pictureSide) pixels are allowed in each dimension"
            )
        }
        // Parsed here, at the trust boundary, so that the values that a muxer needs are known to exist.
        let parsed: VideoFormat
        do {
            parsed = try VideoFormat(codec, parsing: sets)
        } catch {
            throw .malformed("\(name): \(error)")
        }
        var format = VideoFormat(
            codec, parameterSets: parsed.parameterSets, width: width, height: height,
            orientation: PictureOrientation(
                rotation: try PictureOrientation.Rotation(decoding: rotation),
                isMirrored: isMirrored))
        if pixelWidth > 0 || pixelHeight > 0 {
            guard let horizontal = UInt16(exactly: pixelWidth), horizontal > 0,
                let vertical = UInt16(exactly: pixelHeight), vertical > 0
            else {
                throw .malformed(
                    "\(name).pixel_width and pixel_height are \(pixelWidth) and \(pixelHeight); 1 to 65535 are allowed, or 0 "
                        + "for both")
            }
            format.sampleAspectRatio = SampleAspectRatio(horizontal, to: vertical)
        }
        return format
    }
}

extension VideoFormat {
    func encodedH264() -> Tributary_V1_H264 {
        var message = Tributary_V1_H264()
        message.sequenceParameterSets = sets(.sequence).map { Data($0) }
        message.pictureParameterSets = sets(.picture).map { Data($0) }
        PictureFields(self).set(in: &message)
        return message
    }

    func encoded() -> Tributary_V1_Video {
        var message = Tributary_V1_Video()
        message.codec = codec.identifier
        message.parameterSets = parameterSets.map { Data($0) }
        PictureFields(self).set(in: &message)
        return message
    }

    init(decoding message: Tributary_V1_H264) throws(WireError) {
        try FieldChecks.count(
            message.sequenceParameterSets.count, "H264.sequence_parameter_sets",
            1...WireLimits.sequenceParameterSets)
        try FieldChecks.count(
            message.pictureParameterSets.count, "H264.picture_parameter_sets",
            1...WireLimits.pictureParameterSets)
        let sets = message.sequenceParameterSets + message.pictureParameterSets
        self = try PictureFields(message).format(.h264, "H264", sets: sets.map { Array($0) })
    }

    init(decoding message: Tributary_V1_Video) throws(WireError) {
        guard let codec = VideoCodec(identifier: message.codec), codec != .h264 else {
            throw .malformed("the codec \"\(printable(message.codec))\" is not known")
        }
        try FieldChecks.count(
            message.parameterSets.count, "Video.parameter_sets", 1...WireLimits.parameterSets)
        let sets = message.parameterSets.map { Array($0) }
        for kind in ParameterSetKind.allCases {
            let most = codec.coding.maximumSets(kind)
            guard sets.count(where: { codec.kind(of: $0) == .parameterSet(kind) }) <= most else {
                throw .limit("Video has more than \(most) \(kind) parameter sets")
            }
        }
        self = try PictureFields(message).format(codec, "Video", sets: sets)
    }
}

extension AudioFormat {
    func encoded() -> Tributary_V1_Aac {
        var message = Tributary_V1_Aac()
        message.audioSpecificConfig = Data(configuration)
        message.sampleRate = sampleRate
        message.channels = channels
        return message
    }

    init(decoding message: Tributary_V1_Aac) throws(WireError) {
        guard message.audioSpecificConfig.count <= WireLimits.audioConfigurationBytes else {
            throw .limit(
                "Aac.audio_specific_config has \(message.audioSpecificConfig.count) bytes; "
                    + "\(WireLimits.audioConfigurationBytes) are allowed")
        }
        guard (1...WireLimits.sampleRate).contains(message.sampleRate) else {
            throw .limit(
                "Aac.sample_rate is \(message.sampleRate) Hz; 1 to \(WireLimits.sampleRate) "
                    + "are allowed")
        }
        guard (1...WireLimits.channels).contains(message.channels) else {
            throw .limit(
                "Aac.channels is \(message.channels); 1 to \(WireLimits.channels) are allowed")
        }
        let configuration = Array(message.audioSpecificConfig)
        let parsed: AudioFormat
        do {
            parsed = try AudioCodec.aac.coding.format(parsing: configuration)
        } catch {
            throw .malformed("Aac.audio_specific_config: \(error)")
        }
        // Writers count times at one rate, and readers use the other.
        guard message.sampleRate == parsed.sampleRate else {
            throw .malformed(
                "Aac.sample_rate is \(message.sampleRate) Hz; its audio_specific_config says "
                    + "\(parsed.sampleRate) Hz")
        }
        self.init(
            .aac, configuration: configuration, sampleRate: message.sampleRate,
            channels: message.channels)
    }
}
