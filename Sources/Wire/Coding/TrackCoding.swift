import Foundation
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
        case .h264(let format): message.h264 = format.encoded()
        case .aac(let format): message.aac = format.encoded()
        }
        return message
    }

    init(decoding message: Tributary_V1_Track) throws(WireError) {
        let kind = try TrackKind(decoding: message.kind, "Track.kind")
        switch message.format {
        case .h264(let format): self = .h264(try H264Format(decoding: format))
        case .aac(let format): self = .aac(try AACFormat(decoding: format))
        case nil: throw .malformed("Track.format is neither h264 nor aac")
        }
        guard self.kind == kind else {
            throw .malformed("Track.kind is \(kind), but its format is of \(self.kind)")
        }
    }
}

extension H264Format {
    func encoded() -> Tributary_V1_H264 {
        var message = Tributary_V1_H264()
        message.sequenceParameterSets = sequenceParameterSets.map { Data($0) }
        message.pictureParameterSets = pictureParameterSets.map { Data($0) }
        message.width = width
        message.height = height
        message.rotation = UInt32(orientation.rotation.rawValue)
        message.mirrored = orientation.isMirrored
        message.pixelWidth = UInt32(sampleAspectRatio?.horizontal ?? 0)
        message.pixelHeight = UInt32(sampleAspectRatio?.vertical ?? 0)
        return message
    }

    init(decoding message: Tributary_V1_H264) throws(WireError) {
        try FieldChecks.count(
            message.sequenceParameterSets.count, "H264.sequence_parameter_sets",
            1...WireLimits.sequenceParameterSets)
        try FieldChecks.count(
            message.pictureParameterSets.count, "H264.picture_parameter_sets",
            1...WireLimits.pictureParameterSets)
        // The header's size keeps the sum far below an overflow.
        let size = (message.sequenceParameterSets + message.pictureParameterSets)
            .reduce(0) { $0 + $1.count }
        guard size <= WireLimits.parameterSetBytes else {
            throw .limit(
                "H264's parameter sets have \(size) bytes; "
                    + "\(WireLimits.parameterSetBytes) are allowed")
        }
        guard
            (1...WireLimits.pictureSide).contains(message.width),
            (1...WireLimits.pictureSide).contains(message.height)
        else {
            throw .limit(
                "a picture of \(message.width)×\(message.height); 1 to "
                    + "\(WireLimits.pictureSide) pixels are allowed in each dimension")
        }
        // Parsed here, at the trust boundary, so that the values that a muxer needs are known to exist.
        let parsed: H264Format
        do {
            parsed = try H264Format(
                parsing: message.sequenceParameterSets.map { Array($0) },
                pictureParameterSets: message.pictureParameterSets.map { Array($0) })
        } catch {
            throw .malformed("H264: \(error)")
        }
        self.init(
            sequenceParameterSets: parsed.sequenceParameterSets,
            pictureParameterSets: parsed.pictureParameterSets, width: message.width,
            height: message.height,
            orientation: PictureOrientation(
                rotation: try PictureOrientation.Rotation(decoding: message.rotation),
                isMirrored: message.mirrored))
        if message.pixelWidth > 0 || message.pixelHeight > 0 {
            guard let horizontal = UInt16(exactly: message.pixelWidth), horizontal > 0,
                let vertical = UInt16(exactly: message.pixelHeight), vertical > 0
            else {
                throw .malformed(
                    "H264.pixel_width and pixel_height are \(message.pixelWidth) and \(message.pixelHeight); 1 to 65535 "
                        + "are allowed, or 0 for both")
            }
            sampleAspectRatio = SampleAspectRatio(horizontal, to: vertical)
        }
    }
}

extension AACFormat {
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
        let parsed: AudioSpecificConfig
        do {
            parsed = try AudioSpecificConfig(parsing: configuration)
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
            configuration: configuration, sampleRate: message.sampleRate,
            channels: message.channels)
    }
}
