import Media
import Timing

/// Another archive of a session's site, whose clock exchanges are used. It is only read.
package struct RetimingPeer: Sendable {
    /// Its collector's name.
    package var name: String
    package var layout: ArchiveLayout
    /// The session's name in that archive: an attached part has its own.
    package var session: String

    package init(name: String, layout: ArchiveLayout, session: String) {
        self.name = name
        self.layout = layout
        self.session = session
    }
}

/// Clock exchanges read from another archive.
struct PeerEvidence {
    var name: String
    /// Its collector's clocks, and their exchanges with other collectors.
    var clocks: SiteClocks
    /// Its exchanges with the agents of both archives.
    var sources: [CollectorClocks.Source] = []
    /// One line for each unusable item.
    var problems: [String] = []

    init(name: String, clocks: SiteClocks, sources: [CollectorClocks.Source]) {
        self.name = name
        self.clocks = clocks
        self.sources = sources
    }

    /// Exchanges of a source: those of a year, one every 30 s.
    private static let maximumExchanges = 1 << 20

    /// - Parameter sources: those of the archive that is retimed.
    init(_ peer: RetimingPeer, sources: [String]) {
        name = peer.name
        do throws(ArchiveError) {
            clocks = try SiteClocks(of: peer.session, in: peer.layout)
        } catch {
            clocks = SiteClocks([])
            problems.append("\(name): not used: \(error)")
            return
        }
        guard !clocks.isEmpty else {
            problems.append(
                "\(name): not used: its session \(peer.session) has no \(ArchiveLayout.clocksName), so that nothing tells "
                    + "its clock")
            return
        }
        if let problem = clocks.problem { problems.append("\(name): \(problem)") }
        do throws(ArchiveError) {
            let shared = Set(sources)
            for source in try peer.layout.sourceNames(peer.session) where shared.contains(source) {
                try read(source, of: peer)
            }
        } catch {
            problems.append("\(name): its recordings are left out: \(error)")
        }
    }

    private mutating func read(
        _ source: String, of peer: RetimingPeer
    ) throws(ArchiveError) {
        var found = CollectorClocks.Source(name: source, exchanges: [], places: [], zeros: [])
        var unreadable: (count: Int, first: ArchiveError)?
        for path in try peer.layout.segmentPaths(peer.session, source) {
            do throws(ArchiveError) {
                let exchanges = try withEvidence(path, isWhole: false) { $1.exchanges }
                let room = max(0, Self.maximumExchanges - found.exchanges.count)
                found.exchanges += exchanges.prefix(room)
            } catch {
                unreadable = ((unreadable?.count ?? 0) + 1, unreadable?.first ?? error)
            }
        }
        found.add(try Ledger.read(peer.layout.ledger(peer.session, source)).entries)
        if let unreadable {
            problems.append(
                "\(name): \(unreadable.count) files of \(source) are left out: \(unreadable.first)")
        }
        let moved = try peer.layout.movedSegments(
            SourceKey(session: peer.session, source: source)
        ).count
        if moved > 0 {
            problems.append(
                "\(name): \(moved) segments of \(source) are left out: they are in the object store alone"
            )
        }
        sources.append(found)
    }

    /// Its collector's exchanges with a clock of a source, by its collector's clock.
    func exchanges(of source: String, _ epoch: EpochID) -> [String: [ClockExchange]] {
        var found: [String: [ClockExchange]] = [:]
        for own in sources where own.name == source {
            for (key, exchange) in own.exchanges where key.epoch == epoch {
                guard let clock = clocks.clock(ofZero: key.collectorZeroNanoseconds) else {
                    continue
                }
                found[clock, default: []].append(exchange)
            }
        }
        return found
    }
}
