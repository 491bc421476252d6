package import Media
package import Messaging
import Spooling
package import Wire

/// Payload bytes that a spool can write and read back.
package protocol SpooledPayload: Sendable {
    init(copying bytes: UnsafeRawBufferPointer)
    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result
}

/// The encoding of records and formats in a spool. A record's body is its message as it will be sent: the length of the header
/// part (4 bytes, little-endian), the header part, the payload.
package enum SpoolCoding {
    private static let lengthBytes = 4
    /// The epoch number in all records of a spool: a spool belongs to one boot.
    package static let epoch: UInt32 = 1

    /// The part of a record's body before its payload: the length of the header part, and the header part.
    package static func prefix(of header: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(header.count).littleEndian) { Array($0) } + header
    }

    /// Reads a record's body.
    /// - Throws: when it was not written by this or an earlier version.
    package static func record<Payload: SpooledPayload>(
        _ body: ArraySlice<UInt8>, as: Payload.Type = Payload.self
    ) throws(WireError) -> KeptRecord<Payload> {
        guard let (header, rest) = split(body) else {
            throw .malformed("a stored record that is shorter than its header")
        }
        return try KeptRecord(
            header: Array(header), payload: rest.withUnsafeBytes { Payload(copying: $0) },
            payloadBytes: rest.count)
    }

    /// Reads a record's body without its payload; nil when it was not written by this or an earlier version.
    package static func readable(_ body: ArraySlice<UInt8>) -> KeptRecord<NoPayload>? {
        do throws(WireError) {
            return try record(body)
        } catch {
            // The record's checksum is correct, so another version wrote it.
            return nil
        }
    }

    private static func split(
        _ body: ArraySlice<UInt8>
    ) -> (header: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard body.count >= lengthBytes else { return nil }
        let length = body.prefix(lengthBytes).reversed().reduce(0) { $0 << 8 | Int($1) }
        let rest = body.dropFirst(lengthBytes)
        guard length <= rest.count else { return nil }
        return (rest.prefix(length), rest.dropFirst(length))
    }

    /// Encodes formats as a file's preamble.
    package static func preamble(_ formats: [TrackFormat]) -> [UInt8] {
        formats.flatMap { format in
            prefix(
                of: WireMessage.trackUpdate(
                    TrackUpdate(source: 0, sequence: 1, format: format)
                ).encoded())
        }
    }

    /// The formats in a preamble; nil when none can be read.
    package static func formats(_ preamble: [UInt8]) -> [TrackFormat]? {
        var formats: [TrackFormat] = []
        var rest = preamble[...]
        while !rest.isEmpty {
            guard let (header, others) = split(rest),
                case .trackUpdate(let update)? = message(Array(header))
            else { return nil }
            formats.append(update.format)
            rest = others
        }
        return formats.isEmpty ? nil : formats
    }

    private static func message(_ header: [UInt8]) -> WireMessage? {
        do throws(WireError) {
            return try WireMessage(decoding: header)
        } catch {
            // The caller reports what could not be read.
            return nil
        }
    }
}

/// A payload that is not read.
package struct NoPayload: SpooledPayload {
    package init(copying bytes: UnsafeRawBufferPointer) {}

    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

extension SharedBytes: SpooledPayload {
    package convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }
}
