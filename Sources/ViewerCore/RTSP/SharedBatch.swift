import NIOCore
import RTSPServer

/// Packets of a source that all of its readers get, without a copy for each.
struct SharedBatch: Sendable {
    let batch: PacketBatch
    /// ``PacketBatch/bytes``.
    let buffer: ByteBuffer

    init(_ batch: PacketBatch) {
        self.batch = batch
        buffer = ByteBuffer(bytes: batch.bytes)
    }

    /// One packet without its frame.
    func slice(_ packet: PacketBatch.Packet) -> ByteBuffer? {
        buffer.getSlice(at: packet.range.lowerBound, length: packet.range.count)
    }
}
