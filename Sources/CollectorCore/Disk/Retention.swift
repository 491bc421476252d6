import Archive
import Dispatch
import Glibc
import Logging
import Media
import Synchronization
import Threads

/// Surveys the archive periodically for items that exceed its limits, and has the disk thread remove them.
///
/// It has its own thread: surveying many thousand files can take seconds on a disk that was in standby.
final class Retention: Sendable {
    /// Interval between surveys. 64 sources of 4 Mbit/s record a gigabyte in this time.
    private static var interval: DispatchTimeInterval { .seconds(30) }

    private let layout: ArchiveLayout
    private let policy: @Sendable () -> RetentionPolicy
    private let logger: Logger
    private let meter: DiskStatistics
    private let remove: @Sendable ([Removal]) -> Void
    private let store: Store?
    private let moved = Mutex(ArchiveSurvey.MovedSegments())
    private let wake = Semaphore(value: 0)
    private let thread = JoinableThread()
    private let isStopping = Atomic(false)
    private let clock = Mutex(RetentionClock())
    private let patience = SessionPatience()
    /// Log texts of the sessions that did not respond in the last survey.
    private let silent = Mutex<[String]>([])

    /// Additional settings with an object store.
    struct Store: Sendable {
        /// The limits for the local disk now in force.
        var policy: @Sendable () -> LocalCachePolicy
        /// Removes local copies of segments that the store is proven to have.
        var evict: @Sendable ([ArchivedSegment]) -> Void
        /// Removes segments from the store, then here.
        var forget: @Sendable ([ExpiredSegment]) -> Void
    }

    /// - Parameters:
    ///   - policy: the limits now in force; called on the retention thread.
    ///   - meter: receives the disk's free space, which no other thread measures while nothing is recorded.
    ///   - store: nil without an object store.
    ///   - remove: removes items in order; called on the retention thread.
    init(
        layout: ArchiveLayout, policy: @escaping @Sendable () -> RetentionPolicy, logger: Logger,
        meter: DiskStatistics, store: Store? = nil, remove: @escaping @Sendable ([Removal]) -> Void
    ) {
        self.meter = meter
        self.store = store
        self.layout = layout
        self.policy = policy
        self.logger = logger
        self.remove = remove
    }

    /// Starts the thread with an immediate survey: removals that an earlier collector could not complete are completed.
    func start() {
        thread.start("retention") {
            repeat {
                self.look()
                _ = self.wake.wait(timeout: .now() + Self.interval)
            } while !self.isStopping.load(ordering: .acquiring)
        }
    }

    /// Starts a survey now: the disk is full.
    func hurry() { wake.signal() }

    /// Ends the thread. Requested removals may still be performed.
    /// - Parameter deadline: of the wait for the thread.
    func stop(until deadline: DispatchTime = .distantFuture) {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        thread.join(until: deadline)
    }

    private func look() {
        var policy = policy()
        do throws(ArchiveError) {
            try SessionRemoval.complete(in: layout, hasStore: store != nil)
        } catch {
            logger.error("a removal cannot be completed: \(error)")
        }
        do throws(ArchiveError) {
            let survey = try survey()
            let space = try FileSystem.freeBytes(layout.sessions)
            meter.note(space)
            let now = Instant.now().utc
            let minimumFree = policy.minimumFreeBytes
            if store != nil { policy = policy.withStore }
            let (isBelieved, dated) = dated(survey.segments, policy, now: now)
            let expired = expired(
                of: dated, policy, free: space.free, now: now, isBelieved: isBelieved)
            var removals = survey.staged.map(Removal.rest)
            // Stored copies of a segment are removed first.
            removals += expired.filter { store == nil || $0.segment.place == .disk }
                .map(Removal.segment)
            if !policy.keepsEverything { removals += survey.emptySessions.map(Removal.session) }
            if !removals.isEmpty { remove(removals) }
            guard let store else { return }
            store.forget(expired.filter { $0.segment.place != .disk })
            let gone = Set(expired.map(\.segment.path))
            store.evict(
                store.policy().evicted(
                    of: dated.filter { !gone.contains($0.path) }, minimumFreeBytes: minimumFree,
                    freeBytes: space.free, now: isBelieved ? now : nil))
        } catch {
            logger.error("cannot survey the archive for retention: \(error)")
        }
    }

    private func survey() throws(ArchiveError) -> ArchiveSurvey {
        // Only this thread changes it; it is not held while files are read.
        var known = moved.withLock { $0 }
        let (sessions, problems) = try patience.answering(layout.sessionNames(), in: layout)
        let news = silent.withLock { silent in
            defer { silent = problems }
            return problems.filter { !silent.contains($0) }
        }
        for problem in news { logger.warning("\(problem)") }
        let survey = try ArchiveSurvey(of: layout, sessions, moved: &known)
        moved.withLock { [known] in $0 = known }
        return survey
    }

    /// Segments with corrected dates, and whether the wall clock is trusted.
    private func dated(
        _ segments: [ArchivedSegment], _ policy: RetentionPolicy, now: UTCTime
    ) -> (isBelieved: Bool, [ArchivedSegment]) {
        let reading = RetentionClock.Reading(
            wall: now, bootNanoseconds: SystemClock.boot.nowNanoseconds)
        let (verdict, dated) = clock.withLock { clock in
            let verdict = clock.look(at: reading, ended: segments.lazy.map(\.ended))
            return (verdict, clock.dated(segments, now: verdict.isBelieved ? now : nil))
        }
        let usesClock = policy.usesClock || store?.policy().usesClock == true
        if let line = verdict.line, usesClock {
            if verdict.isBelieved { logger.notice("\(line)") } else { logger.warning("\(line)") }
        }
        return (verdict.isBelieved, dated)
    }

    /// Expired segments; by age only while the wall clock is trusted. Without a store, segments that only a store has
    /// are left unchanged.
    private func expired(
        of segments: [ArchivedSegment], _ policy: RetentionPolicy, free: UInt64, now: UTCTime,
        isBelieved: Bool
    ) -> [ExpiredSegment] {
        let own = store == nil ? segments.filter { $0.place != .store } : segments
        return policy.expired(of: own, freeBytes: free, now: isBelieved ? now : nil)
    }
}
