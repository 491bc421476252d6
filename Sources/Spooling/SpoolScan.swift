/// The content of a file: its records in order, and the numbers that are missing between them. A pure function of the bytes,
/// which may be damaged in any way.
///
/// A record with a damaged body is skipped; its header shows which numbers are lost. After a damaged header, the file is searched
/// for the next valid header in steps of eight bytes; the numbers in between are lost. A file ends where nothing valid follows.
/// The search does not continue in the next file, which has its own header.
package struct SpoolScan: Sendable {
    /// One step through the file.
    package enum Item: Hashable, Sendable {
        case record(Record)
        /// These numbers were written and cannot be read.
        case missing(ClosedRange<UInt64>, kind: UInt16?)
    }

    /// A valid record.
    package struct Record: Hashable, Sendable {
        package var numbers: ClosedRange<UInt64>
        package var kind: UInt16
        package var beginsGroup: Bool
        /// The byte range of its body in the file.
        package var body: Range<Int>
    }

    /// The state of a file's end.
    package enum Tail: Hashable, Sendable {
        /// It ends with a complete record.
        case whole
        /// It ends within a record: the process was killed during an append.
        case torn
        /// It ends with bytes that no append writes: a power cut, or a disk error.
        case damaged
    }

    let header: SpoolFileHeader
    /// The caller's data in the file's header.
    package var preamble: [UInt8] { header.preamble }
    package private(set) var items: [Item] = []
    package private(set) var tail = Tail.whole
    /// End of the complete records (valid or not).
    package private(set) var endBytes: Int
    /// The number after the last known one in the file.
    package private(set) var nextNumber: UInt64
    /// Number of damaged bodies, and of places with damaged headers.
    package private(set) var damages = 0

    /// Reads a file's bytes; nil without a valid file header.
    package init?(_ bytes: [UInt8]) {
        guard let header = bytes.withUnsafeBytes({ SpoolFileHeader($0) }) else { return nil }
        self.header = header
        endBytes = header.sizeBytes
        nextNumber = header.firstNumber
        bytes.withUnsafeBytes { scan($0) }
    }

    private mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        let salt = header.salt
        var offset = header.sizeBytes
        while offset < bytes.count {
            guard let record = sound(bytes, at: offset, salt: salt) else {
                let next = search(bytes, after: offset, salt: salt)
                guard let next else {
                    // An append writes headers completely before bodies: a shorter end was interrupted.
                    let isCut = bytes.count - offset < SpoolFormat.recordHeaderBytes
                    tail = isCut ? .torn : .damaged
                    return
                }
                damages += 1
                offset = next
                continue
            }
            let start = offset + SpoolFormat.recordHeaderBytes
            guard start + record.bodyBytes <= bytes.count else {
                tail = .torn
                return
            }
            take(
                record, UnsafeRawBufferPointer(rebasing: bytes[start..<start + record.bodyBytes]),
                at: start)
            offset += record.recordBytes
            endBytes = offset
        }
    }

    private mutating func take(
        _ record: SpoolRecordHeader, _ body: UnsafeRawBufferPointer, at start: Int
    ) {
        if record.firstNumber > nextNumber {
            items.append(.missing(nextNumber...record.firstNumber - 1, kind: nil))
        }
        let numbers = record.firstNumber...record.lastNumber
        if CRC32C.of(body) == record.bodyChecksum {
            items.append(
                .record(
                    Record(
                        numbers: numbers, kind: record.kind, beginsGroup: record.beginsGroup,
                        body: start..<start + record.bodyBytes)))
        } else {
            damages += 1
            items.append(.missing(numbers, kind: record.kind))
        }
        nextNumber = record.lastNumber + 1
    }

    /// A header that can follow what was read so far.
    private func sound(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, salt: UInt32
    ) -> SpoolRecordHeader? {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
        guard let record = SpoolRecordHeader(rest, salt: salt),
            record.firstNumber >= nextNumber
        else { return nil }
        return record
    }

    private func search(
        _ bytes: UnsafeRawBufferPointer, after offset: Int, salt: UInt32
    ) -> Int? {
        var place = offset + SpoolFormat.alignment
        while place + SpoolFormat.recordHeaderBytes <= bytes.count {
            if (bytes.littleEndian(at: place) as UInt32) == SpoolFormat.recordMagic,
                sound(bytes, at: place, salt: salt) != nil
            {
                return place
            }
            place += SpoolFormat.alignment
        }
        return nil
    }
}
