import CFFmpeg
import Media

/// The properties of a media file, from its headers.
package struct ContainerProbe: Hashable, Sendable {
    /// FFmpeg's names of the detected format: `mov,mp4,m4a,3gp,3g2,mj2`.
    package let formatName: String
    /// Codecs of its pictures, by FFmpeg's names.
    package let videoCodecs: [String]
    package let audioCodecs: [String]
    /// Nanoseconds; nil if unknown.
    package let durationNanoseconds: Int64?
    /// The creation time in its metadata: `2026-11-20T22:40:00.000000Z`.
    package let creationTime: String?
    /// Whether parts of it are encrypted.
    package let isEncrypted: Bool
    /// Whether its display matrix scales or shears the picture, or rotates it by other than quarter turns.
    package let isDistorted: Bool

    package init(_ path: String) throws(ContainerError) {
        let input = try InputHandle(path, cancellation: nil)
        formatName = input.formatName
        durationNanoseconds = input.durationMicroseconds.map { $0 * 1_000 }
        var video: [String] = []
        var audio: [String] = []
        var isEncrypted = false
        var isDistorted = false
        for index in 0..<input.streamCount {
            let stream = input.stream(index)
            if stream.isEncrypted { isEncrypted = true }
            if stream.isDistorted { isDistorted = true }
            guard let parameters = stream.pointee.codecpar,
                stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
            else { continue }
            let name = String(cString: avcodec_get_name(parameters.pointee.codec_id))
            switch parameters.pointee.codec_type {
            case AVMEDIA_TYPE_VIDEO: video.append(name)
            case AVMEDIA_TYPE_AUDIO: audio.append(name)
            default: break
            }
        }
        videoCodecs = video
        audioCodecs = audio
        self.isEncrypted = isEncrypted
        self.isDistorted = isDistorted
        let entry = av_dict_get(input.context.pointee.metadata, "creation_time", nil, 0)
        creationTime = entry.map { String(cString: $0.pointee.value) }
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// `encv` and `enca` (ISO/IEC 23001-7 §4.1), as libavformat keeps them.
    private static var encryptedTags: Set<UInt32> { [0x7663_6E65, 0x6163_6E65] }

    /// Whether its packets are encrypted.
    var isEncrypted: Bool {
        let tag = pointee.codecpar.map { $0.pointee.codec_tag } ?? 0
        return Self.encryptedTags.contains(tag)
            || av_stream_get_side_data(self, AV_PKT_DATA_ENCRYPTION_INIT_INFO, nil) != nil
    }

    /// Whether its display matrix does more than quarter turns and mirroring.
    var isDistorted: Bool {
        var size = 0
        guard let data = av_stream_get_side_data(self, AV_PKT_DATA_DISPLAYMATRIX, &size) else {
            return false
        }
        return DisplayMatrix.orientation(of: UnsafeRawBufferPointer(start: data, count: size))
            == nil
    }
}
