import Archive
import Dispatch
import Glibc
import Logging
import Synchronization
import Threads

/// Looks through the archive now and then for what it is not to keep, and has the disk thread remove it.
///
/// On a thread of its own: to look at many thousand files can take seconds on a disk that has been asleep.
final class Retention: Sendable {
    /// How long after one look the next one begins. With 64 sources of 4 Mbit/s a gigabyte comes in this time.
    private static var interval: DispatchTimeInterval { .seconds(30) }

    private let layout: ArchiveLayout
    private let policy: @Sendable () -> RetentionPolicy
    private let logger: Logger
    private let meter: DiskStatistics
    private let remove: @Sendable ([Removal]) -> Void
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let isStopping = Atomic(false)
    private let clock = Mutex(RetentionClock())

    /// - Parameters:
    ///   - policy: what holds at the moment; asked on the retention's thread.
    ///   - meter: told what the disk has free: nobody else asks while nothing is recorded.
    ///   - remove: has things removed, in their order; called on the retention's thread.
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

    /// Starts the thread, with a look at once: what an earlier collector could not complete is completed.
    func start() {
        NamedThread.start("retention") {
            repeat {
                self.look()
                _ = self.wake.wait(timeout: .now() + Self.interval)
            } while !self.isStopping.load(ordering: .acquiring)
            self.ended.signal()
        }
    }

    /// Has it look now: the disk is full.
    func hurry() { wake.signal() }

    /// Ends the thread. What it has asked for may still be removed after that.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        ended.wait()
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
            logger.error("cannot look for what is no longer kept: \(error)")
        }
    }

    /// What has to go now; by age only while the wall clock is believed.
    private func expired(
        of segments: [ArchivedSegment], _ policy: RetentionPolicy, free: UInt64, now: UTCTime
    ) -> [ExpiredSegment] {
        let reading = RetentionClock.Reading(
            wall: now, bootNanoseconds: Instant.nanoseconds(CLOCK_BOOTTIME))
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
