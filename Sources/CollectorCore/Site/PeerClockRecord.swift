import Archive
import Media
import Timing

/// Decides which lines about other collectors' clocks a session gets (``ArchiveLayout/clocksName``). A value.
///
/// Every line has the session's zero on this collector's clock, so that a reader of two collectors' archives can place the one's
/// session times on the other's timeline. The exchanges of the eight minutes before a session belong to it, too.
struct PeerClockRecord: Sendable {
    /// Interval of written lines. Newer exchanges are only in memory; their loss widens bounds, but never makes them wrong.
    static let intervalNanoseconds: Int64 = 60_000_000_000
    /// Exchanges of one line.
    private static let exchangesPerLine = 64

    /// The session being recorded.
    struct Session: Hashable, Sendable {
        var name: String
        /// Its zero on this collector's clock.
        var zeroNanoseconds: Int64
    }

    /// This collector's clock.
    private let own: EpochID
    private(set) var session: Session?
    /// Number of each peer's kept exchanges that are recorded, by archive.
    private var recorded: [String: Int] = [:]
    private var nextNanoseconds: Int64 = .min

    init(own: EpochID) { self.own = own }

    /// Whether something is to be recorded.
    func isDue(_ session: Session?, now: Int64) -> Bool {
        session != self.session || session != nil && now >= nextNanoseconds
    }

    /// Another session is recorded from now on, or the same with another zero.
    /// - Returns: its first line.
    mutating func begin(_ session: Session, utc: UTCTime) -> LedgerEntry {
        if session.name != self.session?.name { recorded.removeAll() }
        self.session = session
        var line = LedgerEntry(kind: .epoch, at: utc)
        line.epoch = own.description
        line.collectorZeroNanoseconds = session.zeroNanoseconds
        return line
    }

    /// No session is recorded from now on.
    mutating func end() {
        recorded.removeAll()
        session = nil
    }

    /// Lines about the exchanges of the present session that are not recorded yet.
    /// - Parameters:
    ///   - peers: name, identity of the archive, and clock.
    ///   - utc: for the lines.
    mutating func lines(
        _ peers: [(name: String, archive: String, clock: PeerClock)], now: Int64, utc: UTCTime
    ) -> [LedgerEntry] {
        guard let session else { return [] }
        nextNanoseconds = now.clampedAdding(Self.intervalNanoseconds)
        var lines: [LedgerEntry] = []
        for (name, archive, clock) in peers {
            var rest = clock.kept(after: recorded[archive, default: 0])
            recorded[archive] = clock.keptCount
            while let first = rest.first {
                let part = rest.prefix(Self.exchangesPerLine).prefix { $0.clock == first.clock }
                rest = rest.dropFirst(part.count)
                var line = LedgerEntry(kind: .exchanges, at: utc)
                line.collector = name
                line.epoch = own.description
                line.peerEpoch = first.clock.description
                line.collectorZeroNanoseconds = session.zeroNanoseconds
                line.exchanges = part.map { kept in
                    let exchange = kept.exchange
                    return [
                        exchange.t1Nanoseconds, exchange.t2Nanoseconds, exchange.t3Nanoseconds,
                        exchange.t4Nanoseconds,
                    ]
                }
                lines.append(line)
            }
        }
        return lines
    }
}
