/// The byte layout of a spool's files. Everything is little-endian; the module's article has the tables.
package enum SpoolFormat {
    /// The first bytes of every file: a magic number that includes the layout's version.
    static let fileMagic: UInt64 = 0x314C_4F4F_5053_5254  // "TRSPOOL1"
    static let recordMagic: UInt32 = 0x4452_4352  // "RCRD"
    /// Size of a file's fixed header.
    static let fileHeaderBytes = 72
    /// Size of a record's header.
    static let recordHeaderBytes = 32
    /// Alignment of records, by which a reader that lost synchronisation searches for the next one.
    static let alignment = 8
    /// Size of the identities of spools and of their origins.
    package static let identityBytes = 16
    /// Maximum body: a message's largest payload and header (4 MiB and 256 KiB), with a margin.
    package static let maximumBodyBytes = 5 << 20
    /// Maximum preamble: two formats with all their parameter sets.
    package static let maximumPreambleBytes = 1 << 20

    /// `count`, rounded up to where the next record may begin.
    static func aligned(_ count: Int) -> Int { (count + alignment - 1) & ~(alignment - 1) }
}

/// The header of a file: its spool, and the data that is needed to read it alone.
struct SpoolFileHeader: Hashable, Sendable {
    /// Position of the spool in its directory, in the order in which spools were begun.
    var generation: UInt32
    /// Position of the file in its spool.
    var file: UInt32
    /// 16 random bytes: the identity that numbers the records.
    var identity: [UInt8]
    /// 16 bytes of the caller's: the context in which the records were written.
    var origin: [UInt8]
    /// The number of the first record.
    var firstNumber: UInt64
    /// Whether the first record begins a group.
    var beginsGroup: Bool
    /// The caller's, opaque.
    var preamble: [UInt8]

    /// Size of the header and the padding before the first record.
    var sizeBytes: Int { SpoolFormat.aligned(SpoolFormat.fileHeaderBytes + preamble.count) }

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sizeBytes)
        bytes.appendLittleEndian(SpoolFormat.fileMagic)
        bytes.appendLittleEndian(generation)
        bytes.appendLittleEndian(file)
        bytes += identity
        bytes += origin
        bytes.appendLittleEndian(firstNumber)
        bytes.appendLittleEndian(UInt32(beginsGroup ? 1 : 0))
        bytes.appendLittleEndian(UInt32(preamble.count))
        var checksum = CRC32C()
        bytes.withUnsafeBytes { checksum.update($0) }
        preamble.withUnsafeBytes { checksum.update($0) }
        bytes.appendLittleEndian(checksum.value)
        bytes.appendLittleEndian(UInt32(0))
        bytes += preamble
        bytes += [UInt8](repeating: 0, count: sizeBytes - bytes.count)
        return bytes
    }

    /// Nil when the bytes are not a complete, valid header.
    init?(_ bytes: UnsafeRawBufferPointer) {
        let fixed = SpoolFormat.fileHeaderBytes
        guard bytes.count >= fixed, bytes.littleEndian(at: 0) == SpoolFormat.fileMagic else {
            return nil
        }
        let length = Int(bytes.littleEndian(at: 60) as UInt32)
        guard length <= SpoolFormat.maximumPreambleBytes,
            bytes.count >= SpoolFormat.aligned(fixed + length)
        else { return nil }
        preamble = Array(bytes[fixed..<fixed + length])
        var checksum = CRC32C()
        checksum.update(UnsafeRawBufferPointer(rebasing: bytes[..<64]))
        preamble.withUnsafeBytes { checksum.update($0) }
        guard checksum.value == bytes.littleEndian(at: 64) else { return nil }
        generation = bytes.littleEndian(at: 8)
        file = bytes.littleEndian(at: 12)
        identity = Array(bytes[16..<32])
        origin = Array(bytes[32..<48])
        firstNumber = bytes.littleEndian(at: 48)
        beginsGroup = (bytes.littleEndian(at: 56) as UInt32) & 1 == 1
    }

    init(
        generation: UInt32, file: UInt32, identity: [UInt8], origin: [UInt8],
        firstNumber: UInt64, beginsGroup: Bool, preamble: [UInt8]
    ) {
        precondition(
            identity.count == SpoolFormat.identityBytes
                && origin.count == SpoolFormat.identityBytes)
        precondition(preamble.count <= SpoolFormat.maximumPreambleBytes)
        self.generation = generation
        self.file = file
        self.identity = identity
        self.origin = origin
        self.firstNumber = firstNumber
        self.beginsGroup = beginsGroup
        self.preamble = preamble
    }
}

