package import Archive
import Media
import Synchronization

/// An archive whose media is partly in a bucket: files are read from its directory, and otherwise from the bucket.
///
/// Changes are written to the directory only; the collector uploads them. Only media is evicted from the directory, so the
/// bucket is not queried for other files of sessions whose description is in the directory. ``StoreWaiting`` determines what
/// happens while the bucket is unavailable.
package final class LayeredStore: SegmentStore {
    private let directory: DirectoryStore
    private let bucket: any SegmentStore
    private let waiting: StoreWaiting
    private let interval: ComplaintInterval
    private let complain: @Sendable (String) -> Void
    private let leftOut = Atomic(false)

    /// - Parameters:
    ///   - interval: limits repeated complaints.
    package init(
        _ directory: DirectoryStore, over bucket: any SegmentStore,
        waiting: StoreWaiting = .strict, interval: ComplaintInterval = ComplaintInterval(),
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.directory = directory
        self.bucket = bucket
        self.waiting = waiting
        self.interval = interval
        self.complain = complain
    }

    /// A store for which an unavailable bucket is an error.
    package func strict() -> LayeredStore {
        LayeredStore(directory, over: bucket, interval: interval, complain: complain)
    }

    package var name: String { directory.name }

    /// A listing is incomplete because the bucket was unavailable.
    package var isIncomplete: Bool { leftOut.load(ordering: .relaxed) }

    /// The directory has everything of a file's session but media.
    private func isDescribed(_ file: StoredPath) -> Bool {
        file.session.map {
            FileSystem.exists(directory.path($0 / ArchiveLayout.manifestName))
        } ?? false
    }

    /// Whether a folder may have more entries in the bucket: sessions, or media.
    private func mayHaveMore(_ folder: StoredPath) -> Bool {
        folder.depth != 1 || !isDescribed(folder)
    }

    package func path(_ file: StoredPath) -> String {
        let path = directory.path(file)
        return FileSystem.exists(path) || file.text.isEmpty ? path : bucket.path(file)
    }

    package func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
        let own = try directory.list(folder)
        guard mayHaveMore(folder),
            let moved = try asked({ bucket throws(ArchiveError) in try bucket.list(folder) })
        else { return own }
        let names = Set(own.map(\.name))
        return (own + moved.filter { !names.contains($0.name) }).sorted { $0.name < $1.name }
    }

    package func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? {
        guard let own = try directory.state(of: folder) else { return nil }
        guard mayHaveMore(folder) else { return own }
        let moved = try asked { bucket throws(ArchiveError) in try bucket.state(of: folder) }
        return own &+ ((moved ?? 0) ?? 0)
    }

    package func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
        do throws(ArchiveError) {
            return try directory.open(file)
        } catch {
            guard error.isForAbsence,
                SegmentName(file.name) != nil || !isDescribed(file)
            else { throw error }
            return try bucket.open(file)
        }
    }

    package func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        try directory.put(bytes, at: file)
    }

    package func delete(_ file: StoredPath) throws(ArchiveError) {
        try directory.delete(file)
    }

    /// Queries the bucket; nil, with a complaint, if it is unavailable and that is not an error.
    private func asked<Answer>(
        _ question: (any SegmentStore) throws(ArchiveError) -> Answer
    ) throws(ArchiveError) -> Answer? {
        var asked = bucket
        if waiting == .impatient, let bucket = bucket as? ObjectSegmentStore {
            asked = ImpatientStore(bucket)
        }
        do throws(ArchiveError) {
            return try question(asked)
        } catch {
            guard error.isForStore, waiting != .strict else { throw error }
            leftOut.store(true, ordering: .relaxed)
            if interval.isDue() { complain("\(error); only what is in \(name) is shown") }
            return nil
        }
    }
}

/// Behaviour while the bucket is unavailable.
package enum StoreWaiting: Hashable, Sendable {
    /// Waits, then fails.
    case strict
    /// Waits, then uses the directory only.
    case lenient
    /// Uses the directory and cached listings; waits in the background.
    case impatient
}

/// Limits the rate of repeated messages. Any thread may use it.
package final class ComplaintInterval: Sendable {
    private let nanoseconds: Int64
    private let monotonicNow: @Sendable () -> Int64
    private let last = Mutex<Int64?>(nil)

    /// - Parameter monotonicNow: monotonic clock, nanoseconds.
    package init(
        nanoseconds: Int64 = 60_000_000_000,
        monotonicNow: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }
    ) {
        self.nanoseconds = nanoseconds
        self.monotonicNow = monotonicNow
    }

    /// Whether the message is due; starts the next interval then.
    package func isDue() -> Bool {
        let now = monotonicNow()
        return last.withLock { last in
            if let last, now - last < nanoseconds { return false }
            last = now
            return true
        }
    }
}
