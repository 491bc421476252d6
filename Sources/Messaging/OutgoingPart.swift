import CZeroMQ
import Synchronization

/// A part to send.
package enum OutgoingPart {
    /// Copied: for headers.
    case bytes([UInt8])
    /// Sent in place, without a copy: for payloads.
    case shared(SharedBytes)
    /// Like ``shared(_:)``, and counted until libzmq has released them.
    case counted(SharedBytes, HeldBytes)
    /// Bytes of another object, sent in place, without a copy. The owner is retained, and the bytes are counted, until
    /// the last one was sent. Their address does not change as long as the owner exists.
    case kept(UnsafeRawBufferPointer, by: AnyObject, HeldBytes)

    /// Size in bytes.
    package var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .shared(let bytes), .counted(let bytes, _): bytes.count
        case .kept(let bytes, _, _): bytes.count
        }
    }

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
        case .kept(let bytes, let owner, let held):
            try Self.initialize(
                message, at: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                Holding(owner, count: bytes.count, in: held))
        }
    }

    /// libzmq only reads the bytes, and the owner does not move them.
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

/// Bytes of messages that libzmq has not released yet, for all peers together. Thread-safe.
package final class HeldBytes: Sendable {
    private let bytes = Atomic<Int>(0)

    package init() {}

    package var count: Int { bytes.load(ordering: .relaxed) }

    fileprivate func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }

    fileprivate func remove(_ count: Int) { bytes.subtract(count, ordering: .relaxed) }
}

/// Retains the owner of a message's bytes, and counts them. libzmq releases it on its I/O thread, after the last byte
/// was sent.
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
