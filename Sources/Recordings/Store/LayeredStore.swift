package import Archive
import Media
import Synchronization

/// An archive from which media has moved into a bucket: what is in its directory is read there, everything else in the bucket.
///
/// Changes go to the directory alone: the collector brings them into the bucket. Nothing but media moves: the bucket is not asked for what a
/// session whose description is in the directory has beside its media. While the bucket cannot be asked, listing is an error; or the
/// directory is all there is, with a complaint, for who shows what there is to many (``StoreWaiting``).
package final class LayeredStore: SegmentStore {
    private let directory: DirectoryStore
    private let bucket: any SegmentStore
    private let waiting: StoreWaiting
    private let interval: ComplaintInterval
    private let complain: @Sendable (String) -> Void
    private let leftOut = Atomic(false)

    /// - Parameters:
    ///   - interval: how often that is complained of.
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

    /// The same where a bucket that is away is an error.
    package func strict() -> LayeredStore {
        LayeredStore(directory, over: bucket, interval: interval, complain: complain)
    }

    package var name: String { directory.name }

    /// Whether something was left out because the bucket was away.
    package var isIncomplete: Bool { leftOut.load(ordering: .relaxed) }

    /// Whether all of a session but its media is in the directory.
    private func isDescribed(_ file: StoredPath) -> Bool {
        file.session.map {
            FileSystem.exists(directory.path($0 / ArchiveLayout.manifestName))
        } ?? false
    }

    /// Whether the bucket may have more of a folder than the directory has: sessions, or media.
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
                ArchiveLayout.isSegmentName(file.name) || !isDescribed(file)
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

    /// What the bucket answers; nil, and a complaint, where it cannot be asked and that is no error.
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

/// What becomes of a question to a bucket that is away.
package enum StoreWaiting: Hashable, Sendable {
    /// It is an error, once the bucket was waited for.
    case strict
    /// The directory is all there is, once the bucket was waited for.
    case lenient
    /// The directory and what is remembered of the bucket are all there is; the bucket is waited for in the background.
    case impatient
}

/// When the next complaint about the same thing is due. Any thread may ask.
package final class ComplaintInterval: Sendable {
    private let nanoseconds: Int64
    private let monotonicNow: @Sendable () -> Int64
    private let last = Mutex<Int64?>(nil)

    /// - Parameter monotonicNow: nanoseconds of a clock that is not set.
    package init(
        nanoseconds: Int64 = 60_000_000_000,
        monotonicNow: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }
    ) {
        self.nanoseconds = nanoseconds
        self.monotonicNow = monotonicNow
    }

    /// Whether it is; the next one is due an interval later.
    package func isDue() -> Bool {
        let now = monotonicNow()
        return last.withLock { last in
            if let last, now - last < nanoseconds { return false }
            last = now
            return true
        }
    }
}
