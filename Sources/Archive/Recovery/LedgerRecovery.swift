/// Recovers a ledger: everything after its last complete line is cut off, and the rest is made durable.
///
/// Damaged lines before that stay: `verify` reports them, and no line depends on another. Only lines with zeros in them are
/// removed: they are pages lost in a power cut, and were never reported as durable.
enum LedgerRecovery {
    /// A larger ledger was not written by this program.
    private static let maximumBytes = 256 << 20

    struct Outcome: Sendable {
        var contents = Ledger.Contents()
        var cutBytes = 0
    }

    static func recover(_ path: String, on disk: any Disk) throws(ArchiveError) -> Outcome {
        guard FileSystem.exists(path) else { return Outcome() }
        let file = try RecordingFile(reopening: path, on: disk)
        try file.readAnew()
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        let whole = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if whole < bytes.count { try file.cut(to: UInt64(whole)) }
        // What agents are told is durable has to be durable.
        try file.synchronize()
        let kept = withoutLostPages(bytes[..<whole])
        if kept.count < whole { try FileSystem.replace(path, with: kept, on: disk) }
        return Outcome(contents: Ledger.parse(kept), cutBytes: bytes.count - kept.count)
    }

    private static func withoutLostPages(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(0) else { return Array(bytes) }
        let feed = UInt8(ascii: "\n")
        return Array(
            bytes.split(separator: feed).filter { !$0.contains(0) }.map { $0 + [feed] }.joined())
    }

    /// Appends lines to a ledger, durably.
    static func append(
        _ entries: [LedgerEntry], to path: String, on disk: any Disk
    ) throws(ArchiveError) {
        guard !entries.isEmpty else { return }
        let file = try RecordingFile(growing: path, on: disk)
        do throws(ArchiveError) {
            try file.append(entries.flatMap(Ledger.line))
            try file.synchronize()
        } catch {
            // Otherwise lines that follow would be behind some that may be lost.
            if file.hasLostPages { try file.cutToDurable() }
            throw error
        }
    }
}
