import FoundationEssentials

/// One line of `ledger.jsonl`: something that happened to a source, and that the media cannot say.
package struct LedgerEntry: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// A source began, or came back; `text` says from where.
        case opened
        /// Samples are missing.
        case gap
        /// The source said goodbye.
        case goodbye
        /// A track's format changed.
        case format
        /// Records that were not on disk when the session ended, behind others that were: what their agent still has of them comes
        /// in a later session.
        case later
        /// Records among this session's that an earlier one has.
        case earlier
        /// Times could not be kept as they came.
        case time
        /// Samples of one run of the box's clock begin or end; `cause` says which.
        case epoch
        /// How an epoch's clock is taken to run from `startNanoseconds` on, until the next such line of the epoch or its end.
        case clock
        /// Session times of an epoch's later samples go on with an offset that differs by `offsetNanoseconds`.
        case discontinuity
        /// Clock exchanges: those that are in no fragment, or how many were not believed.
        case exchanges
        /// A segment was removed, and these records with it; `cause` says why.
        case removed
        /// A collector went on with the session after a crash; `text` says what it found.
        case resumed
        /// A file could not be written any further and ended there; `text` says which and why. What followed came again.
        case failed
        /// A file is not what was written, and was left as it is; `text` says which and where.
        case damaged
    }

    package var kind: Kind
    /// When it was written, UTC.
    package var at: String
    /// The records this line stands for, when it takes their numbers.
    package var firstSequence: UInt64?
    package var lastSequence: UInt64?
    /// In the place of those two, of a line that stands for several ranges of records: first and last of each.
    package var ranges: [[UInt64]]?
    /// Whose numbers those are, hexadecimal.
    package var spool: String?
    /// With `spool`: records up to this one are not expected here. They were durable before the source began.
    package var after: UInt64?
    /// The track concerned; none: all.
    package var track: String?
    /// Why: `driver-drop`, `overrun`, `encoder-overload`, `spool-full`, …
    package var cause: String?
    /// Session time of the loss's start, or from when on something holds, nanoseconds.
    package var startNanoseconds: Int64?
    package var durationNanoseconds: UInt64?
    /// How many samples are missing; none: nobody knows.
    package var samples: UInt64?
    /// Whose clock it is about, hexadecimal.
    package var epoch: String?
    /// A moment of that clock: where `offsetNanoseconds` holds.
    package var agentNanoseconds: Int64?
    /// Collector − agent; of a discontinuity, how much that changed.
    package var offsetNanoseconds: Int64?
    /// How much the offset grows, parts per billion of the agent's time.
    package var skewPartsPerBillion: Int64?
    /// How far off the offset may be.
    package var boundNanoseconds: UInt64?
    /// The session's zero on the collector's clock.
    package var collectorZeroNanoseconds: Int64?
    /// t1, t2, t3 and t4 of each exchange.
    package var exchanges: [[Int64]]?
    /// Exchanges of the epoch so far that cannot have happened as they say.
    package var rejectedExchanges: UInt64?
    /// Exchanges of the epoch so far that contradicted all others.
    package var outlyingExchanges: UInt64?
    /// The file that was removed.
    package var segment: String?
    /// For people.
    package var text: String?

    package init(kind: Kind, at: UTCTime) {
        self.kind = kind
        self.at = at.description
    }

    /// The records that the line stands for, as far as they can be.
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

/// The bytes of `ledger.jsonl`: JSON lines that each end in a checksum of themselves, so that a torn or damaged line is
/// told from a whole one without looking at any other.
///
/// A line is `{…,"check":"<16 hex digits>"}`: the first 8 bytes of the SHA-256 of everything before `,"check"`.
package enum Ledger {
    /// A ledger larger than this was not written by us.
    private static let maximumBytes = 256 << 20

    /// A line, its line feed included.
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

    /// What a ledger holds.
    package struct Contents: Sendable {
        package var entries: [LedgerEntry] = []
        /// Where each of them begins, bytes.
        package var offsets: [UInt64] = []
        /// Numbers (from 1) of lines that are not what was written.
        package var damagedLines: [Int] = []
        /// Whether the last line was cut short: a crash while it was written.
        package var hasTornTail = false
    }

    /// Reads a ledger; a source without one has an empty ledger.
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
            // A newer writer's kind of line: whole, but not for us.
            return nil
        }
    }

    private static func checksum(_ body: [UInt8]) -> String {
        hexadecimal(Digest(of: body).bytes.prefix(8))
    }
}
