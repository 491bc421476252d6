import Media
import Timing

/// The clocks of a session's collector, one for each boot of its server, on one timeline.
///
/// The first clock has the session's zero. Zero on a later one follows from the agents whose clocks kept running
/// through a boot: their exchanges with both clocks give a range for it, and the ranges of all agents are intersected
/// (`ZeroTie`). The clocks of other collectors that kept running narrow that range, if they agree with it. If no clock kept
/// running, zero is where it was while the session was recorded, with the stored error.
///
/// Other collectors' measurements only narrow this collector's bounds. A measurement that contradicts this collector's
/// exchanges or the recorded bounds is not used.
struct CollectorClocks {
    /// The clock data of one source's recording.
    struct Source {
        var name: String
        /// In the order in which they arrived.
        var exchanges: [(clock: ClockKey, exchange: ClockExchange)]
        /// In the order of the files.
        var places: [RecordedMapping]
        /// Zeros of the collector's clocks in the order in which the source used them.
        var zeros: [Int64]
        /// By the path of the file.
        var openings: [String: FileOpening] = [:]
        /// The timestamps of a network camera.
        var camera = CameraTimes()
    }

    private struct Measured: Hashable {
        var source: String
        var epoch: EpochID
    }

    /// By the collector's clock, named by its recorded zero.
    private var histories: [Int64: [Measured: ClockHistory]] = [:]
    private var ties: [Int64: ZeroTie<Measured>] = [:]
    private var order: [Int64] = []
    private var differences: PeerClockDifferences
    /// Measurements of the sources' clocks via other collectors.
    private var ways: [Measured: [ClockHistory]] = [:]
    /// The other collectors whose measurements were used.
    private(set) var peers: [RetimingReport.Peer] = []
    /// One line for everything that could not be used.
    private(set) var problems: [String]

    /// - Parameters:
    ///   - site: this collector's exchanges with others.
    ///   - peers: other archives.
    ///   - problems: of reading them.
    init(
        _ sources: [Source], site: SiteClocks = SiteClocks([]), peers: [PeerEvidence] = [],
        problems: [String] = []
    ) {
        self.problems = problems
        differences = PeerClockDifferences(zeros: [], own: site, others: [])
        for source in sources { measure(source) }
        order = order(sources).filter { histories[$0] != nil }
        differences = PeerClockDifferences(
            zeros: order, own: site, others: peers.map(\.clocks))
        let names = PeerNames(site, peers)
        for zero in order { place(zero, sources, names) }
        for peer in peers where !peer.sources.isEmpty { join(sources, peer) }
        self.peers.sort { $0.name < $1.name }
    }

    /// The timelines of a source's epochs, from their clocks to session time.
    func timelines(of source: String) -> [EpochID: SourceTimeline] {
        var timelines: [EpochID: SourceTimeline] = [:]
        for (epoch, own) in ownHistories(of: source) {
            let measured = Measured(source: source, epoch: epoch)
            timelines[epoch] = SourceTimeline(
                own.timeline,
                ways: (ways[measured] ?? []).map {
                    RetroTimeline(sessionZeroNanoseconds: 0, history: $0)
                },
                all: ways[measured].flatMap { ClockHistory(merging: [own.whole] + $0) }.map {
                    RetroTimeline(sessionZeroNanoseconds: 0, history: $0)
                })
        }
        return timelines
    }

    /// A source's epoch by its exchanges with this collector.
    private struct OwnHistory {
        var timeline: RetroTimeline
        /// With the whole error of zero in each limit.
        var whole: ClockHistory
    }

    private func ownHistories(of source: String) -> [EpochID: OwnHistory] {
        var parts: [EpochID: [(history: ClockHistory, zero: ZeroTie<Measured>.Zero)]] = [:]
        for zero in order {
            for (measured, history) in histories[zero] ?? [:] where measured.source == source {
                guard let place = ties[zero]?.zero(of: measured) else { continue }
                parts[measured.epoch, default: []].append((history, place))
            }
        }
        return parts.compactMapValues { parts in
            let common = parts.map(\.zero.errorNanoseconds).min() ?? 0
            let inOrder = parts.sorted {
                $0.history.extent.lowerBound < $1.history.extent.lowerBound
            }
            func joined(without common: Int64) -> ClockHistory? {
                ClockHistory(
                    joining: inOrder.map {
                        (
                            $0.history, Int64.zero.clampedSubtracting($0.zero.nanoseconds),
                            $0.zero.errorNanoseconds - common
                        )
                    })
            }
            guard let own = joined(without: common), let whole = joined(without: 0) else {
                return nil
            }
            return OwnHistory(
                timeline: RetroTimeline(
                    sessionZeroNanoseconds: 0, history: own, commonErrorNanoseconds: common),
                whole: whole)
        }
    }

