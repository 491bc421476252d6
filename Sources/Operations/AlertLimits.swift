/// Limits beyond which a collector or source needs attention, in probes and in `tributary top`. Alert rules and the page have the
/// same ones and more: `deploy/monitoring/alerts.yaml`, `limits.js`.
package enum AlertLimits {
    /// Maximum age of the receiving thread's status, which it publishes about once a second. Less than systemd's
    /// watchdog timeout, so that a probe that fails a few times in a row has the same effect.
    package static let progressSeconds = 15.0
    /// A longer disk operation blocks recording.
    package static let diskBusySeconds = 30.0
    /// A larger lag of a source is shown as "late".
    static let lateSeconds = 5.0
    /// Older undurable records are shown as "unsaved": a fragment, a commit interval, and a margin.
    static let unsavedSeconds = 10.0
    /// Fewer bytes are in transit, and not shown as owed.
    static let inTransitBytes = 10_000_000.0
}