/// The header of a record, with its own checksum: a record with a damaged body still shows which numbers are lost.
struct SpoolRecordHeader: Hashable, Sendable {
    var bodyBytes: Int
    var firstNumber: UInt64
    /// How many numbers it uses, at least 1.
    var count: UInt32
    /// The caller's.
    var kind: UInt16
    /// Whether a reader may resume here after a loss.
    var beginsGroup: Bool
    var bodyChecksum: UInt32

    var lastNumber: UInt64 { firstNumber + UInt64(count) - 1 }
    /// Size of the header, the body and the padding before the next record.
    var recordBytes: Int { SpoolFormat.aligned(SpoolFormat.recordHeaderBytes + bodyBytes) }

    /// - Parameter salt: from the file's header, so that a record of another file is never accepted.
    func encoded(salt: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(SpoolFormat.recordHeaderBytes)
        bytes.appendLittleEndian(SpoolFormat.recordMagic)
        bytes.appendLittleEndian(UInt32(bodyBytes))
        bytes.appendLittleEndian(firstNumber)
        bytes.appendLittleEndian(count)
        bytes.appendLittleEndian(kind)
        bytes.appendLittleEndian(UInt16(beginsGroup ? 1 : 0))
        bytes.appendLittleEndian(bodyChecksum)
        bytes.appendLittleEndian(Self.checksum(of: bytes, salt: salt))
        return bytes
    }

    /// Nil when the bytes are not a valid header.
    init?(_ bytes: UnsafeRawBufferPointer, salt: UInt32) {
        guard bytes.count >= SpoolFormat.recordHeaderBytes,
            bytes.littleEndian(at: 0) == SpoolFormat.recordMagic
        else { return nil }
        let covered = Array(bytes[..<28])
        guard Self.checksum(of: covered, salt: salt) == bytes.littleEndian(at: 28) else {
            return nil
        }
        let size: UInt32 = bytes.littleEndian(at: 4)
        bodyBytes = Int(size)
        firstNumber = bytes.littleEndian(at: 8)
        count = bytes.littleEndian(at: 16)
        kind = bytes.littleEndian(at: 20)
        beginsGroup = (bytes.littleEndian(at: 22) as UInt16) & 1 == 1
        bodyChecksum = bytes.littleEndian(at: 24)
        guard bodyBytes <= SpoolFormat.maximumBodyBytes, count > 0,
            !firstNumber.addingReportingOverflow(UInt64(count)).overflow
        else { return nil }
    }

    init(
        bodyBytes: Int, firstNumber: UInt64, count: UInt32, kind: UInt16, beginsGroup: Bool,
        bodyChecksum: UInt32
    ) {
        self.bodyBytes = bodyBytes
        self.firstNumber = firstNumber
        self.count = count
        self.kind = kind
        self.beginsGroup = beginsGroup
        self.bodyChecksum = bodyChecksum
    }

    private static func checksum(of bytes: [UInt8], salt: UInt32) -> UInt32 {
        var checksum = CRC32C()
        withUnsafeBytes(of: salt.littleEndian) { checksum.update($0) }
        bytes.withUnsafeBytes { checksum.update($0) }
        return checksum.value
    }
}

extension SpoolFileHeader {
    /// Salt of the records' checksums: the header's own checksum. With it, a record of another file is never accepted.
    var salt: UInt32 { encoded().withUnsafeBytes { $0.littleEndian(at: 64) } }
}

extension [UInt8] {
    /// Calls `body` with the bytes in place; unlike `withUnsafeBytes`, it has typed errors.
    func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(SpoolError) -> Result
    ) throws(SpoolError) -> Result {
        try withUnsafeBufferPointer { buffer throws(SpoolError) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }

    mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}

extension UnsafeRawBufferPointer {
    func littleEndian<Value: FixedWidthInteger>(at offset: Int) -> Value {
        Value(littleEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
}
