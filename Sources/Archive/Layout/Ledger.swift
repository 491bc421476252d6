import FoundationEssentials
package import Media

/// One line of `ledger.jsonl`: an event of a source that the media cannot express.
package struct LedgerEntry: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A source began or reconnected; `text` says from where.
        case opened
        /// Samples are missing.
        case gap
        /// The source ended.
        case goodbye
        /// A track's format changed.
        case format
        /// Records that were not on disk when the session ended, although later records were. What their agent still has of them
        /// is recorded in a later session.
        case later
        /// Records within this session's numbers that an earlier session has.
        case earlier
        /// Stamps that could not be kept.
        case time
        /// Samples of one epoch of the box's clock begin or end; `cause` says which.
        case epoch
        /// The model of an epoch's clock from `startNanoseconds` on, until the epoch's next such line or its end.
        case clock
        /// Session times of an epoch's later samples continue with an offset that differs by `offsetNanoseconds`.
        case discontinuity
        /// Clock exchanges: those that are in no fragment, or the number of rejected ones.
        case exchanges
        /// A segment and its records were removed; `cause` says why.
        case removed
        /// A collector resumed the session after a crash; `text` says what it found.
        case resumed
        /// A file could no longer be written and ended there; `text` says which and why. Later records were sent again.
        case failed
        /// A file's content is damaged, and it was left unchanged; `text` says which and where.
        case damaged
    }

    package var kind: Kind
    /// Time of writing, UTC.
    package var at: String
    /// The records that this line replaces, when it takes their numbers.
    package var firstSequence: UInt64?
    package var lastSequence: UInt64?
    /// Instead of those two, for a line that replaces several ranges of records: first and last of each.
    package var ranges: [[UInt64]]?
    /// The spool of those numbers, hexadecimal.
    package var spool: String?
    /// With `spool`: records up to this one are not expected here. They were durable before the source began.
    package var after: UInt64?
    /// The track concerned; none: all.
    package var track: String?
    /// Why: `driver-drop`, `overrun`, `encoder-overload`, `spool-full`, …
    package var cause: String?
    /// Session time at which the loss starts, or from which the line applies, nanoseconds.
    package var startNanoseconds: Int64?
    package var durationNanoseconds: UInt64?
    /// How many samples are missing; none: unknown.
    package var samples: UInt64?
    /// The clock's epoch, hexadecimal.
    package var epoch: String?
    /// The moment of that clock at which `offsetNanoseconds` applies.
    package var agentNanoseconds: Int64?
    /// Collector − agent; of a discontinuity, the change.
    package var offsetNanoseconds: Int64?
    /// The growth of the offset, parts per billion of the agent's time.
    package var skewPartsPerBillion: Int64?
    /// Maximum error of the offset.
    package var boundNanoseconds: UInt64?
    /// The session's zero on the collector's clock.
    package var collectorZeroNanoseconds: Int64?
    /// t1, t2, t3 and t4 of each exchange.
    package var exchanges: [[Int64]]?
    /// Number of impossible exchanges of the epoch so far.
    package var rejectedExchanges: UInt64?
    /// Number of exchanges of the epoch so far that contradicted all others.
    package var outlyingExchanges: UInt64?
    /// The removed file.
    package var segment: String?
    /// Text for people.
    package var text: String?

    /// The `cause` of a `resumed` line by which a collector without any files went on with what the store has. With `spool`, `after`
    /// is what was in the store. Such lines of one moment belong together. Where earlier lines say that records were durable
    /// (`after`), that was on the disk of another collector, which is gone.
    package static let takenOver = "taken-over"

    package init(kind: Kind, at: UTCTime) {
        self.kind = kind
        self.at = at.description
    }

    /// The records that the line replaces, as far as their numbers are valid.
    package var sequences: [ClosedRange<UInt64>] {
        var sequences: [ClosedRange<UInt64>] = []
        if let firstSequence, let lastSequence, firstSequence <= lastSequence {
            sequences.append(firstSequence...lastSequence)
        }
        for range in ranges ?? [] where range.count == 2 && range[0] <= range[1] {
            sequences.append(range[0]...range[1])
        }
        return sequences
    }
}

extension LedgerEntry {
    /// Whether it says that records are in other sessions.
    package var isAboutOtherSessions: Bool { kind == .earlier || kind == .later }

    /// The records of a spool that the line accounts for: they are in no file, or (``Kind/earlier``) in those of an earlier session.
    package var replacedRecords: [(spool: SpoolID, sequences: ClosedRange<UInt64>)] {
        guard kind != .later, let spool = spool.flatMap(SpoolID.init(hexadecimal:)) else {
            return []
        }
        return sequences.filter { $0.lowerBound > 0 }.map { (spool, $0) }
    }
}

/// The bytes of `ledger.jsonl`: JSON lines that each end in a checksum, so that a torn or damaged line can be detected without
/// reading any other.
///
/// A line is `{…,"check":"<16 hex digits>"}`: the first 8 bytes of the SHA-256 of everything before `,"check"`.
package enum Ledger {
    /// A larger ledger was not written by this program.
    package static let maximumBytes = 256 << 20

    /// A line, including its line feed.
    package static func line(_ entry: LedgerEntry) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let body = Array(try encoder.encode(entry).dropLast())
            return body + Array(",\"check\":\"\(checksum(body))\"}\n".utf8)
        } catch {
            preconditionFailure("a ledger entry of plain values always encodes: \(error)")
        }
    }

    /// The content of a ledger.
    package struct Contents: Sendable {
        package var entries: [LedgerEntry] = []
        /// The byte offset of each of them.
        package var offsets: [UInt64] = []
        /// Numbers (from 1) of damaged lines.
        package var damagedLines: [Int] = []
        /// Whether the last line is incomplete: the program crashed while writing it.
        package var hasTornTail = false

        /// Of a source without a ledger.
        package static let empty = Contents()
    }

    /// Reads a ledger; the ledger of a source without one is empty.
    package static func read(_ path: String) throws(ArchiveError) -> Contents {
        guard FileSystem.exists(path) else { return Contents() }
        return parse(try FileSystem.read(path, limit: maximumBytes))
    }

    /// Reads a ledger's bytes.
    package static func parse(_ bytes: [UInt8]) -> Contents {
        var contents = Contents()
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.isEmpty { continue }
            if let entry = entry(Array(line)) {
                contents.entries.append(entry)
                contents.offsets.append(UInt64(line.startIndex))
            } else if line.endIndex == bytes.endIndex {
                contents.hasTornTail = true
            } else {
                contents.damagedLines.append(number)
            }
        }
        return contents
    }

    private static func entry(_ line: [UInt8]) -> LedgerEntry? {
        // ,"check":"0123456789abcdef"}
        let tail = 28
        guard line.count > tail else { return nil }
        let body = Array(line.dropLast(tail))
        guard Array(line.suffix(tail)) == Array(",\"check\":\"\(checksum(body))\"}".utf8) else {
            return nil
        }
        do {
            let entry = try JSONDecoder().decode(
                LedgerEntry.self, from: Data(body + [UInt8(ascii: "}")]))
            return entry.limited
        } catch {
            // A kind of line from a newer version: complete, but not used.
            return nil
        }
    }

    private static func checksum(_ body: [UInt8]) -> String {
        hexadecimal(Digest(of: body).bytes.prefix(8))
    }
}
