import Archive
import Logging
import Messaging
import Operations

/// Shared by all services of a collector.
struct CollectorEnvironment: Sendable {
    let settings: CollectorSettings
    /// Settings that may change while the collector runs.
    let changeable: SharedSettings
    let layout: ArchiveLayout
    /// The archive's disk.
    let archiveDisk: LockedDisk
    /// The collector's status, from the moment it listens.
    let board: StatusBoard
    /// Called about once a second on the receiving thread.
    let report: @Sendable (CollectorStatus) -> Void
    let logger: Logger
    let stop = StopRequest()
    /// The disk thread's statistics.
    let disk = DiskStatistics()
    /// Counts refusals; determines whether agents can still be admitted.
    let refusals = RefusalCounters()
    /// Wakes the receiving thread.
    let wakeUp: WakeUp
}
