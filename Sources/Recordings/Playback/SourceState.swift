package import Archive
import Media
import Synchronization

/// Identifies a file's media and times.
struct FileState: Hashable, Sendable {
    var revision: UInt32
    /// End in session time, and size, of a growing file; nil for a finished one.
    var growing: Growing?

    struct Growing: Hashable, Sendable {
        var endNanoseconds: Int64
        var sizeBytes: Int64
    }

    /// Opens the file.
    init(_ file: RecordedSource.File) throws(ArchiveError) {
        let opened = try file.opened()
        revision = opened.revision
        guard !opened.isFinished else { return }
        growing = Growing(
            endNanoseconds: try RecordedSpan(of: opened)?.endNanoseconds ?? .min,
            sizeBytes: try opened.source().sizeBytes)
    }

    /// - Parameter until: end of the relevant range, session time in nanoseconds; nil: no limit.
    func text(until: Int64?) -> String {
        guard let growing else { return "\(revision)" }
        // Growth after the range does not matter, with a margin for reordered pictures.
        let isBehind =
            until.map { growing.endNanoseconds.clampedSubtracting($0) > 2_000_000_000 } ?? false
        return "\(revision) \(isBehind ? "behind" : "\(growing.sizeBytes)")"
    }
}

/// Cache of file states, for programs that identify ranges repeatedly. Any thread may use it.
///
/// A file is opened again if its size or modification time differs, or the latter is within the clocks' uncertainty.
package final class FileStateMemory: Sendable {
    /// Entries: two years of one source in files of ten minutes. The cache is cleared when it is full.
    private static let capacity = 100_000
    /// Difference of the clocks of file servers and object stores.
    private static let settlingNanoseconds: Int64 = 60_000_000_000

    private struct Known {
        var entry: StoredEntry
        var state: FileState
    }

    private let files = Mutex<[String: Known]>([:])

    package init() {}

    func state(of file: RecordedSource.File) throws(ArchiveError) -> FileState {
        // The listing is older than the contents, so a later change is detected.
        guard let entry = file.entry, let modified = entry.modifiedNanoseconds,
            modified < SystemClock.utc.nowNanoseconds - Self.settlingNanoseconds
        else { return try FileState(file) }
        if let known = files.withLock({ $0[file.path] }), known.entry == entry {
            return known.state
        }
        let state = try FileState(file)
        files.withLock { files in
            if files.count >= Self.capacity { files.removeAll() }
            files[file.path] = Known(entry: entry, state: state)
        }
        return state
    }
}

extension RecordedSource {
    /// Identifies what is recorded in a range: equal states mean equal samples and times.
    ///
    /// Opens files in the range that are not cached.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: nil: the end, which changes while the source is being recorded.
    ///   - memory: nil: opens every file.
    package func state(
        from: Int64?, until: Int64?, remembering memory: FileStateMemory?
    ) throws(ArchiveError) -> Digest {
        var files = files[...]
        if let from, let holding = files.lastIndex(where: { $0.originNanoseconds <= from }) {
            files = files[max(holding - 1, files.startIndex)...]
        }
        if let until { files = files.prefix { $0.originNanoseconds < until } }
        var text = ""
        for file in files {
            let state =
                if let memory { try memory.state(of: file) } else { try FileState(file) }
            text += "\(file.path) \(state.text(until: until))\n"
        }
        return Digest(of: Array(text.utf8))
    }
}
