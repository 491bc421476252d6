import Media
package import Timing

/// The clocks that one archive's collector had during a session, and its exchanges with other collectors
/// (``ArchiveLayout/clocksName``).
package struct SiteClocks: Sendable {
    private struct Pair: Hashable {
        /// The clock that asked.
        var own: String
        var peer: String
    }

    /// Maximum number of exchanges with one clock: several years' worth.
    private static let maximumExchanges = 1 << 18
    /// Maximum number of clocks of a collector and of its peers: each boot of a server has one.
    private static let maximumClocks = 1_024

    /// The session's last zero on each of its clocks.
    package private(set) var zeros: [String: Int64] = [:]
    /// The clock of each zero: a zero that is corrected stays on its clock. Nil: the ledger's lines contradict each other.
    private var clocksByZero: [Int64: String?] = [:]
    private var exchanges: [Pair: [ClockExchange]] = [:]
    /// The collectors' names by their clocks.
    private var names: [String: String] = [:]
    /// Damaged lines, whose exchanges are missing.
    private(set) var damage: [String] = []

    /// - Parameter lines: of one archive, in their order.
    package init(_ lines: [LedgerEntry]) {
        for line in lines {
            guard let own = line.epoch, let zero = line.collectorZeroNanoseconds else { continue }
            switch line.kind {
            case .epoch:
                break
            case .exchanges:
                guard let peer = line.peerEpoch else { continue }
                add(line.exchanges ?? [], Pair(own: own, peer: peer), name: line.collector)
            case .opened, .gap, .goodbye, .format, .later, .earlier, .time, .stated, .held,
                .related, .clock, .discontinuity, .removed, .resumed, .failed, .damaged:
                continue
            }
            if zeros[own] != nil || zeros.count < Self.maximumClocks { zeros[own] = zero }
            note(zero, on: own)
        }
    }

    /// The clocks of a session in a directory; none if it has no such file.
    package init(of session: String, in layout: ArchiveLayout) throws(ArchiveError) {
        let contents = try Ledger.read(layout.clocks(session))
        self.init(contents.entries)
        damage = contents.damage
    }

    private mutating func add(_ stamps: [[Int64]], _ pair: Pair, name: String?) {
        guard exchanges[pair] != nil || exchanges.count < Self.maximumClocks else { return }
        let room = Self.maximumExchanges - exchanges[pair, default: []].count
        exchanges[pair, default: []] += stamps.lazy.filter { $0.count == 4 }.prefix(max(0, room))
            .map {
                ClockExchange(
                    t1Nanoseconds: $0[0], t2Nanoseconds: $0[1], t3Nanoseconds: $0[2],
                    t4Nanoseconds: $0[3])
            }
        if let name, ArchiveLayout.isValidName(name) { names[pair.peer] = name }
    }

    private mutating func note(_ zero: Int64, on clock: String) {
        if let known = clocksByZero[zero] {
            if known != clock { clocksByZero[zero] = .some(nil) }
        } else if clocksByZero.count < Self.maximumClocks {
            clocksByZero[zero] = clock
        }
    }

    /// The exchanges in which one of this collector's clocks asked.
    package func exchanges(of own: String, asking peer: String) -> [ClockExchange] {
        exchanges[Pair(own: own, peer: peer)] ?? []
    }

    /// The clocks that one of this collector's clocks asked.
    func peers(of own: String) -> Set<String> {
        Set(exchanges.keys.lazy.filter { $0.own == own }.map(\.peer))
    }

    /// The clocks of this collector that asked another one.
    func clocks(asking peer: String) -> Set<String> {
        Set(exchanges.keys.lazy.filter { $0.peer == peer }.map(\.own))
    }

    /// The clock of a zero; nil: no line states it, or lines contradict each other.
    func clock(ofZero zero: Int64) -> String? { clocksByZero[zero] ?? nil }

    /// The name of the collector that has a clock, as this collector calls it.
    func name(of peer: String) -> String? { names[peer] }

    var isEmpty: Bool { zeros.isEmpty }

    /// One line about its damage; nil: there is none.
    var problem: String? {
        guard let first = damage.first else { return nil }
        return "\(ArchiveLayout.clocksName): \(first)"
            + (damage.count > 1 ? ", and \(damage.count - 1) more" : "")
            + "; their exchanges with other collectors are not used"
    }
}
