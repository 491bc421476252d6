import Archive
import Media
import Terminal
import Wire

/// Gaps of a source, as lines of text.
enum GapText {
    /// A gap that is shorter rounds to 0.000 s: such gaps share a line.
    private static let shortestNanoseconds: UInt64 = 500_000
    /// Short gaps with more different texts than this share a line without text.
    private static let mostTexts = 8

    /// - Parameters:
    ///   - zero: the session's, for times of day.
    ///   - isComplete: whether every archive was read.
    ///   - isDamaged: whether media is lost that the ledger does not record.
    ///   - isAlone: whether one archive was read: another one may have records that were declared lost.
    static func lines(
        _ gaps: [LedgerEntry], removed: [RemovedFiles], zero: UTCTime, isComplete: Bool,
        isDamaged: Bool, isAlone: Bool
    ) -> [String] {
        let long = gaps.filter { !isShort($0) }
        let short = gaps.filter(isShort)
        var lines = long.map { gap in
            "missing: \(isAlone && gap.isDeclaredLost ? "at most " : "")\(text(gap, zero))"
        }
        // Findings about a camera's clock have texts of their own.
        var groups: [String: [LedgerEntry]] = [:]
        for gap in short {
            let text = gap.text ?? ""
            groups[groups.count < mostTexts || groups[text] != nil ? text : "", default: []]
                .append(gap)
        }
        for (text, gaps) in groups.sorted(by: { $0.key < $1.key }) {
            let samples = gaps.reduce(UInt64(0)) { $0.clampedAdding($1.samples ?? 0) }
            let causes = Set(gaps.map(cause)).sorted().joined(separator: ", ")
            let count = gaps.count == 1 ? "1 gap" : "\(gaps.count) gaps"
            let lost = samples == 0 ? "no samples lost" : "\(samples) samples"
            let line = "missing: \(count) of less than a millisecond, \(lost) (\(causes))"
            lines.append(text.isEmpty ? line : "\(line) \(oneLine(text))")
        }
        lines += removed.map(Self.line)
        guard lines.isEmpty else { return lines }
        if isDamaged { return ["nothing missing according to the ledger"] }
        return [isComplete ? "nothing missing" : "nothing missing in the archives that were read"]
    }

    /// `9 files removed (more bytes than are kept): 1025 samples, 0:00.000 to 0:18.000`.
    static func line(_ removed: RemovedFiles) -> String {
        let files = removed.files == 1 ? "1 file" : "\(removed.files) files"
        let cause = removed.cause.isEmpty ? "unknown cause" : oneLine(removed.cause)
        var parts = ["\(files) removed (\(cause)): \(removed.samples) samples"]
        if let start = removed.startNanoseconds {
            let end = removed.endNanoseconds.map { "to \(TimelinePoint.text($0))" } ?? "on"
            parts.append("\(TimelinePoint.text(start)) \(end)")
        }
        return parts.joined(separator: ", ")
    }

    private static func isShort(_ gap: LedgerEntry) -> Bool {
        !gap.isOfUnknownSize && (gap.durationNanoseconds.map { $0 < shortestNanoseconds } ?? false)
    }

    private static func cause(_ gap: LedgerEntry) -> String {
        gap.cause.map(oneLine) ?? "unknown cause"
    }

    private static func text(_ gap: LedgerEntry, _ zero: UTCTime) -> String {
        var parts: [String] = []
        if let samples = gap.samples { parts.append("\(samples) samples") }
        if let track = gap.track { parts.append("of \(oneLine(track))") }
        if let start = gap.startNanoseconds {
            parts.append(
                "from \(InstantText.seconds(start)), \(InstantText.timeOfDay(start, zero: zero)) UTC,"
            )
        }
        if let duration = gap.durationNanoseconds {
            parts.append("for \(InstantText.seconds(Int64(clamping: duration)))")
        }
        parts.append("(\(cause(gap)))")
        if let text = gap.text, !text.isEmpty { parts.append(oneLine(text)) }
        return parts.joined(separator: " ")
    }
}

extension LedgerEntry {
    /// Whether the loss has no known size: samples in memory when a box crashed. A pause has no number of samples either, but a
    /// duration.
    var isOfUnknownSize: Bool {
        samples == nil && (durationNanoseconds == nil || cause == GapCause.restart.description)
    }
}
