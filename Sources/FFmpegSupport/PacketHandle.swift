package import CFFmpeg

/// Owns a libavcodec packet and the reference to its bytes.
// @unchecked: filled by one thread before it is shared. From then on it is only read, or it has moved to one other
// owner.
package final class PacketHandle: @unchecked Sendable {
    package let packet: UnsafeMutablePointer<AVPacket>

    /// An empty packet.
    package init() {
        guard let packet = av_packet_alloc() else { preconditionFailure("out of memory") }
        self.packet = packet
    }

    /// Takes over the content of another packet, which is empty afterwards.
    package convenience init(taking other: UnsafeMutablePointer<AVPacket>) {
        self.init()
        av_packet_move_ref(packet, other)
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }
}
