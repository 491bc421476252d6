import Archive

/// Media bytes for tests, at a fixed address.
package final class ArrayPayload: MediaPayload {
    // Filled before it is shared, read-only afterwards.
    nonisolated(unsafe) private let buffer: UnsafeMutableRawBufferPointer

    package init(_ bytes: [UInt8]) {
        buffer = .allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
    }

    deinit {
        buffer.deallocate()
    }

    package var memory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }
}
