import Archive
package import Catalog
package import Operations

/// A site's collectors, as of their last reports: the document of `tributary top --site --json`
/// (`proto/json/schema.json`, "tributary top --site").
package struct SiteOverview: Hashable, Sendable, Encodable {
    /// A collector's state.
    package enum State: String, Hashable, Sendable, Encodable {
        case recording, idle, draining
        /// It records nothing, for the reason in ``Collector/trouble``.
        case troubled
        /// It was stopped.
        case stopped
        /// It has not reported for ``SiteCollector/silenceSeconds``.
        case silent
        /// Its reports cannot be read by this version.
        case unknown
    }

    package struct Collector: Hashable, Sendable, Encodable {
        package var name: String
        package var state: State
        /// Since its last report.
        package var heardSeconds: Double
        package var runningSeconds: Double
        package var session: String?
        package var trouble: String?
        package var sources: Int
        package var bitsPerSecond: Double
        package var freeBytes: UInt64?
        package var sizeBytes: UInt64?
        /// Records that no other collector has, nor, as far as is known, the object store.
        package var aloneRecords: UInt64
        /// The sources of these records.
        package var aloneSources: [String]
        /// Finished segments that are not in the object store; nil without a store.
        package var unstoredBytes: UInt64?
        /// Data that agents keep for it.
        package var owedBytes: UInt64
        package var version: String?
        package var release: String?
        package var listen: String?
        package var http: String?
        package var machine: String?
        package var archive: String?
        package var store: String?
        /// Its viewer, which serves its archive to readers on other machines.
        package var viewer: String?
        /// Its measurements of the other collectors' clocks; nil: its version does not measure them.
        package var clocks: [PeerClockView]?
    }

    /// The lease on work that exactly one collector of the site does.
    package struct Work: Hashable, Sendable, Encodable {
        package var name: String
        /// The holder of its lease; nil: the lease is free.
        package var holder: String?
        /// Until the lease ends without renewal.
        package var remainingSeconds: Double
        /// Raised with each change of the holder.
        package var token: Int64
    }

    /// The catalog's server and database.
    package var catalog: String
    package var collectors: [Collector]
    package var work: [Work]
    /// Lines about what needs attention.
    package var problems: [String]
    /// Number of the sources of collectors that are there: one that several collectors record counts once.
    package var sources = 0

    private enum CodingKeys: CodingKey {
        case catalog, collectors, work, problems
    }

    package init(_ rows: [SiteCollector], leases: [Lease.Entry] = [], catalog: String) {
        self.catalog = catalog
        work = leases.map {
            Work(
                name: $0.name, holder: $0.remainingSeconds > 0 ? $0.holder : nil,
                remainingSeconds: $0.remainingSeconds, token: $0.token)
        }
        let shares = SiteShares(rows)
        collectors = rows.map { row in
            Collector(row, alone: shares.alone(of: row))
        }
        problems = collectors.flatMap(\.problems)
        let present = collectors.filter { $0.state != .stopped && $0.state != .silent }
        for (name, others) in Dictionary(grouping: present, by: \.name).sorted(by: {
            $0.key < $1.key
        })
        where others.count > 1 {
            problems.append(
                "\(others.count) collectors are called \(name): give each its own --name")
        }
        problems += Self.unmeasured(present)
        let heard = zip(rows, collectors).filter { !$1.isAway }.map(\.0)
        sources = Self.sources(heard)
        problems += Self.simultaneous(heard)
    }

    /// Lines about sources that are connected to two collectors, which have no spool of them in common.
    private static func simultaneous(_ rows: [SiteCollector]) -> [String] {
        var lines: [String] = []
        for (place, one) in rows.enumerated() {
            for other in rows[(place + 1)...] {
                guard let first = one.report, let second = other.report,
                    first.omittedHoldings == 0, second.omittedHoldings == 0
                else { continue }
                let both = Set(first.connected ?? []).intersection(second.connected ?? [])
                for source in both.sorted() {
                    let (own, others) = (one.spools(of: source), other.spools(of: source))
                    guard !own.isEmpty, !others.isEmpty, own.isDisjoint(with: others) else {
                        continue
                    }
                    lines.append(
                        "\(source) is recorded by two boxes at once, at \(one.name) and \(other.name): "
                            + "give each box its own --source")
                }
            }
        }
        return lines
    }

    /// Sources without a reported name count for themselves.
    private static func sources(_ rows: [SiteCollector]) -> Int {
        let reports = rows.compactMap(\.report)
        let named = Set(reports.flatMap { $0.connected ?? [] })
        return named.count
            + reports.reduce(0) { $0 + max(0, $1.sources - ($1.connected?.count ?? 0)) }
    }

    /// A collector that has just begun has not measured the others yet.
    private static let measuringSeconds = 60.0

    /// Lines about pairs of collectors whose clocks neither has measured.
    private static func unmeasured(_ present: [Collector]) -> [String] {
        let measuring = present.filter {
            $0.clocks != nil && $0.runningSeconds >= measuringSeconds
        }
        var lines: [String] = []
        for (place, one) in measuring.enumerated() {
            for other in measuring[(place + 1)...] where one.bound(to: other) == nil {
                let why =
                    [one.clock(of: other), other.clock(of: one)].lazy.compactMap {
                        $0?.trouble
                    }.first ?? "no answer yet"
                lines.append(
                    "the clocks of \(one.name) and \(other.name) are not compared, so their sources are not called "
                        + "synchronous: \(why)")
            }
        }
        return lines
    }
}