    /// Accepted exchanges of a source.
    func believedExchanges(of source: String) -> Int {
        histories.values.reduce(0) { sum, own in
            sum + own.lazy.filter { $0.key.source == source }.reduce(0) { $0 + $1.value.believed }
        }
    }

    private mutating func measure(_ source: Source) {
        var byClock: [ClockKey: [ClockExchange]] = [:]
        for (clock, exchange) in source.exchanges { byClock[clock, default: []].append(exchange) }
        for (clock, exchanges) in byClock {
            guard let history = ClockHistory(exchanges) else { continue }
            let measured = Measured(source: source.name, epoch: clock.epoch)
            histories[clock.collectorZeroNanoseconds, default: [:]][measured] = history
        }
    }

    /// Adds another collector's measurements of the sources' clocks, unless they contradict this collector's.
    private mutating func join(_ sources: [Source], _ peer: PeerEvidence) {
        let zeros = order.compactMap { zero in
            ties[zero].map {
                (recorded: zero, place: $0.zero.nanoseconds, error: $0.zero.errorNanoseconds)
            }
        }
        var differences = self.differences
        defer { self.differences = differences }
        var isCompared = false
        var isShared = false
        for source in sources {
            for (epoch, own) in ownHistories(of: source.name).sorted(by: {
                "\($0.key)" < "\($1.key)"
            }) {
                var parts: [ClockHistory] = []
                for (clock, exchanges) in peer.exchanges(of: source.name, epoch)
                    .sorted(by: { $0.key < $1.key })
                {
                    isShared = true
                    guard let history = ClockHistory(exchanges) else { continue }
                    let carried = history.carried(limit: Self.usefulNanoseconds) {
                        differences.session(at: $0, of: clock, zeros)
                    }
                    if let carried { parts.append(carried) }
                }
                guard !parts.isEmpty else { continue }
                isCompared = true
                guard let way = ClockHistory(merging: parts), !own.whole.hasJumps else {
                    problems.append(
                        "\(peer.name): not used for \(source.name): its clock jumped during the session"
                    )
                    continue
                }
                guard !contradicts(way, own.timeline, source.places, epoch) else {
                    problems.append(
                        "\(peer.name): its exchanges with \(source.name) contradict this archive's; not used for it"
                    )
                    continue
                }
                ways[Measured(source: source.name, epoch: epoch), default: []].append(way)
                use(of: peer.name) { peer in
                    if peer.sources.last != source.name { peer.sources.append(source.name) }
                }
            }
        }
        if isShared, !isCompared {
            problems.append(
                "\(peer.name): not used for its sources: no exchanges tell its clock's distance from this collector's"
            )
        }
    }

    /// Maximum error of a measurement via another collector that is used.
    private static let usefulNanoseconds: Int64 = 1_000_000_000

    /// Whether a measurement via another collector contradicts this collector's exchanges or the recorded bound of a fragment.
    private func contradicts(
        _ way: ClockHistory, _ own: RetroTimeline, _ places: [RecordedMapping], _ epoch: EpochID
    ) -> Bool {
        var way = RetroTimeline(sessionZeroNanoseconds: 0, history: way)
        var own = own
        for place in places where place.clock.epoch == epoch {
            let range = way.estimate(at: place.stampNanoseconds).range
            guard range.overlaps(own.estimate(at: place.stampNanoseconds).range) else {
                return true
            }
            // Without a bound, nothing was measured.
            guard place.boundNanoseconds > 0 else { continue }
            let recorded = RetroTimeline.Estimate(
                offsetNanoseconds: place.offsetNanoseconds,
                boundNanoseconds: Int64(clamping: place.boundNanoseconds))
            if !range.overlaps(recorded.range) { return true }
        }
        return false
    }

    /// The collector's clocks, in an order that agrees with that of every source. If several clocks have no predecessor,
    /// the one with the smallest recorded error comes first.
    private func order(_ sources: [Source]) -> [Int64] {
        var before: [Int64: Set<Int64>] = [:]
        for source in sources {
            var seen: Set<Int64> = []
            let zeros =
                source.zeros + source.places.map(\.clock.collectorZeroNanoseconds)
                + source.exchanges.map(\.clock.collectorZeroNanoseconds)
            for zero in zeros where !seen.contains(zero) {
                before[zero, default: []].formUnion(seen)
                seen.insert(zero)
            }
        }
        return before.map {
            (earlier: $1.count, asRecorded($0, sources).errorNanoseconds, zero: $0)
        }
        .sorted { $0 < $1 }.map(\.zero)
    }

