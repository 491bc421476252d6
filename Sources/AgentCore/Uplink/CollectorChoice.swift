import Media
import Wire

/// Selects one of several collectors for a source.
///
/// Each source has its own order of collectors (``RendezvousOrder``), its preview the same one. It stays with one until that one is
/// silent for three seconds, or states that it cannot record; then it switches to the next in the order, cyclically. It never
/// returns without such a reason. When all have declined, one that has sent the agent away is used as the only one: a collector
/// that is drained admits an agent that has no other. A value: calls pass the time, and jitter is derived from the source's name.
struct CollectorChoice: Hashable, Sendable {
    /// Silence (no acknowledgement, no clock reply) after which the next collector is tried.
    static let silenceNanoseconds: Int64 = 3_000_000_000
    /// Sources that lose a collector together look for another one spread over this time.
    static let jitterNanoseconds: Int64 = 1_000_000_000
    /// Pause after all collectors have been tried once; doubled after each further round.
    private static let firstPauseMilliseconds: Int64 = 100
    private static let longestPauseMilliseconds: Int64 = 2_000
    /// A collector that responds but accepts no records for this long is left.
    static let uselessNanoseconds: Int64 = 15_000_000_000
    /// Time at a last resort until all collectors are asked again. Each attempt is two changes of collector if all decline.
    static let lastResortNanoseconds: Int64 = 60_000_000_000

    /// In the source's order; at least one.
    let collectors: [String]
    /// Endpoints of the collector that another cursor uses.
    var excluded: Set<String> = []
    private var index = 0
    /// Time of the present one's last message, or of its selection.
    private var heardNanoseconds: Int64?
    /// Time at which it last accepted records, or of its selection.
    private var usefulNanoseconds: Int64?
    /// Selections since one accepted records.
    private var vainSelections = 0
    /// Collectors that were left since one accepted records.
    private var declined: Set<String> = []
    /// The collectors in ``declined`` that have refused the agent.
    private var refusing: Set<String> = []
    /// Time at which a last resort accepted records.
    private var lastResortSince: Int64?
    private var patienceNanoseconds = Self.silenceNanoseconds
    private var random: UInt64

    /// - Parameter present: the source's previous collector; nil, or one that is not configured: starts with the first in the order.
    init(_ collectors: [String], source: String, present: String?) {
        precondition(!collectors.isEmpty, "an agent has a collector")
        // Viewers of a collector see both, as long as each is where it belongs.
        let main = SourcePreviews.source(named: source) ?? source
        self.collectors = RendezvousOrder.of(collectors, for: main)
        index = present.flatMap(self.collectors.firstIndex) ?? 0
        random = RendezvousOrder.weight(of: "", for: source)
        drawPatience()
    }

    var present: String { collectors[index] }
    /// Whether there is another collector to switch to.
    var hasOthers: Bool { collectors.contains { $0 != present && !excluded.contains($0) } }

    /// Whether the present one has refused the agent, and all others have declined: Hello states that there is no other.
    var isLastResort: Bool {
        hasOthers && refusing.contains(present)
            && collectors.allSatisfy { excluded.contains($0) || declined.contains($0) }
    }

    /// The present collector has sent a message.
    mutating func heard(now: Int64) { heardNanoseconds = max(heardNanoseconds ?? now, now) }

    /// The present collector accepts records.
    mutating func isUseful(now: Int64) {
        usefulNanoseconds = now
        vainSelections = 0
        if isLastResort {
            lastResortSince = lastResortSince ?? now
        } else {
            forgetRefusals()
        }
    }

    /// Whether all collectors are due to be asked again, because the present one is a last resort. Then it is no
    /// longer one: the next Hello states that there are others.
    mutating func leavesLastResort(now: Int64) -> Bool {
        guard let since = lastResortSince, now - since >= Self.lastResortNanoseconds else {
            return false
        }
        forgetRefusals()
        return true
    }

    private mutating func forgetRefusals() {
        declined = []
        refusing = []
        lastResortSince = nil
    }

    /// Whether all collectors have been tried since one accepted records.
    var isRepeating: Bool { rounds > 0 }

    /// Times that all collectors have been tried since one accepted records.
    private var rounds: Int { vainSelections / max(1, collectors.count { !excluded.contains($0) }) }

    /// Delay before the connection to the present one: each change of collector is written to the disk, so collectors that all
    /// decline are not tried as fast as they answer.
    var pauseMilliseconds: Int64 {
        guard rounds > 0 else { return 0 }
        return min(Self.longestPauseMilliseconds, Self.firstPauseMilliseconds << min(rounds - 1, 8))
    }

    /// The reason for switching to the next one; nil: none.
    mutating func complaint(now: Int64) -> String? {
        guard hasOthers else { return nil }
        let heard = heardNanoseconds ?? now
        let useful = usefulNanoseconds ?? now
        heardNanoseconds = heard
        usefulNanoseconds = useful
        if now - heard >= patienceNanoseconds {
            return "nothing was heard of it for \((now - heard) / 1_000_000_000) s"
        }
        if now - useful >= Self.uselessNanoseconds {
            return "it answers, and accepted nothing for \((now - useful) / 1_000_000_000) s"
        }
        return nil
    }

    /// Switches to the next collector.
    /// - Parameters:
    ///   - now: nil: unknown; its silence counts from the next ``complaint(now:)``.
    ///   - isRefused: the present collector has sent the agent away.
    /// - Precondition: there is an endpoint that is not ``excluded``.
    mutating func advance(now: Int64?, isRefused: Bool = false) {
        declined.insert(present)
        if isRefused { refusing.insert(present) }
        lastResortSince = nil
        repeat { index = (index + 1) % collectors.count } while excluded.contains(present)
        vainSelections += 1
        heardNanoseconds = now
        usefulNanoseconds = now
        drawPatience()
    }

    private mutating func drawPatience() {
        random = RendezvousOrder.mixed(random &+ 0x9E37_79B9_7F4A_7C15)
        patienceNanoseconds =
            Self.silenceNanoseconds + Int64(random % UInt64(Self.jitterNanoseconds))
    }
}

/// The order of collectors for a source by rendezvous hashing: all agents derive the same order from the names, sources are
/// distributed evenly, and adding or removing a collector does not reorder the others.
///
/// A collector's weight is the 64-bit FNV-1a hash of its configured name, a zero byte and the source's name, mixed by the SplitMix64
/// finaliser; the highest weight is first.
enum RendezvousOrder {
    static func of(_ collectors: [String], for source: String) -> [String] {
        collectors.map { (name: $0, weight: weight(of: $0, for: source)) }
            .sorted { ($1.weight, $0.name) < ($0.weight, $1.name) }
            .map(\.name)
    }

    static func weight(of collector: String, for source: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in Array(collector.utf8) + [0] + Array(source.utf8) {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return mixed(hash)
    }

    static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
