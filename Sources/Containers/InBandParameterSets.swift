import CFFmpeg
import FFmpegSupport
import Media

/// Video with parameter sets in the pictures only: `avc3` and `hev1`, and an entry with an empty configuration (ISO/IEC
/// 14496-15 §5.4.2, §8.4.1).
///
/// FFmpeg finds the parameter sets in the pictures. Browsers, editors and Matroska need them in the configuration record.
enum InBandParameterSets {
    /// Maximum packets of other streams before the first of this one.
    private static let mostPackets = 4_096

    /// The configuration record of a stream with the parameter sets of its first picture; nil if the stream's own record has
    /// some.
    static func configuration(
        of stream: UnsafeMutablePointer<AVStream>, in path: String, cancellation: Cancellation?
    ) throws(ContainerError) -> [UInt8]? {
        guard let parameters = stream.pointee.codecpar,
            let codec = VideoCodec(parameters.pointee.codec_id),
            parameters.pointee.extradata_size > 0
        else { return nil }
        let own = Array(
            UnsafeBufferPointer(
                start: parameters.pointee.extradata, count: Int(parameters.pointee.extradata_size)))
        guard own.first == 1 else { return nil }
        do {
            let record = try codec.coding.configuration(parsing: own)
            guard !record.isComplete(codec) else { return nil }
            let picture = try firstPacket(of: stream.pointee.index, path, cancellation)
            if let format = try VideoFormat(codec, inBand: picture.span, extradata: own) {
                return try format.record(lengthSize: record.lengthSize)
            }
        } catch let error as ContainerError {
            throw error
        } catch {
            throw .cannotRead(path, reason: "its \(codec) is damaged: \(error)")
        }
        throw .cannotRead(
            path,
            reason:
                "its \(codec) has no parameter sets, neither in the container nor before its first picture: it cannot be decoded"
        )
    }

    /// The bytes of a stream's first packet; empty without one. Opens the file separately, so that the caller's read
    /// position does not move.
    private static func firstPacket(
        of index: Int32, _ path: String, _ cancellation: Cancellation?
    ) throws(ContainerError) -> [UInt8] {
        let input = try InputHandle(path, cancellation: cancellation)
        let handle = PacketHandle()
        defer { withExtendedLifetime(handle) {} }
        let packet = handle.packet
        for _ in 0..<mostPackets {
            guard av_read_frame(input.context, packet) >= 0 else { break }
            defer { av_packet_unref(packet) }
            if packet.pointee.stream_index == index {
                return Array(
                    UnsafeBufferPointer(
                        start: packet.pointee.data, count: Int(packet.pointee.size)))
            }
        }
        return []
    }
}