    /// Determines zero on one of the collector's clocks, after all earlier ones.
    private mutating func place(_ zero: Int64, _ sources: [Source], _ names: PeerNames) {
        let recorded = asRecorded(zero, sources)
        guard !ties.isEmpty else {
            // A session begins at its zero. A clock after a reboot has a corrected zero, or the error of a wall clock.
            let isFirst =
                recorded.errorNanoseconds <= ZeroTie<Measured>.wideNanoseconds
                && recorded.nanoseconds.clampedSubtracting(zero).magnitude
                    <= recorded.errorNanoseconds.magnitude
            ties[zero] = ZeroTie(
                isFirst ? .init(nanoseconds: zero, errorNanoseconds: 0) : recorded)
            return
        }
        var tie = ZeroTie<Measured>(recorded)
        let earlier = order.filter { ties[$0] != nil }
        for (measured, history) in histories[zero] ?? [:] {
            for other in earlier {
                guard let before = histories[other]?[measured],
                    let known = ties[other]?.zero(of: measured)
                else { continue }
                let steps = ClockSteps(from: before, zero: known, to: history)
                Self.observe(measured, steps, with: &tie)
            }
        }
        narrow(zero, earlier, names, with: &tie)
        ties[zero] = tie
    }

    /// Narrows zero by the clocks of other collectors that kept running.
    private mutating func narrow(
        _ zero: Int64, _ earlier: [Int64], _ names: PeerNames, with tie: inout ZeroTie<Measured>
    ) {
        for peer in differences.peers {
            guard let present = differences.difference(zero: zero, peer: peer) else { continue }
            var isUsed = false
            var isRefused = false
            for other in earlier {
                guard let before = differences.difference(zero: other, peer: peer),
                    let known = ties[other]?.zero
                else { continue }
                let steps = ClockSteps(from: before, zero: known, to: present)
                switch steps.zeroRange.flatMap({ tie.narrow(to: $0) }) {
                case true?: isUsed = true
                case false?: break
                case nil: isRefused = true
                }
            }
            if isUsed { use(of: names.name(of: peer)) { $0.tiedClocks += 1 } }
            if isRefused {
                problems.append(
                    "\(names.name(of: peer)): its clock contradicts where this collector's restart has left the "
                        + "session's zero; not used for that")
            }
        }
    }

    private mutating func use(of name: String, _ change: (inout RetimingReport.Peer) -> Void) {
        let index =
            peers.firstIndex { $0.name == name }
            ?? {
                peers.append(RetimingReport.Peer(name: name, tiedClocks: 0, sources: []))
                return peers.count - 1
            }()
        change(&peers[index])
    }

    /// Adds a clock that was measured against two of the collector's clocks.
    private static func observe(
        _ measured: Measured, _ steps: ClockSteps, with tie: inout ZeroTie<Measured>
    ) {
        for step in steps.all {
            _ = tie.observe(
                measured,
                placed: constant(
                    step.placed.offsetNanoseconds, step.placed.boundNanoseconds, at: step.moment),
                measured: constant(
                    step.measured.offsetNanoseconds, step.measured.boundNanoseconds,
                    at: step.moment),
                at: step.moment)
        }
    }

    private static func constant(_ offset: Int64, _ bound: Int64, at moment: Int64) -> ClockModel {
        ClockModel(
            referenceAgentNanoseconds: moment, offsetNanoseconds: offset, skewPPB: 0,
            boundNanoseconds: bound, boundGrowthPPB: 0, validFromAgentNanoseconds: moment)
    }

    /// Zero on a collector's clock while the session was recorded, from the fragment with the smallest bound.
    private func asRecorded(_ zero: Int64, _ sources: [Source]) -> ZeroTie<Measured>.Zero {
        var best: (source: String, place: RecordedMapping)?
        for source in sources {
            for place in source.places where place.clock.collectorZeroNanoseconds == zero {
                if place.boundNanoseconds <= best?.place.boundNanoseconds ?? .max {
                    best = (source.name, place)
                }
            }
        }
        guard let (source, place) = best,
            let history = histories[zero]?[Measured(source: source, epoch: place.clock.epoch)]
        else { return .init(nanoseconds: zero, errorNanoseconds: ClockLimits.timestampNanoseconds) }
        var timeline = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        let estimate = timeline.estimate(at: place.stampNanoseconds)
        return .init(
            nanoseconds: estimate.offsetNanoseconds.clampedSubtracting(place.offsetNanoseconds),
            errorNanoseconds: estimate.boundNanoseconds.clampedAdding(
                Int64(clamping: place.boundNanoseconds)))
    }
}
