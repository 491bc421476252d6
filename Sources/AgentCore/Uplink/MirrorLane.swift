import Media
package import Wire

/// State of the second collector of a source with `--release mirrored`: its choice and its connection.
///
/// The links, one per spool, are stored with those of the first collector.
struct MirrorLane<Payload: Sendable>: Sendable {
    /// Maximum wait for the first collector's session, which the second one continues.
    static var sessionPatienceNanoseconds: Int64 { 5_000_000_000 }
    /// Delay after a permanent refusal.
    static var refusedMilliseconds: Int64 { 10_000 }
    /// Distinguishes command identifiers of this connection from those of the first one.
    static var commandBit: UInt64 { 1 << 63 }
    /// Time until the warning about a single copy is repeated.
    private static var againNanoseconds: Int64 { 600_000_000_000 }

    var choice: CollectorChoice
    /// The spool of the current connection; nil if not connected.
    var connected: SpoolID?
    /// One spool is complete, and the next one is not connected yet.
    var isBetweenSpools = false
    /// The announced name; empty if the collector has none.
    var name = ""
    /// Queued actions for the connection.
    var actions: [AgentAction<Payload>] = []
    /// Start of mirroring.
    let beganNanoseconds: Int64
    /// Whether the first and the second collector persist records.
    var copies = (first: CopyWatch(), second: CopyWatch())
    private var nextNotice: Int64?

    init(_ choice: CollectorChoice, now: Int64) {
        self.choice = choice
        beganNanoseconds = now
    }

    /// Name for the log.
    var collectorName: String { CollectorNote.called(name, at: choice.present) }

    /// Whether the warning about a single copy is due, and whether the second collector lacks records; nil: it is not due.
    ///
    /// If both lack records, the warning is about one that is away.
    mutating func takeNotice(isFlowing: (first: Bool, second: Bool), now: Int64) -> Bool? {
        let lags = (first: copies.first.lags(now: now), second: copies.second.lags(now: now))
        guard lags.first || lags.second else {
            nextNotice = nil
            return nil
        }
        let isSecond = lags.second && !(lags.first && isFlowing.second)
        guard !(lags.first && lags.second && isFlowing.first == isFlowing.second),
            now >= nextNotice ?? now
        else { return nil }
        nextNotice = now + Self.againNanoseconds
        return isSecond
    }
}

/// Whether a collector persists the records of a source.
struct CopyWatch: Hashable, Sendable {
    /// Time without progress until records count as missing.
    private static let patienceNanoseconds: Int64 = 10_000_000_000

    private var persisted: UInt64 = 0
    /// Time since which it is away, or lacks records and persists none. It begins anew when the collector returns.
    private var since: Int64?
    private var isHere = false

    /// - Parameters:
    ///   - owed: number of records that it lacks.
    ///   - persisted: a number that changes when it persists records.
    mutating func follow(isFlowing: Bool, owed: UInt64, persisted: UInt64, now: Int64) {
        let isActive = isFlowing && (owed == 0 || persisted != self.persisted)
        self.persisted = persisted
        let hasReturned = isFlowing && !isHere
        isHere = isFlowing
        since = isActive ? nil : hasReturned ? now : since ?? now
    }

    func lags(now: Int64) -> Bool {
        since.map { now - $0 >= Self.patienceNanoseconds } ?? false
    }
}

/// State of mirroring, for status output.
package struct MirrorStatus: Hashable, Sendable {
    /// The endpoint of the second collector.
    package var collector = ""
    package var isConnected = false
    /// Records that each collector lacks.
    package var owed: [OwedRecords] = []
    /// Time for which the spool can store owed records, at the present rate; nil if unknown.
    package var lasts: Duration?
    /// Why the second collector cannot be reached; nil if unknown.
    package var trouble: String?

    package init() {}

    /// Fewer bytes are in transit, and not reported as owed.
    private static let owedBytes: UInt64 = 10_000_000

    /// Follows the first collector's endpoint in a status line: the second collector, and the records owed to each.
    package var text: String {
        let owed = owed.filter { $0.bytes >= Self.owedBytes }
        let kept = owed.map { "; \(byteText(Int(clamping: $0.bytes))) kept for \($0.collector)" }
        let lasts =
            owed.isEmpty
            ? "" : lasts.map { ", the spool lasts for \($0.components.seconds / 60) min" } ?? ""
        let away = isConnected ? "" : " (away\(trouble.map { ": \($0)" } ?? ""))"
        return " and \(collector)\(away)\(kept.joined())\(lasts)"
    }
}

/// Data rate of a source over the last seconds.
struct CaptureRate: Hashable, Sendable {
    private static let windowNanoseconds: Int64 = 10_000_000_000

    private var bytes = 0
    private var sinceNanoseconds: Int64?
    /// Nil until it is measured.
    private(set) var bytesPerSecond: Double?

    mutating func add(_ count: Int, now: Int64) {
        let since = sinceNanoseconds ?? now
        bytes += count
        sinceNanoseconds = since
        guard now - since >= Self.windowNanoseconds else { return }
        bytesPerSecond = Double(bytes) / (Double(now - since) / 1e9)
        bytes = 0
        sinceNanoseconds = now
    }
}
