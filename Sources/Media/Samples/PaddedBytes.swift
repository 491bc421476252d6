/// A copy of bytes, followed by ``CodedPacket/paddingBytes`` zeros: decoders read past the end.
// @unchecked: written before it is shared, only read from then on.
package final class PaddedBytes: @unchecked Sendable {
    private let memory: UnsafeRawBufferPointer
    private let count: Int

    package init(_ bytes: UnsafeRawBufferPointer) {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count + CodedPacket.paddingBytes, alignment: 16)
        memory.copyMemory(from: bytes)
        memory[bytes.count...].initializeMemory(as: UInt8.self, repeating: 0)
        self.memory = UnsafeRawBufferPointer(memory)
        count = bytes.count
    }

    deinit { memory.deallocate() }

    /// The copy, without the zeros; valid as long as this object exists.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
}
