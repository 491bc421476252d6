import Archive
import CollectorClient

/// A message's media bytes: in the agent's spool, on the network, and in the collector until written.
final class SimulatedPayload: SpooledPayload, MediaPayload {
    // Written by `init` alone and freed with the object.
    nonisolated(unsafe) private let buffer: UnsafeMutableRawBufferPointer

    init(copying bytes: UnsafeRawBufferPointer) {
        buffer = .allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyMemory(from: bytes)
    }

    deinit { buffer.deallocate() }

    var memory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(memory)
    }
}
