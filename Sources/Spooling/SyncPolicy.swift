/// Decides when to synchronise a spool: once when it begins, then never while the collector persists promptly, and every second
/// when it does not.
///
/// The first synchronisation makes the spool's mark durable. After a power cut, the next run recognises by it that there was an
/// earlier spool, and records in the ledger that something is missing.
///
/// Records that are deleted within seconds need not reach the flash memory at all; those that stay must survive a power cut.
/// Instead of the age of every record, the policy measures one number at a time: the time from when it is the newest until it is
/// persisted.
package struct SyncPolicy: Sendable {
    /// A collector that needs longer to persist records is not prompt. It writes a fragment a second and then
    /// synchronises: three times that is slow, not a coincidence.
    package static let promptNanoseconds: Int64 = 3_000_000_000
    /// Interval between synchronisations: what a power cut may lose of a backlog.
    package static let intervalNanoseconds: Int64 = 1_000_000_000

    /// The newest record at some moment.
    private var watched: (number: UInt64, since: Int64)?
    private var lastNanoseconds: Int64?
    /// Whether the last watched record was persisted in time.
    package private(set) var isPrompt = true

    package init() {}

    /// Checks the collector's progress.
    /// - Parameters:
    ///   - newest: the last record written.
    ///   - persisted: the last record that the collector has on disk.
    ///   - hasUnsynced: whether there is anything to synchronise.
    /// - Returns: whether to synchronise now.
    package mutating func decide(
        newest: UInt64, persisted: UInt64, hasUnsynced: Bool, now: Int64
    ) -> Bool {
        if let watched, watched.number > persisted {
            if now - watched.since >= Self.promptNanoseconds { isPrompt = false }
        } else {
            if watched != nil { isPrompt = true }
            watched = newest > persisted ? (newest, now) : nil
        }
        guard hasUnsynced else { return false }
        if let lastNanoseconds {
            guard !isPrompt, now - lastNanoseconds >= Self.intervalNanoseconds else { return false }
        }
        lastNanoseconds = now
        return true
    }
}
