import Files
import Glibc
import Spooling

/// A recording of everything that a collector has received, with arrival times: a file that is written sequentially.
///
/// Layout, all numbers little-endian:
///
///     header, 32 bytes:
///         8 bytes "TRIBWIRE", u32 version = 1, u32 0
///         i64 the collector's CLOCK_MONOTONIC and i64 UTC (since 1970) when the file was begun, nanoseconds
///     each entry:
///         u32 bytes of the body, u32 CRC-32C of the body
///         body: u8 kind, u32 connection (numbered from 1 as they are first heard), i64 CLOCK_MONOTONIC when it came, then
///             kind 1, a message: u32 bytes of the header part, the header part, the payload (the rest)
///             kind 2, a message without a payload part: the header part
///             kind 3, a connection is heard for the first time: its address, UTF-8
///             kind 4, messages that are missing here, because the disk did not take them: u64 how many
///
/// An incomplete last entry marks the end: the writer was killed. CURVE encryption is below this layer, so keys and handshakes
/// are not in the file. Addresses, names and all media are.
package enum WireRecording {
    package static let magic = Array("TRIBWIRE".utf8)
    package static let version: UInt32 = 1
    package static let headerBytes = 32
    static let entryHeaderBytes = 8
    /// Kind, connection, time.
    static let bodyHeaderBytes = 13
    /// A payload, a header part and their framing: the protocol's limits, with a margin.
    static let maximumBodyBytes = 8 << 20

    /// A received message or event.
    package struct Entry: Hashable, Sendable {
        package enum Content: Hashable, Sendable {
            case message(header: [UInt8], payload: [UInt8]?)
            case connection(address: String)
            case missing(messages: UInt64)
        }

        package var connection: UInt32
        /// The collector's `CLOCK_MONOTONIC`, nanoseconds.
        package var arrivedNanoseconds: Int64
        package var content: Content

        package init(connection: UInt32, arrivedNanoseconds: Int64, content: Content) {
            self.connection = connection
            self.arrivedNanoseconds = arrivedNanoseconds
            self.content = content
        }
    }

    /// The time at which a file was begun.
    package struct Beginning: Hashable, Sendable {
        package var monotonicNanoseconds: Int64
        package var utcNanoseconds: Int64

        package init(monotonicNanoseconds: Int64, utcNanoseconds: Int64) {
            self.monotonicNanoseconds = monotonicNanoseconds
            self.utcNanoseconds = utcNanoseconds
        }
    }

    /// The file's first bytes.
    package static func header(_ beginning: Beginning) -> [UInt8] {
        var bytes = magic
        bytes.appendLittleEndian(version)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt64(bitPattern: beginning.monotonicNanoseconds))
        bytes.appendLittleEndian(UInt64(bitPattern: beginning.utcNanoseconds))
        return bytes
    }

    /// The bytes before an entry's last part, which is written in place, without a copy.
    /// - Parameters:
    ///   - kind: 1 to 4.
    ///   - inner: the bytes before the last part: for a message with a payload, the header's length and the header.
    ///   - rest: the part that follows; only used for the checksum.
    package static func prefix(
        kind: UInt8, connection: UInt32, arrivedNanoseconds: Int64, inner: [UInt8],
        rest: UnsafeRawBufferPointer
    ) -> [UInt8] {
        var body: [UInt8] = [kind]
        body.reserveCapacity(bodyHeaderBytes + inner.count)
        body.appendLittleEndian(connection)
        body.appendLittleEndian(UInt64(bitPattern: arrivedNanoseconds))
        body += inner
        var checksum = CRC32C()
        body.withUnsafeBytes { checksum.update($0) }
        checksum.update(rest)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entryHeaderBytes + body.count)
        bytes.appendLittleEndian(UInt32(body.count + rest.count))
        bytes.appendLittleEndian(checksum.value)
        return bytes + body
    }

    /// A complete entry.
    package static func bytes(_ entry: Entry) -> [UInt8] {
        let (kind, inner): (UInt8, [UInt8]) =
            switch entry.content {
            case .message(let header, let payload?): (1, messagePrefix(header) + payload)
            case .message(let header, nil): (2, header)
            case .connection(let address): (3, Array(address.utf8))
            case .missing(let count): (4, littleEndian(count))
            }
        return prefix(
            kind: kind, connection: entry.connection,
            arrivedNanoseconds: entry.arrivedNanoseconds, inner: inner,
            rest: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// A header part with its length.
    package static func messagePrefix(_ header: [UInt8]) -> [UInt8] {
        littleEndian(UInt32(header.count)) + header
    }

    private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(value)
        return bytes
    }
}

