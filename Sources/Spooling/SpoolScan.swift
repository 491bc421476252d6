/// What a file's bytes say: records in their order, and what is missing between them. Pure: bytes in, result out, whatever they are.
///
/// A record whose body is damaged is skipped, and its header says which numbers are gone. Where a header is damaged, the next
/// place in this file with a sound header is looked for, eight bytes at a time; the numbers in between are gone. A file ends
/// where nothing sound follows any more, and no search goes past it: the next file begins with its own header.
package struct SpoolScan: Sendable {
    /// One step through the file.
    package enum Item: Hashable, Sendable {
        case record(Record)
        /// These numbers were written and cannot be read.
        case missing(ClosedRange<UInt64>, kind: UInt16?)
    }

    /// A sound record.
    package struct Record: Hashable, Sendable {
        package var numbers: ClosedRange<UInt64>
        package var kind: UInt16
        package var beginsGroup: Bool
        /// Where its bytes are in the file.
        package var body: Range<Int>
    }

    /// How a file ends.
    package enum Tail: Hashable, Sendable {
        /// With a whole record.
        case whole
        /// Within a record: what an append leaves whose process was killed.
        case torn
        /// With bytes that no append leaves: a power cut, or a fault of the disk.
        case damaged
    }

    let header: SpoolFileHeader
    /// The caller's words at the file's beginning.
    package var preamble: [UInt8] { header.preamble }
    package private(set) var items: [Item] = []
    package private(set) var tail = Tail.whole
    /// Up to here the file is made of whole records (sound or not).
    package private(set) var endBytes: Int
    /// The number after the last one that the file is known to hold.
    package private(set) var nextNumber: UInt64
    /// Records whose bodies, and places where headers, were damaged.
    package private(set) var damages = 0

    /// Reads a file's bytes; nil without a sound file header.
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
                    // An append writes headers whole before bodies: what is shorter was cut while it was written.
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

    /// A header that can follow what has been read.
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
