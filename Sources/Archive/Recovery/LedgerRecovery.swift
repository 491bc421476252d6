import Glibc

/// Recovers a ledger: everything after its last complete line is cut off, and the rest is made durable.
///
/// Damaged lines before that stay: `verify` reports them, and no line depends on another. Only lines with zeros in them are
/// removed: they are pages lost in a power cut, and were never reported as durable.
enum LedgerRecovery {
    struct Outcome: Sendable {
        var contents = Ledger.Contents()
        var cutBytes = 0
    }

    /// - Parameter isSynchronized: the file has been synchronised since it was last written.
    static func recover(
        _ path: String, on disk: any Disk, isSynchronized: Bool
    ) throws(ArchiveError) -> Outcome {
        guard FileSystem.exists(path) else { return Outcome() }
        let file = try RecordingFile(reopening: path, on: disk)
        if !isSynchronized { try file.synchronize() }
        file.readAnew()
        let found = try survey(path)
        let isTorn = found.wholeBytes < found.sizeBytes
        if isTorn { try file.cut(to: UInt64(found.wholeBytes)) }
        // Records that are acknowledged as durable have to be durable.
        if isTorn || !isSynchronized { try file.synchronize() }
        var keptBytes = found.wholeBytes
        if found.hasZeros {
            let kept = withoutLostPages(try FileSystem.read(path, limit: Ledger.maximumBytes))
            if kept.count < keptBytes { try FileSystem.replace(path, with: kept, on: disk) }
            keptBytes = kept.count
        }
        return Outcome(contents: try Ledger.read(path), cutBytes: found.sizeBytes - keptBytes)
    }

    private struct Survey {
        var sizeBytes = 0
        /// Up to the end of the last complete line.
        var wholeBytes = 0
        var hasZeros = false
    }

    private static func survey(_ path: String) throws(ArchiveError) -> Survey {
        var found = Survey()
        try FileSystem.forEachBlock(of: path, limit: Ledger.maximumBytes) { block in
            guard let base = block.baseAddress else { return true }
            if let place = lastFeed(block) { found.wholeBytes = found.sizeBytes + place + 1 }
            found.hasZeros = found.hasZeros || memchr(base, 0, block.count) != nil
            found.sizeBytes += block.count
            return true
        }
        return found
    }

    private static let feed = UInt8(ascii: "\n")
    /// Bytes that are searched at a time, from the end.
    private static let stepBytes = 512

    private static func lastFeed(_ block: UnsafeRawBufferPointer) -> Int? {
        var end = block.count
        while end > 0 {
            let start = max(0, end - stepBytes)
            let step = block[start..<end]
            let isThere = UnsafeRawBufferPointer(rebasing: step).baseAddress.map {
                memchr($0, Int32(feed), step.count) != nil
            }
            if isThere == true { return step.lastIndex(of: feed) }
            end = start
        }
        return nil
    }

    /// - Parameter bytes: complete lines.
    private static func withoutLostPages(_ bytes: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty,
                let end = memchr(base, Int32(feed), rest.count)
            {
                let count = base.distance(to: UnsafeRawPointer(end)) + 1
                if memchr(base, 0, count) == nil { kept.append(contentsOf: rest.prefix(count)) }
                rest = rest.dropFirst(count)
            }
        }
        return kept
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
            // Otherwise later lines would follow lines that may be lost.
            if file.hasLostPages { try file.cutToDurable() }
            throw error
        }
    }
}
