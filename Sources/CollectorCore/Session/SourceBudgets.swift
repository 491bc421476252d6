import Media

/// Limits on what one source may make the collector write in addition to its media, far above what a healthy box needs.
/// Exceeding a limit only affects the source itself, and its ledger records that.
struct SourceBudgets: Hashable, Sendable {
    /// How far before the present a sample may set a session's zero: a day, longer than the usual spooled outage. Older
    /// samples are placed before zero.
    var zeroReachNanoseconds: Int64 = 86_400_000_000_000
    /// The same for a replayed recording: thirty years. Readers reject times that lie farther from a session's zero
    /// (``RecordLimits``).
    var replayedReachNanoseconds: Int64 = 30 * 365 * 86_400_000_000_000
    /// Files that a source may begin in a burst: more format changes than any session has.
    var fileBurst: Int64 = 64
    /// After the burst, one file per this time, or twenty per segment length, whichever is more: a backlog arrives
    /// at ten times the capture rate.
    var fileNanoseconds: Int64 = 10_000_000_000
    /// A segment of a replayed recording with this much media is not counted: at full speed, segments are filled
    /// quickly. A live source drains its spool at ten times the capture rate, which the budget allows.
    var fileBytes = 256 << 10
    /// Maximum span of the samples of one message: two minutes (4,096 audio packets are less), or eight segments if
    /// those are longer. With a larger span, each sample could begin a file.
    var messageNanoseconds: Int64 = 120_000_000_000
    /// Bytes of ledger lines that are written individually: some seven hundred lines.
    var ledgerBurstBytes: Int64 = 256 << 10
    /// After the burst, bytes per second; further lines wait, and are joined. 44 MB a day.
    var ledgerBytesPerSecond: Int64 = 512
    /// Maximum size of a source's ledger in one session. Readers accept a third more.
    var ledgerBytes: Int64 = 192 << 20
    /// Spools of a source in a session's description: more boots than a box has in a session.
    var spoolsPerSource = 64
    /// Sessions that may begin in direct succession; after those, one per this time.
    var sessionBurst: Int64 = 64
    var sessionNanoseconds: Int64 = 10_000_000_000

    /// No limits: simulations use it to demonstrate the damage.
    static var unlimited: SourceBudgets {
        var budgets = SourceBudgets()
        budgets.zeroReachNanoseconds = .max
        budgets.replayedReachNanoseconds = .max
        budgets.fileBurst = 1 << 40
        budgets.messageNanoseconds = .max
        budgets.ledgerBurstBytes = 1 << 60
        budgets.ledgerBytes = 1 << 60
        budgets.sessionBurst = 1 << 40
        return budgets
    }

    /// The maximum span of the samples of one message, for this segment length.
    func messageNanoseconds(segmentNanoseconds: Int64) -> Int64 {
        max(messageNanoseconds, segmentNanoseconds.multipliedReportingOverflow(by: 8).partialValue)
    }

    /// The budget for files, for this segment length.
    func files(segmentNanoseconds: Int64) -> Allowance {
        Allowance(
            burst: fileBurst,
            nanosecondsEach: max(1, min(fileNanoseconds, segmentNanoseconds / 20)))
    }
}

/// A token bucket that may be overdrawn: then nothing may be used until the debt is repaid.
struct Allowance: Hashable, Sendable {
    private let burst: Int64
    private let nanosecondsEach: Int64
    private var used: Int64 = 0
    /// Since when the used amount is being replenished.
    private var sinceNanoseconds: Int64 = 0

    init(burst: Int64, nanosecondsEach: Int64) {
        self.burst = burst
        self.nanosecondsEach = nanosecondsEach
    }

    private mutating func bringBack(now: Int64) {
        guard used > 0 else {
            sinceNanoseconds = now
            return
        }
        let back = min(used, max(0, now.clampedSubtracting(sinceNanoseconds)) / nanosecondsEach)
        used -= back
        sinceNanoseconds = used == 0 ? now : sinceNanoseconds + back * nanosecondsEach
    }

    /// Uses this amount.
    mutating func use(_ count: Int64, now: Int64) {
        bringBack(now: now)
        used.addClamped(count)
    }

    /// Time until something may be used, nanoseconds; 0: now.
    mutating func pauseNanoseconds(now: Int64) -> Int64 {
        bringBack(now: now)
        guard used >= burst else { return 0 }
        return (used - burst + 1) * nanosecondsEach - (now - sinceNanoseconds)
    }
}
