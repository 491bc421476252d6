/// When a spool is synchronised: once when it begins, then never while the collector persists promptly, every second when it does not.
///
/// The first time leaves the spool's mark on the disk: after a power cut the next life knows by it that there was one before, and says
/// in the ledger that something is missing.
///
/// Records that are deleted within seconds need not reach the flash at all; those that stay must survive a power cut.
/// Instead of an age for every record, one number is watched at a time: is it persisted soon after it was the newest?
package struct SyncPolicy: Sendable {
    /// A collector that takes longer than this to persist what it is sent is not prompt. It writes a fragment a second and then
    /// synchronises; three of those are slow, not unlucky.
    package static let promptNanoseconds: Int64 = 3_000_000_000
    /// Between two synchronisations: what a power cut may take of a backlog.
    package static let intervalNanoseconds: Int64 = 1_000_000_000

    /// The newest record at some moment.
    private var watched: (number: UInt64, since: Int64)?
    private var lastNanoseconds: Int64?
    /// Whether what was watched last was persisted in time.
    package private(set) var isPrompt = true

    package init() {}

    /// Looks at how far the collector is.
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
