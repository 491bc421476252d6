import Archive

/// An open `ledger.jsonl`, which only grows. Owned by the disk thread.
final class LedgerFile {
    private let file: RecordingFile
    /// Appended since the last time that everything was durable.
    private var unsynchronised: [PersistedRecords] = []
    private var unsynchronisedLines: [UInt8] = []
    /// Those lines are not in the file: an `fdatasync` lost them, and they could not be written again yet.
    private var isShort = false

    /// Opens a ledger, or begins one.
    init(path: String, on disk: any Disk) throws(ArchiveError) {
        file = try RecordingFile(growing: path, on: disk)
    }

    /// Appends whole lines, or nothing.
    /// - Returns: where they begin in the file, bytes.
    @discardableResult
    func append(_ lines: [UInt8], records: PersistedRecords?) throws(ArchiveError) -> UInt64 {
        try writeAnew()
        let offset = file.sizeBytes
        try file.append(lines)
        unsynchronisedLines += lines
        if let records { unsynchronised.append(records) }
        return offset
    }

    /// Writes what another file of the same ledger, which is gone, did not have on disk.
    func takeOver(_ other: LedgerFile) throws(ArchiveError) {
        try append(other.unsynchronisedLines, records: nil)
        unsynchronised += other.unsynchronised
    }

    /// Makes all lines durable; returns the records that are so now.
    func synchronize() throws(ArchiveError) -> [PersistedRecords] {
        try writeAnew()
        try file.synchronize()
        unsynchronisedLines.removeAll(keepingCapacity: true)
        defer { unsynchronised.removeAll() }
        return unsynchronised
    }

    /// Writes again what a failed `fdatasync` may have lost: the next one would succeed without it.
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
