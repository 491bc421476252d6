import Media
package import Wire

/// The second collector of a source whose records two collectors have to have on disk (`--release mirrored`): which one it is, and
/// what its connection is to do.
///
/// The links are beside those of the first collector, one for each spool; this is what they have in common.
struct MirrorLane<Payload: Sendable>: Sendable {
    /// For this long it waits for the first collector's session, which it is to go on with.
    static var sessionPatienceNanoseconds: Int64 { 5_000_000_000 }
    /// A collector that refuses for good is asked again after this time.
    static var refusedMilliseconds: Int64 { 10_000 }
    /// What tells the commands of this connection from those of the other one.
    static var commandBit: UInt64 { 1 << 63 }
    /// How long only one collector has what is recorded before the log says so, and how often it says it again.
    private static var aloneNanoseconds: Int64 { 10_000_000_000 }
    private static var againNanoseconds: Int64 { 600_000_000_000 }

    var choice: CollectorChoice
    /// The spool that the connection sends; nil: there is no connection.
    var connected: SpoolID?
    /// One spool is sent, and the next is not connected yet.
    var isBetweenSpools = false
    /// The collector's name; empty: it has told none.
    var name = ""
    /// Messages for the connection, and when it is to be another one.
    var actions: [AgentAction<Payload>] = []
    /// Since when there is a second collector.
    let beganNanoseconds: Int64
    private var aloneSince: Int64?
    private var nextNotice: Int64 = 0

    init(_ choice: CollectorChoice, now: Int64) {
        self.choice = choice
        beganNanoseconds = now
    }

    /// What the collector is called.
    var collectorName: String { CollectorNote.called(name, at: choice.present) }

    /// Whether it is time to say that records are at one collector only.
    mutating func isNoticeDue(bothFlow: Bool, now: Int64) -> Bool {
        guard !bothFlow else {
            aloneSince = nil
            return false
        }
        if aloneSince == nil {
            aloneSince = now
            nextNotice = now + Self.aloneNanoseconds
        }
        guard now >= nextNotice else { return false }
        nextNotice = now + Self.againNanoseconds
        return true
    }
}

/// How one of the two collectors of a source does.
package struct MirrorStatus: Hashable, Sendable {
    /// The endpoint of the second collector.
    package var collector = ""
    package var isConnected = false
    /// By collector, what it lacks.
    package var owed: [OwedRecords] = []
    /// How long the box can keep what is owed at the present rate; nil: unknown.
    package var lasts: Duration?
    /// Why the second collector cannot be reached, if that is known.
    package var trouble: String?

    package init() {}

    /// Less than that is on its way, and not owed.
    private static let owedBytes: UInt64 = 10_000_000

    /// What follows the first collector's endpoint in a status line: where records go besides, and what is kept for whom.
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

/// How many bytes a source gives, over the last seconds.
struct CaptureRate: Hashable, Sendable {
    private static let windowNanoseconds: Int64 = 10_000_000_000

    private var bytes = 0
    private var sinceNanoseconds: Int64?
    /// Nil: not known yet.
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
