/// Fast parser for lines as ``Ledger/line(_:)`` writes them: one object of strings, integers and lists of lists of them, without
/// spaces and escapes. A ledger may have a million lines, and a general JSON decoder is twenty times slower.
///
/// Anything else is left to the general decoder, which gives the same result for all lines that this parser accepts.
struct LedgerLineParser: ~Copyable {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0
    /// Fields that were read, so that one that comes twice is seen.
    private var fields: Set<String> = []

    /// - Parameter bytes: a line up to its checksum: `{"at":"…","kind":"gap"`.
    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Nil: the line is not in the form of ``Ledger/line(_:)``.
    static func entry(_ bytes: UnsafeRawBufferPointer) -> LedgerEntry? {
        var parser = LedgerLineParser(bytes)
        return parser.entry()
    }

    private mutating func entry() -> LedgerEntry? {
        guard take("{") else { return nil }
        var entry = LedgerEntry(kind: .gap, text: "")
        repeat {
            guard let name = string(), take(":"), fields.insert(name).inserted,
                read(name, into: &entry)
            else { return nil }
        } while take(",")
        let isWhole = place == bytes.count && fields.contains("kind") && fields.contains("at")
        return isWhole ? entry : nil
    }

    /// - Returns: whether there is such a field with such a value.
    private mutating func read(_ name: String, into entry: inout LedgerEntry) -> Bool {
        switch name {
        case "kind":
            guard let kind = string().flatMap(LedgerEntry.Kind.init) else { return false }
            entry.kind = kind
            return true
        case "at":
            guard let text = string() else { return false }
            entry.at = text
            return true
        case "spool": return read(&entry.spool)
        case "track": return read(&entry.track)
        case "cause": return read(&entry.cause)
        case "epoch": return read(&entry.epoch)
        case "peerEpoch": return read(&entry.peerEpoch)
        case "segment": return read(&entry.segment)
        case "text": return read(&entry.text)
        case "collector": return read(&entry.collector)
        case "session": return read(&entry.session)
        case "term": return read(&entry.term)
        case "firstSequence": return read(&entry.firstSequence)
        case "lastSequence": return read(&entry.lastSequence)
        case "after": return read(&entry.after)
        case "durationNanoseconds": return read(&entry.durationNanoseconds)
        case "samples": return read(&entry.samples)
        case "boundNanoseconds": return read(&entry.boundNanoseconds)
        case "rejectedExchanges": return read(&entry.rejectedExchanges)
        case "outlyingExchanges": return read(&entry.outlyingExchanges)
        case "startNanoseconds": return read(&entry.startNanoseconds)
        case "agentNanoseconds": return read(&entry.agentNanoseconds)
        case "offsetNanoseconds": return read(&entry.offsetNanoseconds)
        case "skewPartsPerBillion": return read(&entry.skewPartsPerBillion)
        case "leastNanoseconds": return read(&entry.leastNanoseconds)
        case "greatestNanoseconds": return read(&entry.greatestNanoseconds)
        case "aheadNanoseconds": return read(&entry.aheadNanoseconds)
        case "collectorZeroNanoseconds": return read(&entry.collectorZeroNanoseconds)
        case "ranges": return read(&entry.ranges)
        case "exchanges": return read(&entry.exchanges)
        default: return false
        }
    }

    private mutating func read(_ field: inout String?) -> Bool {
        field = string()
        return field != nil
    }

    private mutating func read<Number: FixedWidthInteger>(_ field: inout Number?) -> Bool {
        field = number()
        return field != nil
    }

    private mutating func read<Number: FixedWidthInteger>(_ field: inout [[Number]]?) -> Bool {
        field = lists()
        return field != nil
    }

    // MARK: Values

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    /// UTF-8 without control characters and backslashes.
    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            let byte = bytes[place]
            guard byte >= 0x20, byte != 0x7F, byte != UInt8(ascii: "\\") else { return nil }
            place += 1
        }
        let text = String(
            validating: UnsafeRawBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self)
        return take("\"") ? text : nil
    }

    private mutating func number<Number: FixedWidthInteger>() -> Number? {
        let isNegative = Number.isSigned && take("-")
        let start = place
        var value: Number = 0
        while place < bytes.count, case let digit = bytes[place] &- UInt8(ascii: "0"), digit < 10 {
            // Accumulated with its sign, so that the lowest number can be parsed.
            let (scaled, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) =
                isNegative
                ? scaled.subtractingReportingOverflow(Number(digit))
                : scaled.addingReportingOverflow(Number(digit))
            guard !isLarge, !isLarger else { return nil }
            value = sum
            place += 1
        }
        let count = place - start
        // No zeros in front, and no negative zero.
        guard count > 0, bytes[start] != UInt8(ascii: "0") || count == 1 && !isNegative else {
            return nil
        }
        return value
    }

    /// `[[1,2],[3,4]]`.
    private mutating func lists<Number: FixedWidthInteger>() -> [[Number]]? {
        guard take("[") else { return nil }
        var lists: [[Number]] = []
        if take("]") { return lists }
        repeat {
            guard take("[") else { return nil }
            var numbers: [Number] = []
            if !take("]") {
                repeat {
                    guard let number: Number = number() else { return nil }
                    numbers.append(number)
                } while take(",")
                guard take("]") else { return nil }
            }
            lists.append(numbers)
        } while take(",")
        return take("]") ? lists : nil
    }
}
