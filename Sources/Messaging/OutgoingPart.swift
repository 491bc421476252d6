import CZeroMQ

/// A part to send.
package enum OutgoingPart {
    /// Copied: for headers.
    case bytes([UInt8])
    /// Sent in place, without a copy: for payloads.
    case shared(SharedBytes)
    /// Bytes of a part that was received, sent in place, without a copy. The part is kept until the last byte was sent.
    case received(ReceivedPart, Range<Int>)

    /// Size in bytes.
    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .shared(let bytes): bytes.count
        case .received(_, let range): range.count
        }
    }

    /// Initialises a message.
    func initialize(_ message: UnsafeMutablePointer<zmq_msg_t>) throws(MessagingError) {
        switch self {
        case .bytes(let bytes):
            guard zmq_msg_init_size(message, bytes.count) == 0 else {
                throw .last("make", "a message of \(bytes.count) bytes")
            }
            bytes.withUnsafeBytes { source in
                guard let start = source.baseAddress else { return }
                zmq_msg_data(message).copyMemory(from: start, byteCount: source.count)
            }
        case .shared(let bytes):
            // libzmq releases it on its I/O thread, after the last byte was sent.
            let retained = Unmanaged.passRetained(bytes)
            let result = zmq_msg_init_data(
                message, bytes.start, bytes.count,
                { _, hint in
                    guard let hint else { return }
                    Unmanaged<SharedBytes>.fromOpaque(hint).release()
                }, retained.toOpaque())
            guard result == 0 else {
                retained.release()
                throw .last("make", "a message of \(bytes.count) bytes")
            }
        case .received(let part, let range):
            let retained = Unmanaged.passRetained(part)
            let result = part.withUnsafeBytes { bytes -> Int32 in
                precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
                // libzmq only reads what it sends. The part does not move its bytes as long as it exists.
                return zmq_msg_init_data(
                    message,
                    UnsafeMutableRawPointer(mutating: bytes.baseAddress)?
                        .advanced(by: range.lowerBound), range.count,
                    { _, hint in
                        guard let hint else { return }
                        Unmanaged<ReceivedPart>.fromOpaque(hint).release()
                    }, retained.toOpaque())
            }
            guard result == 0 else {
                retained.release()
                throw .last("make", "a message of \(range.count) bytes")
            }
        }
    }
}

/// Immutable bytes at a fixed address: libzmq sends them from here, repeatedly if necessary.
// @unchecked Sendable: the memory is filled before init returns, and only read until deinit.
package final class SharedBytes: @unchecked Sendable {
    /// Number of bytes.
    package let count: Int
    fileprivate let start: UnsafeMutableRawPointer

    /// Allocates `count` bytes, which `fill` must fill completely.
    package init(count: Int, filledBy fill: (UnsafeMutableRawBufferPointer) -> Void) {
        self.count = count
        start = .allocate(byteCount: max(count, 1), alignment: 16)
        fill(UnsafeMutableRawBufferPointer(start: start, count: count))
    }

    /// A copy of `bytes`.
    package convenience init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    deinit {
        start.deallocate()
    }

    /// Calls `body` with the bytes in place.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
