import FoundationEssentials
import Hashing
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
        /// The capture times that a network camera states for a track's samples from `startNanoseconds` on, compared with
        /// the recorded ones: `offsetNanoseconds` is the median of stated less recorded times.
        case stated
        /// Records that another collector acknowledged and that their agent has forgotten: they are in that collector's archive.
        /// Neither recorded here nor missing; `collector` names it.
        case held
        /// The source was recorded in another session by another collector before: `session` and `collector` say which, and
        /// `offsetNanoseconds` is this session's zero less that one's.
        case related
        /// Samples of one epoch of the box's clock begin or end; `cause` says which.
        case epoch
        /// The model of an epoch's clock from `startNanoseconds` on, until the epoch's next such line or its end.
        case clock
        /// Session times of an epoch's later samples continue with an offset that differs by `offsetNanoseconds`.
        case discontinuity
        /// Clock exchanges: those that are in no fragment, or the number of rejected ones.
        case exchanges
        /// A segment and its records were removed; `cause` is the reason.
        case removed
        /// A collector resumed the session after a crash; `text` has its findings.
        case resumed
        /// A file could no longer be written and ended there; `text` has the file and the reason. Later records were
        /// sent again.
        case failed
        /// A file's content is damaged, and it was left unchanged; `text` has the file and the position.
        case damaged
    }

    package var kind: Kind
    /// Time of writing, UTC.
    package var at: String
    /// The records that this line replaces, when it takes their numbers.
    package var firstSequence: UInt64?
    package var lastSequence: UInt64?
    /// First and last of each range, if the line replaces several ranges of records; instead of the two numbers above.
    package var ranges: [[UInt64]]?
    /// The spool of those numbers, hexadecimal.
    package var spool: String?
    /// With `spool`: records up to this one are not expected here. They were durable before the source began.
    package var after: UInt64?
    /// In an `opened` line: the term under which the spool's records after `after` were sent; nil if its agent has no terms.
    package var term: UInt64?
    /// The name of another collector.
    package var collector: String?
    /// The name of another session.
    package var session: String?
    /// The track concerned; nil: all.
    package var track: String?
    /// Why: `driver-drop`, `overrun`, `encoder-overload`, `spool-full`, …
    package var cause: String?
    /// Session time at which the loss starts, or from which the line applies, nanoseconds.
    package var startNanoseconds: Int64?
    package var durationNanoseconds: UInt64?
    /// Number of missing samples; nil: unknown.
    package var samples: UInt64?
    /// The clock's epoch, hexadecimal.
    package var epoch: String?
    /// In a session's ``ArchiveLayout/clocksName``: the other collector's clock, hexadecimal; `epoch` is then this
    /// collector's clock, which asked.
    package var peerEpoch: String?
    /// The moment of the clock of `epoch` at which `offsetNanoseconds` applies.
    package var agentNanoseconds: Int64?
    /// Collector − agent; of a discontinuity, the change.
    package var offsetNanoseconds: Int64?
    /// The growth of the offset, parts per billion of the agent's time.
    package var skewPartsPerBillion: Int64?
    /// In a `stated` line: the minimum and maximum of stated time minus recorded time.
    package var leastNanoseconds: Int64?
    package var greatestNanoseconds: Int64?
    /// In a `stated` line: the maximum of stated time minus packet arrival. If positive, the camera's clock is ahead by at
    /// least as much.
    package var aheadNanoseconds: Int64?
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
    /// Human-readable text.
    package var text: String?

    /// The `cause` of a `resumed` line by which a collector without any files continued from the object store. With
    /// `spool`, `after` is the last record in the store. Such lines of one moment belong together. Records that earlier
    /// lines report as durable (`after`) were on the disk of another collector, which is lost.
    package static let takenOver = "taken-over"

    /// The `cause` of a gap of records that another collector held, and that were declared lost: they are in none of the
    /// archives that are left. `collector` names it.
    package static let collectorLost = "collector-lost"

    /// Whether it is about records of a collector that were declared lost.
    package var isDeclaredLost: Bool {
        kind == .gap && cause == Self.collectorLost && collector != nil
    }

    package init(kind: Kind, at: UTCTime) { self.init(kind: kind, text: at.description) }

    /// - Parameter text: the time of writing.
    init(kind: Kind, text: String) {
        self.kind = kind
        at = text
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
    /// Whether it attributes records to other sessions, or to other archives.
    package var isAboutOtherSessions: Bool {
        kind == .earlier || kind == .later || kind == .held
    }

    /// The records of a spool that the line accounts for: they are in no file, or in those of an earlier session
    /// (``Kind/earlier``) or of another archive (``Kind/held``).
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
    /// Maximum size of a ledger: a collector ends at 192 MiB, and joins lines (`LedgerFold`).
    package static let maximumBytes = 256 << 20
    /// Maximum length of a line: 512 ranges of numbers or 256 clock exchanges need 24 kB.
    static let maximumLineBytes = 256 << 10
    /// Maximum number of lines: a collector counts each as at least 300 of its 192 MiB.
    static let maximumLines = 1_000_000

    /// A line, including its line feed.
    package static func line(_ entry: LedgerEntry) -> [UInt8] {
        // Without the closing brace, which follows the checksum.
        let body = Array(JSONDocument.bytes(of: entry, isIndented: false).dropLast(2))
        return body + tailStart + Array(checksum(Digest(of: body)).utf8) + tailEnd
            + [UInt8(ascii: "\n")]
    }

    /// The content of a ledger.
    package struct Contents: Sendable {
        package var entries: [LedgerEntry] = []
        /// The byte offset of each of them.
        package var offsets: [UInt64] = []
        /// Numbers (from 1) of damaged lines: the first ``maximumDamagedLines``.
        package private(set) var damagedLines: [Int] = []
        /// Number of further damaged lines.
        package private(set) var otherDamagedLines = 0
        /// Whether the last line is incomplete: the program crashed while writing it.
        package var hasTornTail = false
        /// Whether there is no ledger.
        package private(set) var isMissing = false
        /// Whether it has more lines, or more damaged ones, than a ledger can have: the rest was not read.
        package var isCutShort = false

        package init() {}

        /// Maximum number of damaged lines that are reported one by one.
        private static let maximumDamagedLines = 100
        /// Limit of foreign lines; a file with more is not a ledger.
        private static let maximumOtherLines = 10_000

        /// Whether it can be a ledger: its foreign lines are below the limit.
        var isLedger: Bool { otherDamagedLines < Self.maximumOtherLines }

        mutating func addDamagedLine(_ number: Int) {
            if damagedLines.count < Self.maximumDamagedLines {
                damagedLines.append(number)
            } else {
                otherDamagedLines += 1
            }
        }

        /// Descriptions of the first damaged lines.
        package var damage: [String] {
            let texts = damagedLines.map { "line \($0) is damaged" }
            return otherDamagedLines > 0
                ? texts + ["\(otherDamagedLines) more lines are damaged"] : texts
        }

        /// Adds the lines in the file of declared losses (``ArchiveLayout/declaredLossesName``).
        package mutating func add(_ declared: Contents) {
            entries += declared.entries.filter(\.isDeclaredLost)
        }

        /// The contents of a missing ledger.
        package static let empty: Contents = {
            var contents = Contents()
            contents.isMissing = true
            return contents
        }()
    }

    /// Reads a ledger; the ledger of a source without one is empty.
    package static func read(_ path: String) throws(ArchiveError) -> Contents {
        guard FileSystem.exists(path) else { return .empty }
        var reader = LedgerReader()
        try FileSystem.forEachBlock(of: path, limit: maximumBytes) { reader.add($0) }
        return try whole(reader.finish(), path)
    }

    /// Reads a ledger in blocks.
    /// - Parameters:
    ///   - path: the file in errors.
    ///   - next: the next bytes; empty at the end.
    package static func read(
        _ path: String, next: () throws(ArchiveError) -> [UInt8]
    ) throws(ArchiveError) -> Contents {
        var reader = LedgerReader()
        var block = try next()
        while !block.isEmpty, block.withUnsafeBytes({ reader.add($0) }) { block = try next() }
        return try whole(reader.finish(), path)
    }

    private static func whole(
        _ contents: Contents, _ path: String
    ) throws(ArchiveError) -> Contents {
        guard !contents.isCutShort else {
            throw .malformed(
                path: path,
                reason: contents.isLedger
                    ? "more than \(maximumLines) lines: it was not written by a collector"
                    : "not a ledger: more than \(contents.otherDamagedLines) of its lines are damaged"
            )
        }
        return contents
    }

    /// Reads a whole ledger's bytes.
    package static func read(
        bytes: [UInt8], path: String
    ) throws(ArchiveError) -> Contents {
        try whole(parse(bytes), path)
    }

    /// Reads a ledger's bytes.
    package static func parse(_ bytes: [UInt8]) -> Contents {
        var reader = LedgerReader()
        _ = bytes.withUnsafeBytes { reader.add($0) }
        return reader.finish()
    }

    /// A line without its line feed; nil: it is damaged.
    static func entry(_ line: UnsafeRawBufferPointer) -> LedgerEntry? {
        let body = UnsafeRawBufferPointer(rebasing: line.dropLast(tailBytes))
        guard !body.isEmpty, isChecksum(line.suffix(tailBytes), of: body) else { return nil }
        if let entry = LedgerLineParser.entry(body) { return entry.limited }
        do {
            let entry = try JSONDecoder().decode(
                LedgerEntry.self, from: Data(Array(body) + [UInt8(ascii: "}")]))
            return entry.limited
        } catch {
            // A kind of line from a newer version: complete, but not used.
            return nil
        }
    }

    private static let tailStart = Array(",\"check\":\"".utf8)
    private static let tailEnd = Array("\"}".utf8)
    private static let checksumBytes = 8
    /// `,"check":"0123456789abcdef"}`
    private static let tailBytes = tailStart.count + 2 * checksumBytes + tailEnd.count

    private static func isChecksum(
        _ tail: Slice<UnsafeRawBufferPointer>, of body: UnsafeRawBufferPointer
    ) -> Bool {
        // Before the body is hashed, to reject other files quickly.
        guard tail.starts(with: tailStart), tail.suffix(tailEnd.count).elementsEqual(tailEnd) else {
            return false
        }
        return tail.dropFirst(tailStart.count).dropLast(tailEnd.count)
            .elementsEqual(checksum(Digest(of: body)).utf8)
    }

    private static func checksum(_ digest: Digest) -> String {
        ByteText.hexadecimal(digest.bytes.prefix(checksumBytes))
    }
}
