import Archive
import CLinux
import Dispatch
import Files
import Glibc
import Logging
import Messaging
import CollectorClient
import Synchronization
import Threads

/// Writes every received message into a file, for `tributary replay FILE.wire`.
///
/// The receiving thread queues messages as they arrive; a separate thread writes them. The queue is bounded: if the
/// disk is too slow, messages are missing from the file, which records how many. The recording itself is not affected.
final class WireRecorder: Sendable {
    /// Payload and header bytes that may be queued for the disk: some seconds of a large site.
    private static let maximumWaitingBytes = 64 << 20
    private static let maximumAddressBytes = 256

    private enum Item {
        case connection(UInt32, address: String, at: Int64)
        case message(UInt32, header: ReceivedPart, payload: ReceivedPart?, at: Int64)
        case missing(UInt64, at: Int64)
    }

    private struct Shared {
        var items: [Item] = []
        var waitingBytes = 0
        var missing: UInt64 = 0
        /// The newest connection that has sent a message.
        var newest: UInt32 = 0
        var isStopping = false
        var hasFailed = false
    }

    private let path: String
    private let descriptor: Int32
    private let logger: Logger
    private let shared = Mutex(Shared())
    private let work = Semaphore(value: 0)
    private let thread = JoinableThread()

    /// Creates the file; an existing one is never overwritten.
    init(path: String, logger: Logger) throws(CollectorError) {
        self.path = path
        self.logger = logger
        // The file contains media: accessible to the collector's user only.
        descriptor = CLinux_open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .cannotRecordWire(path: path, reason: systemMessage(errno))
        }
        let now = Instant.now()
        let header = WireRecording.header(
            WireRecording.Beginning(
                monotonicNanoseconds: now.monotonic, utcNanoseconds: now.utc.nanoseconds))
        guard write(header, nil) else {
            throw .cannotRecordWire(path: path, reason: systemMessage(errno))
        }
    }

    deinit {
        close(descriptor)
    }

    func start() {
        thread.start("wire") { [self] in run() }
    }

    /// Writes the queue, and ends the thread.
    func stop() {
        shared.withLock { $0.isStopping = true }
        work.signal()
        thread.join()
    }

    /// Queues a message. Never blocks.
    func take(_ message: AgentMessage) {
        let size = message.header.count + (message.payload?.count ?? 0)
        let at = message.arrivedNanoseconds
        shared.withLock { shared in
            guard !shared.hasFailed else { return }
            guard shared.waitingBytes + size <= Self.maximumWaitingBytes else {
                shared.missing += 1
                return
            }
            if shared.missing > 0 {
                shared.items.append(.missing(shared.missing, at: at))
                shared.missing = 0
            }
            let number = message.sender.number
            if number > shared.newest {
                shared.newest = number
                shared.items.append(.connection(number, address: message.sender.address, at: at))
            }
            shared.waitingBytes += size
            shared.items.append(
                .message(number, header: message.header, payload: message.payload, at: at))
        }
        work.signal()
    }

    private func run() {
        while true {
            let (items, isStopping) = shared.withLock { shared in
                defer { shared.items.removeAll() }
                return (shared.items, shared.isStopping)
            }
            for item in items {
                let isWritten = write(item)
                shared.withLock { $0.waitingBytes -= Self.size(item) }
                if !isWritten {
                    let reason = systemMessage(errno)
                    logger.error(
                        "cannot continue the wire recording: \(path): \(reason); it contains everything received before"
                    )
                    shared.withLock { shared in
                        shared.hasFailed = true
                        shared.items.removeAll()
                    }
                    return
                }
                if case .missing(let count, _) = item {
                    logger.warning("\(path) lacks \(count) messages: the disk was too slow")
                }
            }
            if isStopping { return }
            work.wait()
        }
    }

    private static func size(_ item: Item) -> Int {
        guard case .message(_, let header, let payload, _) = item else { return 0 }
        return header.count + (payload?.count ?? 0)
    }

    private func write(_ item: Item) -> Bool {
        switch item {
        case .connection(let number, let address, let at):
            let entry = WireRecording.Entry(
                connection: number, arrivedNanoseconds: at,
                content: .connection(address: String(address.prefix(Self.maximumAddressBytes))))
            return write(WireRecording.bytes(entry), nil)
        case .missing(let count, let at):
            let entry = WireRecording.Entry(
                connection: 0, arrivedNanoseconds: at, content: .missing(messages: count))
            return write(WireRecording.bytes(entry), nil)
        case .message(let number, let header, nil, let at):
            let entry = WireRecording.Entry(
                connection: number, arrivedNanoseconds: at,
                content: .message(header: header.bytes, payload: nil))
            return write(WireRecording.bytes(entry), nil)
        case .message(let number, let header, let payload?, let at):
            let inner = WireRecording.messagePrefix(header.bytes)
            let prefix = payload.withUnsafeBytes { bytes in
                WireRecording.prefix(
                    kind: 1, connection: number, arrivedNanoseconds: at, inner: inner, rest: bytes)
            }
            return write(prefix, payload)
        }
    }

    /// Writes some bytes and a part after them; returns whether it succeeded.
    private func write(_ bytes: [UInt8], _ part: ReceivedPart?) -> Bool {
        Descriptor.write(descriptor, bytes)
            && (part?.withUnsafeBytes { Descriptor.write(descriptor, $0) } ?? true)
    }
}