/// Reads a recorded wire sequentially, one entry at a time.
package final class WireRecordingReader {
    package let path: String
    package let beginning: WireRecording.Beginning
    private let descriptor: Int32
    private var offset: Int64
    /// Whether the file's last entry is incomplete.
    package private(set) var isTorn = false

    /// Whether a file begins like a recorded wire.
    package static func isWireRecording(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: WireRecording.magic.count)
        return pread(descriptor, &bytes, bytes.count, 0) == bytes.count
            && bytes == WireRecording.magic
    }

    /// - Throws: when it cannot be read, or is not a recorded wire of a supported version.
    package init(_ path: String) throws(WireRecordingError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        offset = Int64(WireRecording.headerBytes)
        guard descriptor >= 0 else {
            beginning = WireRecording.Beginning(monotonicNanoseconds: 0, utcNanoseconds: 0)
            throw .unreadable(path: path, errno: errno)
        }
        var bytes = [UInt8](repeating: 0, count: WireRecording.headerBytes)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        beginning = WireRecording.Beginning(
            monotonicNanoseconds: Int64(bitPattern: bytes.littleEndian(at: 16)),
            utcNanoseconds: Int64(bitPattern: bytes.littleEndian(at: 24)))
        guard count == bytes.count, bytes.starts(with: WireRecording.magic) else {
            throw .noWireRecording(path: path)
        }
        let version: UInt32 = bytes.littleEndian(at: 8)
        guard version == WireRecording.version else { throw .version(path: path, version) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The next entry; nil at the end.
    /// - Throws: when the entry is damaged.
    package func next() throws(WireRecordingError) -> WireRecording.Entry? {
        let head = try read(WireRecording.entryHeaderBytes)
        guard head.count == WireRecording.entryHeaderBytes else {
            isTorn = !head.isEmpty
            return nil
        }
        let size = Int(head.littleEndian(at: 0) as UInt32)
        guard (WireRecording.bodyHeaderBytes...WireRecording.maximumBodyBytes).contains(size) else {
            throw .damaged(path: path, offset: offset)
        }
        offset += Int64(head.count)
        let body = try read(size)
        guard body.count == size else {
            offset -= Int64(head.count)
            isTorn = true
            return nil
        }
        guard body.withUnsafeBytes({ CRC32C.of($0) }) == head.littleEndian(at: 4) as UInt32,
            let entry = Self.entry(body)
        else { throw .damaged(path: path, offset: offset - Int64(head.count)) }
        offset += Int64(size)
        return entry
    }

    /// The arrival time of the last complete entry; it skips from entry to entry.
    package func lastArrival() throws(WireRecordingError) -> Int64? {
        let start = offset
        defer { offset = start }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(path: path, errno: errno)
        }
        var last: Int64?
        while true {
            let head = try read(WireRecording.entryHeaderBytes + WireRecording.bodyHeaderBytes)
            guard head.count == WireRecording.entryHeaderBytes + WireRecording.bodyHeaderBytes
            else {
                return last
            }
            let size = Int(head.littleEndian(at: 0) as UInt32)
            guard (WireRecording.bodyHeaderBytes...WireRecording.maximumBodyBytes).contains(size)
            else {
                return last
            }
            offset += Int64(WireRecording.entryHeaderBytes + size)
            // The body may be truncated: next() does not return that entry either.
            guard offset <= Int64(status.st_size) else { return last }
            last = Int64(bitPattern: head.littleEndian(at: WireRecording.entryHeaderBytes + 5))
        }
    }

    private static func entry(_ body: [UInt8]) -> WireRecording.Entry? {
        let connection: UInt32 = body.littleEndian(at: 1)
        let arrived = Int64(bitPattern: body.littleEndian(at: 5))
        let rest = body[WireRecording.bodyHeaderBytes...]
        let content: WireRecording.Entry.Content
        switch body[0] {
        case 1:
            guard rest.count >= 4 else { return nil }
            let size = Int(body.littleEndian(at: WireRecording.bodyHeaderBytes) as UInt32)
            guard size <= rest.count - 4 else { return nil }
            content = .message(
                header: Array(rest.dropFirst(4).prefix(size)),
                payload: Array(rest.dropFirst(4 + size)))
        case 2: content = .message(header: Array(rest), payload: nil)
        case 3: content = .connection(address: String(decoding: rest, as: UTF8.self))
        case 4:
            guard rest.count == 8 else { return nil }
            content = .missing(messages: body.littleEndian(at: WireRecording.bodyHeaderBytes))
        default: return nil
        }
        return WireRecording.Entry(
            connection: connection, arrivedNanoseconds: arrived, content: content)
    }

    /// Up to `count` bytes at the present position.
    private func read(_ count: Int) throws(WireRecordingError) -> [UInt8] {
        guard let bytes = Descriptor.read(descriptor, at: offset, count: count) else {
            throw .unreadable(path: path, errno: errno)
        }
        return bytes
    }
}

/// Why a recorded wire cannot be read.
package enum WireRecordingError: Error, Hashable, CustomStringConvertible {
    case unreadable(path: String, errno: Int32)
    case noWireRecording(path: String)
    case version(path: String, UInt32)
    case damaged(path: String, offset: Int64)

    package var description: String {
        switch self {
        case .unreadable(let path, let code):
            "cannot read \(path): \(systemMessage(code))"
        case .noWireRecording(let path): "\(path) is not a wire recording"
        case .version(let path, let version):
            "\(path) has format version \(version), and this program supports \(WireRecording.version): use a matching version"
        case .damaged(let path, let offset):
            "\(path) is damaged at byte \(offset); the messages before it have been read"
        }
    }
}

extension [UInt8] {
    fileprivate mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Reads a little-endian integer at `offset`, where enough bytes must exist.
    fileprivate func littleEndian<Value: FixedWidthInteger>(at offset: Int) -> Value {
        self[offset..<offset + MemoryLayout<Value>.size].reversed()
            .reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }
}
