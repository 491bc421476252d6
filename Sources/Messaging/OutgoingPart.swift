import CZeroMQ
import Synchronization

/// A part to send.
package enum OutgoingPart {
    /// Copied: for headers.
    case bytes([UInt8])
    /// Sent in place, without a copy: for payloads.
    case shared(SharedBytes)
    /// The same, counted until libzmq has released them.
    case counted(SharedBytes, HeldBytes)
    /// Bytes of a part that was received, sent in place, without a copy. The part is kept, and counted, until the last byte was sent.
    case received(ReceivedPart, Range<Int>, HeldBytes)

    /// Size in bytes.
    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .shared(let bytes), .counted(let bytes, _): bytes.count
        case .received(_, let range, _): range.count
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
        case .counted(let bytes, let held):
            try Self.initialize(
                message, at: bytes.start, Holding(bytes, count: bytes.count, in: held))
        case .received(let part, let range, let held):
            let start = part.withUnsafeBytes { bytes -> UnsafeMutableRawPointer? in
                precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
                return UnsafeMutableRawPointer(mutating: bytes.baseAddress)?
                    .advanced(by: range.lowerBound)
            }
            try Self.initialize(message, at: start, Holding(part, count: range.count, in: held))
        }
    }

    /// libzmq only reads what it sends. The owner does not move its bytes as long as it exists.
    private static func initialize(
        _ message: UnsafeMutablePointer<zmq_msg_t>, at start: UnsafeMutableRawPointer?,
        _ holding: Holding
    ) throws(MessagingError) {
        let retained = Unmanaged.passRetained(holding)
        let result = zmq_msg_init_data(
            message, start, holding.count,
            { _, hint in
                guard let hint else { return }
                Unmanaged<Holding>.fromOpaque(hint).release()
            }, retained.toOpaque())
        guard result == 0 else {
            retained.release()
            throw .last("make", "a message of \(holding.count) bytes")
        }
    }
}

/// Bytes of messages that libzmq has not released yet: that wait for any peer. Any thread may call.
package final class HeldBytes: Sendable {
    private let bytes = Atomic<Int>(0)

    package init() {}

    package var count: Int { bytes.load(ordering: .relaxed) }

    fileprivate func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }

    fileprivate func remove(_ count: Int) { bytes.subtract(count, ordering: .relaxed) }
}

/// Keeps what a message was made of, and counts it. libzmq releases it on its I/O thread, after the last byte was sent.
private final class Holding {
    let count: Int
    private let owner: AnyObject
    private let held: HeldBytes

    init(_ owner: AnyObject, count: Int, in held: HeldBytes) {
        self.owner = owner
        self.count = count
        self.held = held
        held.add(count)
    }

    deinit { held.remove(count) }
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
