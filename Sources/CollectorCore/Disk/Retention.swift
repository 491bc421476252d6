import Archive
import Dispatch
import Glibc
import Logging
import Media
import Synchronization
import Threads

/// Surveys the archive periodically for what exceeds its limits, and has the disk thread remove it.
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
    private let wake = DispatchSemaphore(value: 0)
    private let thread = JoinableThread()
    private let isStopping = Atomic(false)
    private let clock = Mutex(RetentionClock())

    /// - Parameters:
    ///   - policy: the limits now in force; called on the retention thread.
    ///   - meter: receives the disk's free space, which no other thread measures while nothing is recorded.
    ///   - remove: removes things in order; called on the retention thread.
    init(
        layout: ArchiveLayout, policy: @escaping @Sendable () -> RetentionPolicy, logger: Logger,
        meter: DiskStatistics, remove: @escaping @Sendable ([Removal]) -> Void
    ) {
        self.meter = meter
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

    /// Ends the thread. What it has requested may still be removed afterwards.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        thread.join()
    }

    private func look() {
        let policy = policy()
        do throws(ArchiveError) {
            try SessionRemoval.complete(in: layout)
            let survey = try ArchiveSurvey(of: layout)
            let space = try FileSystem.freeBytes(layout.sessions)
            meter.note(space)
            let now = Instant.now().utc
            var removals = survey.staged.map(Removal.rest)
            removals += expired(of: survey.segments, policy, free: space.free, now: now)
                .map(Removal.segment)
            if !policy.keepsEverything { removals += survey.emptySessions.map(Removal.session) }
            if !removals.isEmpty { remove(removals) }
        } catch {
            logger.error("cannot survey the archive for retention: \(error)")
        }
    }

    /// What has to be removed now; by age only while the wall clock is trusted.
    private func expired(
        of segments: [ArchivedSegment], _ policy: RetentionPolicy, free: UInt64, now: UTCTime
    ) -> [ExpiredSegment] {
        let reading = RetentionClock.Reading(
            wall: now, bootNanoseconds: SystemClock.boot.nowNanoseconds)
        let (verdict, dated) = clock.withLock { clock in
            let verdict = clock.look(at: reading, ended: segments.lazy.map(\.ended))
            return (verdict, clock.dated(segments, now: verdict.isBelieved ? now : nil))
        }
        if let line = verdict.line, policy.maximumAgeNanoseconds != nil {
            if verdict.isBelieved { logger.notice("\(line)") } else { logger.warning("\(line)") }
        }
        var policy = policy
        if !verdict.isBelieved { policy.maximumAgeNanoseconds = nil }
        return policy.expired(of: dated, freeBytes: free, now: now)
    }
}
