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
    private let limits: @Sendable () -> RemovalLimits
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
        /// The limits of local copies now in force, besides the archive's free space.
        var limits: @Sendable () -> RemovalLimits
        /// Removes local copies of segments that the store is proven to have.
        var evict: @Sendable ([ArchivedSegment]) -> Void
        /// Removes segments from the store, then here.
        var forget: @Sendable ([ExpiredSegment]) -> Void
    }

    /// - Parameters:
    ///   - limits: the limits now in force; called on the retention thread.
    ///   - meter: receives the disk's free space, which no other thread measures while nothing is recorded.
    ///   - store: nil without an object store.
    ///   - remove: removes items in order; called on the retention thread.
    init(
        layout: ArchiveLayout, limits: @escaping @Sendable () -> RemovalLimits, logger: Logger,
        meter: DiskStatistics, store: Store? = nil, remove: @escaping @Sendable ([Removal]) -> Void
    ) {
        self.meter = meter
        self.store = store
        self.layout = layout
        self.limits = limits
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
        let (limits, localLimits) = limits().divided(withStore: store?.limits())
        do throws(ArchiveError) {
            try SessionRemoval.complete(in: layout)
        } catch {
            logger.error("a removal cannot be completed: \(error)")
        }
        do throws(ArchiveError) {
            let survey = try survey()
            let space = try FileSystem.freeBytes(layout.sessions)
            meter.note(space)
            let now = Instant.now().utc
            let usesClock = limits.usesClock || localLimits.usesClock
            let (trusted, dated) = dated(survey.segments, at: now, tells: usesClock)
            // Without a store, segments that only a store has are left unchanged.
            let own = store == nil ? dated.filter { $0.place != .store } : dated
            let expired = limits.expired(of: own, freeBytes: space.free, now: trusted)
            var removals = survey.staged.map(Removal.rest)
            // Stored copies of a segment are removed first.
            removals += expired.filter { store == nil || $0.segment.place == .disk }
                .map(Removal.segment)
            if !limits.keepsEverything { removals += survey.emptySessions.map(Removal.session) }
            if !removals.isEmpty { remove(removals) }
            guard let store else { return }
            store.forget(expired.filter { $0.segment.place != .disk })
            let gone = Set(expired.map(\.segment.path))
            store.evict(
                localLimits.evicted(
                    of: dated.filter { !gone.contains($0.path) }, freeBytes: space.free,
                    now: trusted))
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

    /// Segments with corrected dates, and the wall clock; nil while it is not trusted.
    /// - Parameter tells: whether a change of the trust is logged.
    private func dated(
        _ segments: [ArchivedSegment], at now: UTCTime, tells: Bool
    ) -> (now: UTCTime?, [ArchivedSegment]) {
        let reading = RetentionClock.Reading(
            wall: now, bootNanoseconds: SystemClock.boot.nowNanoseconds)
        let (verdict, dated) = clock.withLock { clock in
            let verdict = clock.look(at: reading, ended: segments.lazy.map(\.ended))
            return (verdict, clock.dated(segments, now: verdict.isBelieved ? now : nil))
        }
        if let line = verdict.line, tells {
            if verdict.isBelieved { logger.notice("\(line)") } else { logger.warning("\(line)") }
        }
        return (verdict.isBelieved ? now : nil, dated)
    }
}