extension SiteCollector {
    /// The spools from which the collector has records of a source.
    fileprivate func spools(of source: String) -> Set<String> {
        Set(holdings.lazy.filter { $0.source == source }.map(\.spool))
    }
}

extension SiteOverview.Collector {
    fileprivate init(_ row: SiteCollector, alone: (records: UInt64, sources: [String])) {
        name = row.name
        heardSeconds = row.heardSeconds
        runningSeconds = row.runningSeconds
        (aloneRecords, aloneSources) = alone
        let report = row.report
        session = report?.session
        trouble = report?.trouble
        sources = report?.sources ?? 0
        bitsPerSecond = report?.bitsPerSecond ?? 0
        freeBytes = report?.freeBytes
        sizeBytes = report?.sizeBytes
        unstoredBytes = report?.unstoredBytes
        owedBytes = report?.owedBytes ?? 0
        version = report?.version
        release = report?.release
        listen = report?.listen
        http = report?.http
        machine = report?.machine
        archive = report?.archive
        store = report?.store
        viewer = report?.viewer
        clocks = report?.clocks?.map { clock in
            PeerClockView(
                collector: clock.collector, boundNanoseconds: clock.boundNanoseconds,
                skewPPB: clock.skewPPB, roundTripNanoseconds: clock.roundTripNanoseconds,
                ageSeconds: clock.ageSeconds, trouble: clock.trouble)
        }
        state = Self.state(row)
    }

    private static func state(_ row: SiteCollector) -> SiteOverview.State {
        guard let report = row.report else {
            return row.heardSeconds > SiteCollector.silenceSeconds ? .silent : .unknown
        }
        if report.isStopped { return .stopped }
        if row.heardSeconds > SiteCollector.silenceSeconds { return .silent }
        if report.trouble != nil { return .troubled }
        if report.isDraining { return .draining }
        return report.session == nil ? .idle : .recording
    }

    fileprivate func clock(of other: SiteOverview.Collector) -> PeerClockView? {
        clocks?.first { $0.collector == other.name }
    }

    /// Maximum error of the difference of two collectors' clocks, by the better of both measurements; nil: there is none.
    package func bound(to other: SiteOverview.Collector) -> Double? {
        [clock(of: other)?.boundSeconds, other.clock(of: self)?.boundSeconds].lazy
            .compactMap { $0 }.min()
    }

    /// Whether its archive can be reached by agents and viewers only when it is back.
    package var isAway: Bool { state == .silent || state == .stopped }

    fileprivate var problems: [String] {
        var lines: [String] = []
        switch state {
        case .silent:
            lines.append("\(name) has not been heard for \(Self.span(heardSeconds))")
        case .troubled: lines.append("\(name) records nothing: \(trouble ?? "")")
        case .unknown:
            lines.append("\(name) is of another version: its reports cannot be read")
        case .recording, .idle, .draining, .stopped: break
        }
        if isAway, aloneRecords > 0 {
            let count = aloneSources.count == 1 ? aloneSources[0] : "\(aloneSources.count) sources"
            lines.append("\(name), which is away, alone has \(aloneRecords) records of \(count)")
        }
        return lines
    }

    /// `45 s`, `12 min`, `3 h`, `5 days`.
    package static func span(_ seconds: Double) -> String {
        let whole = Int64(min(max(seconds, 0), 9e15))
        if whole < 120 { return "\(whole) s" }
        if whole < 7_200 { return "\(whole / 60) min" }
        return whole < 172_800 ? "\(whole / 3_600) h" : "\(whole / 86_400) days"
    }
}

/// The records that several collectors have.
private struct SiteShares {
    private struct Key: Hashable {
        var source: String
        var spool: String
    }

    private var holders: [Key: [(archive: String, records: SequenceSet)]] = [:]

    init(_ rows: [SiteCollector]) {
        for row in rows {
            for holding in row.holdings {
                holders[Key(source: holding.source, spool: holding.spool), default: []].append(
                    (row.archive, holding.records))
            }
        }
    }

    func alone(of row: SiteCollector) -> (records: UInt64, sources: [String]) {
        var count: UInt64 = 0
        var sources: Set<String> = []
        for holding in row.holdings {
            var elsewhere = holding.storedRecords
            let key = Key(source: holding.source, spool: holding.spool)
            for other in holders[key] ?? [] where other.archive != row.archive {
                elsewhere.formUnion(other.records)
            }
            for range in holding.records.ranges {
                for missing in elsewhere.missing(in: range) {
                    let (sum, overflow) = count.addingReportingOverflow(
                        missing.upperBound - missing.lowerBound)
                    count = overflow || sum == .max ? .max : sum + 1
                    sources.insert(holding.source)
                }
            }
        }
        return (count, sources.sorted())
    }
}
