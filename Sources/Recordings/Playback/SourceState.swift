package import Archive
import Media
import Synchronization

/// What identifies a file's media: while it stays the same, so do its samples and their times.
struct FileState: Hashable, Sendable {
    var revision: UInt32
    /// Session time of its end, and its size, while it grows; nil: it is finished.
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

    /// - Parameter until: the end of the range that is of interest, session time, nanoseconds; nil: everything.
    func text(until: Int64?) -> String {
        guard let growing else { return "\(revision)" }
        // What is behind the range may grow. Pictures that are presented earlier than they are decoded are soon there.
        let isBehind =
            until.map { growing.endNanoseconds.clampedSubtracting($0) > 2_000_000_000 } ?? false
        return "\(revision) \(isBehind ? "behind" : "\(growing.sizeBytes)")"
    }
}

/// States of files, for a program that identifies ranges again and again. Any thread may use it.
///
/// A file is opened again when its size or time of change differs, or is so recent that it may change within the clock's
/// resolution.
package final class FileStateMemory: Sendable {
    /// Files: two years of one source in files of ten minutes. With more, everything is read again.
    private static let capacity = 100_000
    /// Clocks of file servers and object stores differ from ours.
    private static let settlingNanoseconds: Int64 = 60_000_000_000

    private struct Known {
        var entry: StoredEntry
        var state: FileState
    }

    private let files = Mutex<[String: Known]>([:])

    package init() {}

    func state(of file: RecordedSource.File) throws(ArchiveError) -> FileState {
        // As listed before it is opened: what changes meanwhile is read again the next time.
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
    /// Identifies what is recorded in a range: while it stays the same, so do the samples in the range and their times.
    ///
    /// Opens the files in the range that the memory does not have.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: nil: the end, which moves while the source is being recorded.
    ///   - memory: nil: every file is opened.
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
