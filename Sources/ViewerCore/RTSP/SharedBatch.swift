import NIOCore
import RTSPServer

/// A batch of packets shared by all readers of a source without copying.
struct SharedBatch: Sendable {
    let batch: PacketBatch
    /// ``PacketBatch/bytes``.
    let buffer: ByteBuffer

    init(_ batch: PacketBatch) {
        self.batch = batch
        buffer = ByteBuffer(bytes: batch.bytes)
    }

    /// One packet without its interleaving header.
    func slice(_ packet: PacketBatch.Packet) -> ByteBuffer? {
        buffer.getSlice(at: packet.range.lowerBound, length: packet.range.count)
    }
}
