import Glibc

/// Reads a ledger from its beginning in blocks. Lines over the length limit are discarded, and lines after
/// ``Ledger/maximumLines`` are not read, because the file is untrusted.
struct LedgerReader {
    private static let feed = UInt8(ascii: "\n")

    private var contents = Ledger.Contents()
    /// The beginning of a line whose end has not come yet.
    private var line: [UInt8] = []
    /// The beginning was longer than a line can be: the rest is skipped.
    private var isTooLong = false
    /// Bytes that were read.
    private var offset: UInt64 = 0
    private var lineOffset: UInt64 = 0
    private var lines = 0

    /// Processes the next bytes.
    /// - Returns: false if no more bytes are needed.
    mutating func add(_ block: UnsafeRawBufferPointer) -> Bool {
        var rest = block[...]
        while let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty,
            let end = memchr(base, Int32(Self.feed), rest.count)
        {
            let count = base.distance(to: UnsafeRawPointer(end))
            guard lines < Ledger.maximumLines, contents.isLedger else {
                contents.isCutShort = true
                return false
            }
            endLine(UnsafeRawBufferPointer(start: base, count: count))
            rest = rest.dropFirst(count + 1)
            offset += UInt64(count + 1)
            lineOffset = offset
        }
        keep(UnsafeRawBufferPointer(rebasing: rest))
        offset += UInt64(rest.count)
        return true
    }

    /// Ends the input.
    consuming func finish() -> Ledger.Contents {
        if contents.isCutShort { return contents }
        if isTooLong {
            contents.hasTornTail = true
        } else if !line.isEmpty {
            if let entry = line.withUnsafeBytes({ Ledger.entry($0) }) {
                append(entry)
            } else {
                contents.hasTornTail = true
            }
        }
        return contents
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        guard !isTooLong else { return }
        guard line.count + bytes.count <= Ledger.maximumLineBytes else {
            isTooLong = true
            line = []
            return
        }
        line.append(contentsOf: bytes)
    }

    private mutating func endLine(_ last: UnsafeRawBufferPointer) {
        lines += 1
        defer {
            isTooLong = false
            line.removeAll(keepingCapacity: true)
        }
        // Most lines lie in one block.
        if line.isEmpty, !isTooLong, last.count <= Ledger.maximumLineBytes {
            if !last.isEmpty { take(Ledger.entry(last)) }
            return
        }
        keep(last)
        take(isTooLong ? nil : line.withUnsafeBytes { Ledger.entry($0) })
    }

    private mutating func take(_ entry: LedgerEntry?) {
        if let entry { append(entry) } else { contents.addDamagedLine(lines) }
    }

    private mutating func append(_ entry: LedgerEntry) {
        contents.entries.append(entry)
        contents.offsets.append(lineOffset)
    }
}
