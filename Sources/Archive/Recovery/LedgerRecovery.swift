/// Puts a ledger in order: what follows its last whole line is cut, and the rest is durable.
///
/// Damaged lines in front of that stay: `verify` names them, and no line depends on another. Only lines with zeros in them go:
/// they are pages that a power cut took, and what was on those was never called durable.
enum LedgerRecovery {
    /// A ledger larger than this was not written by us.
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
        // What is told to agents as durable has to be so.
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
        try file.append(entries.flatMap(Ledger.line))
        try file.synchronize()
    }
}
