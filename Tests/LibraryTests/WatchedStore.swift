import Archive
import Recordings
import Synchronization

/// A directory that counts what is read of it, and fails on request.
final class WatchedStore: SegmentStore {
    private struct State {
        var files: [String] = []
        var ledgers: [SourceKey] = []
        /// By path.
        var errors: [String: Int32] = [:]
    }

    private let directory: DirectoryStore
    private let state = Mutex(State())

    init(_ layout: ArchiveLayout) { directory = DirectoryStore(layout) }

    var name: String { directory.name }

    /// Listing or opening a path fails; nil: it succeeds again.
    func setError(_ errno: Int32?, at path: StoredPath) {
        state.withLock { $0.errors[path.text] = errno }
    }

    /// The media files that were opened and the ledgers that were read since the last call.
    func takeReads() -> (files: [String], ledgers: [SourceKey]) {
        state.withLock { state in
            defer {
                state.files = []
                state.ledgers = []
            }
            return (state.files, state.ledgers)
        }
    }

    private func check(_ path: StoredPath) throws(ArchiveError) {
        guard let code = state.withLock({ $0.errors[path.text] }) else { return }
        throw .system(operation: "read", path: self.path(path), errno: code)
    }

    func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
        try check(folder)
        return try directory.list(folder)
    }

    func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? {
        try directory.state(of: folder)
    }

    func ledger(of source: SourceKey) throws(ArchiveError) -> Ledger.Contents {
        try check(.ledger(source))
        state.withLock { $0.ledgers.append(source) }
        return try directory.ledger(of: source)
    }

    func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
        try check(file)
        if SegmentName(file.name) != nil { state.withLock { $0.files.append(file.name) } }
        return try directory.open(file)
    }

    func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        try directory.put(bytes, at: file)
    }

    func delete(_ file: StoredPath) throws(ArchiveError) { try directory.delete(file) }

    func path(_ file: StoredPath) -> String { directory.path(file) }
}
