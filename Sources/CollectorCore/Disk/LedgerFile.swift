import Archive

/// An open `ledger.jsonl`, append-only. Owned by the disk thread.
final class LedgerFile {
    private let file: RecordingFile
    /// Records of the lines appended since everything was last durable.
    private var unsynchronised: [PersistedRecords] = []
    private var unsynchronisedLines: [UInt8] = []
    /// Those lines are not in the file: an `fdatasync` lost them, and they could not be rewritten yet.
    private var isShort = false

    /// Opens a ledger, or creates one.
    init(path: String, on disk: any Disk) throws(ArchiveError) {
        file = try RecordingFile(growing: path, on: disk)
    }

    /// Appends whole lines, or nothing.
    /// - Returns: their byte offset in the file.
    @discardableResult
    func append(_ lines: [UInt8], records: PersistedRecords?) throws(ArchiveError) -> UInt64 {
        try writeAnew()
        let offset = file.sizeBytes
        try file.append(lines)
        unsynchronisedLines += lines
        if let records { unsynchronised.append(records) }
        return offset
    }

    /// Writes the lines that another, deleted file of the same ledger had not made durable.
    func takeOver(_ other: LedgerFile) throws(ArchiveError) {
        try append(other.unsynchronisedLines, records: nil)
        unsynchronised += other.unsynchronised
    }

    /// Makes all lines durable; returns the records that become durable with them.
    func synchronize() throws(ArchiveError) -> [PersistedRecords] {
        try writeAnew()
        try file.synchronize()
        unsynchronisedLines.removeAll(keepingCapacity: true)
        defer { unsynchronised.removeAll() }
        return unsynchronised
    }

    /// Rewrites lines that a failed `fdatasync` may have lost: a repeated one would succeed without writing them.
    private func writeAnew() throws(ArchiveError) {
        if file.hasLostPages {
            try file.cutToDurable()
            isShort = true
        }
        guard isShort else { return }
        try file.append(unsynchronisedLines)
        isShort = false
    }
}
