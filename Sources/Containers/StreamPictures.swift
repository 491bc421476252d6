import CFFmpeg
import FFmpegSupport
import Media

/// Repacks a stream's pictures into one packet per picture (``PictureAssembler``).
///
/// A joined packet has the times of the packet with the picture's first slice, and lasts until the end of its last
/// packet. Pictures of one packet share its duration; without one, only the first of them has times.
struct StreamPictures {
    private var assembler: PictureAssembler<PacketHandle>

    /// - Returns: nil for another codec.
    init?(_ stream: UnsafeMutablePointer<AVStream>) {
        guard let parameters = stream.pointee.codecpar,
            let codec = VideoCodec(parameters.pointee.codec_id)
        else { return nil }
        let configuration = parameters.pointee.extradata.map {
            Array(UnsafeBufferPointer(start: $0, count: Int(parameters.pointee.extradata_size)))
        }
        guard
            let assembler = PictureAssembler<PacketHandle>(
                codec, configuration: configuration ?? [])
        else { return nil }
        self.assembler = assembler
    }

    /// Adds the next packet; returns the pictures that are complete.
    /// - Throws: when the packet cannot be divided into NAL units.
    mutating func add(_ handle: PacketHandle) throws(BitstreamError) -> [PacketHandle] {
        let bytes = UnsafeRawBufferPointer(
            start: handle.packet.pointee.data, count: Int(handle.packet.pointee.size))
        let pictures = assembler.add(handle, bytes)
        if let damage = pictures.lazy.compactMap(\.damage).first { throw damage }
        return pictures.map(Self.packet)
    }

    /// No packet follows: the last picture.
    mutating func finish() -> [PacketHandle] { assembler.finish().map(Self.packet) }

    private static func packet(
        _ picture: PictureAssembler<PacketHandle>.Picture
    ) -> PacketHandle {
        guard let bytes = picture.bytes else {
            setSync(picture.isSync, of: picture.packet)
            return picture.packet
        }
        let joined = PacketHandle()
        let packet = joined.packet
        guard av_new_packet(packet, Int32(bytes.count)) >= 0,
            av_packet_copy_props(packet, picture.packet.packet) >= 0
        else { preconditionFailure("out of memory") }
        bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: $0.count)
                .copyMemory(from: $0)
        }
        setSync(picture.isSync, of: joined)
        let (index, count) = picture.place
        if count > 1 {
            let share = packet.pointee.duration / Int64(count)
            let hasTime = index == 0 || share > 0
            func later(_ time: Int64) -> Int64 {
                guard hasTime, time != CFFmpeg_NOPTS_VALUE else { return CFFmpeg_NOPTS_VALUE }
                return time + share * Int64(index)
            }
            packet.pointee.duration = share
            packet.pointee.pts = later(packet.pointee.pts)
            packet.pointee.dts = later(packet.pointee.dts)
        } else {
            let parts = picture.parts.map(\.packet.pointee)
            let longest = parts.map(\.duration).max() ?? 0
            let known = parts.filter { $0.dts != CFFmpeg_NOPTS_VALUE }
            let span = (known.map { $0.dts + $0.duration }.max() ?? 0) - (known.first?.dts ?? 0)
            packet.pointee.duration = longest == 0 ? 0 : max(longest, span)
        }
        return joined
    }

    private static func setSync(_ isSync: Bool, of handle: PacketHandle) {
        if isSync {
            handle.packet.pointee.flags |= AV_PKT_FLAG_KEY
        } else {
            handle.packet.pointee.flags &= ~AV_PKT_FLAG_KEY
        }
    }
}
