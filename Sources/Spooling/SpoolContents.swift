/// The result of reading from a spool.
package struct SpoolContents: Sendable {
    package enum Item: Sendable {
        case record(numbers: ClosedRange<UInt64>, kind: UInt16, body: ArraySlice<UInt8>)
        /// These numbers were written and cannot be read.
        case missing(ClosedRange<UInt64>, kind: UInt16?)

        package var numbers: ClosedRange<UInt64> {
            switch self {
            case .record(let numbers, _, _), .missing(let numbers, _): numbers
            }
        }
    }

    /// In order, without a hole.
    package var items: [Item]
    /// The caller's data that applies before the first item; nil: unchanged.
    package var preamble: [UInt8]?
}

extension SpoolSet {
    /// The complete content of the file, or the substitutes, that contain a number: some items may be before it.
    /// - Returns: nil when the spool has no such record.
    /// - Throws: when the file cannot be read. Its content then counts as damaged.
    package func contents(
        of generation: UInt32, at number: UInt64
    ) throws(SpoolError) -> SpoolContents? {
        guard let spool = spool(generation), number < spool.nextNumber else { return nil }
        if spool.substitutes.contains(where: { $0.numbers.contains(number) }) {
            let items = contiguous(spool.substitutes.filter { $0.numbers.upperBound >= number })
            // Substitutes do not depend on a preamble, so that of the next file serves for them.
            let next = spool.files.first { $0.numbers.lowerBound > number }
            return SpoolContents(
                items: items.map {
                    .record(numbers: $0.numbers, kind: $0.kind, body: $0.body[...])
                }, preamble: next.flatMap { readablePreamble(of: $0, generation) })
        }
        guard let file = spool.files.first(where: { $0.numbers.contains(number) }) else {
            return nil
        }
        return try contents(of: file, generation)
    }

    /// The numbers from a given one on that are lost when they cannot be read: those of its file, or up to the next file.
    package func unreadable(
        of generation: UInt32, from number: UInt64
    ) -> ClosedRange<UInt64>? {
        guard let spool = spool(generation), number < spool.nextNumber else { return nil }
        if let file = spool.files.first(where: { $0.numbers.contains(number) }) {
            return number...file.numbers.upperBound - 1
        }
        let next = spool.files.map(\.numbers.lowerBound).first { $0 > number }
        return number...(next ?? spool.nextNumber) - 1
    }

    /// The preamble that applies after a group.
    /// - Returns: nil when nothing readable follows it.
    package func preamble(behind group: Spool.Group, _ generation: UInt32) -> [UInt8]? {
        guard let spool = spool(generation), group.files.upperBound < spool.files.count else {
            return nil
        }
        return readablePreamble(of: spool.files[group.files.upperBound], generation)
    }

    private func readablePreamble(of file: Spool.File, _ generation: UInt32) -> [UInt8]? {
        do throws(SpoolError) {
            return try preamble(of: file, generation)
        } catch {
            // The file reports it again when its records are read.
            return nil
        }
    }

    /// The preamble that applies to a spool's oldest record.
    package func firstPreamble(of generation: UInt32) throws(SpoolError) -> [UInt8]? {
        guard let spool = spool(generation) else { return nil }
        if let file = spool.files.first { return try preamble(of: file, generation) }
        guard spool.substituteBytes > 0 else { return nil }
        return try header(of: SpoolName.substitutes(generation))?.preamble
    }

    private func preamble(
        of file: Spool.File, _ generation: UInt32
    ) throws(SpoolError) -> [UInt8]? {
        try header(of: SpoolName.file(generation, file.number))?.preamble
    }

    func header(of name: String) throws(SpoolError) -> SpoolFileHeader? {
        let first = try storage.read(name, at: 0, limit: 8_192)
        if let header = first.withUnsafeBytes({ SpoolFileHeader($0) }) { return header }
        // Only a preamble with many parameter sets is longer.
        let more = try storage.read(
            name, at: 0,
            limit: SpoolFormat.fileHeaderBytes + SpoolFormat.maximumPreambleBytes
                + SpoolFormat.alignment)
        return more.withUnsafeBytes { SpoolFileHeader($0) }
    }

    private func contents(
        of file: Spool.File, _ generation: UInt32
    ) throws(SpoolError) -> SpoolContents {
        let bytes = try storage.read(
            SpoolName.file(generation, file.number), at: 0, limit: file.sizeBytes)
        guard let scan = SpoolScan(bytes) else {
            return SpoolContents(
                items: [.missing(file.numbers.lowerBound...file.numbers.upperBound - 1, kind: nil)],
                preamble: nil)
        }
        var items: [SpoolContents.Item] = scan.items.map { item in
            switch item {
            case .record(let record):
                .record(
                    numbers: record.numbers, kind: record.kind, body: bytes[record.body])
            case .missing(let numbers, let kind): .missing(numbers, kind: kind)
            }
        }
        // Another file was begun after these numbers, so they existed.
        if scan.nextNumber < file.numbers.upperBound {
            items.append(.missing(scan.nextNumber...file.numbers.upperBound - 1, kind: nil))
        }
        return SpoolContents(items: items, preamble: scan.preamble)
    }

    private func contiguous(_ substitutes: [Spool.Substitute]) -> [Spool.Substitute] {
        var result: [Spool.Substitute] = []
        for substitute in substitutes {
            if let last = result.last, last.numbers.upperBound + 1 != substitute.numbers.lowerBound
            {
                break
            }
            result.append(substitute)
        }
        return result
    }
}
