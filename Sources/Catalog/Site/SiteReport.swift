/// A collector's report about itself, in a catalog that several collectors share: its row's JSON.
///
/// Collectors of different versions read each other's: a member that is added later is optional.
package struct SiteReport: Hashable, Sendable, Codable {
    package var name: String
    package var version: String
    /// The host's name.
    package var machine: String
    /// Endpoint for agents, as it was given.
    package var listen: String
    /// Address of its HTTP server, as it was given; nil: none.
    package var http: String?
    /// The archive's directory on that host.
    package var archive: String
    /// Address of the archive's object store; nil: none.
    package var store: String?
    /// The store's endpoint, as it was given; nil: Amazon's.
    package var storeEndpoint: String?
    /// Policy by which agents delete records: `local`, `mirrored`, `stored`.
    package var release: String
    /// The session being recorded; nil: none.
    package var session: String?
    /// The site's session that this collector records, or to which its own session is attached; nil: none.
    package var recording: SiteSessionRows.Recorded?
    /// Why nothing is recorded, in a few words; nil: none.
    package var trouble: String?
    package var isDraining: Bool
    /// Whether it was stopped: the last report of a run.
    package var isStopped: Bool
    /// Number of connected sources.
    package var sources: Int
    /// Their names; nil: of a version that does not tell.
    package var connected: [String]?
    package var bitsPerSecond: Double
    /// Nil while unknown.
    package var freeBytes: UInt64?
    package var sizeBytes: UInt64?
    /// Data that the agents of its connected sources keep because the release policy does not let them delete it.
    package var owedBytes: UInt64
    /// Finished segments that are not in the object store; nil without a store.
    package var unstoredBytes: UInt64?
    /// Number of spools without a ``SiteHolding``, because there are too many.
    package var omittedHoldings: Int
    /// Where other collectors reach it, when that is not ``listen``.
    package var address: String?
    /// The identity of its clock, 32 hexadecimal digits; nil: it is of a version whose clock is not measured.
    package var clock: String?
    /// Its public key as text; nil: it uses no keys.
    package var key: String?
    /// Endpoint of its feed for viewers on other machines, with the actual port; nil: none, or it is of a version that does
    /// not say.
    package var feed: String?
    /// That feed's public key as text; nil: it uses no keys.
    package var feedKey: String?
    /// Address of its viewer, which serves its archive to readers on other machines; nil: none.
    package var viewer: String?
    /// The other collectors' clocks as it has measured them; nil: it is of a version that does not.
    package var clocks: [SiteClock]?

    package init(
        name: String, version: String, machine: String, listen: String, http: String? = nil,
        archive: String, store: String? = nil, release: String
    ) {
        self.name = name
        self.version = version
        self.machine = machine
        self.listen = listen
        self.http = http
        self.archive = archive
        self.store = store
        self.release = release
        isDraining = false
        isStopped = false
        sources = 0
        bitsPerSecond = 0
        owedBytes = 0
        omittedHoldings = 0
    }
}

extension SiteReport {
    /// The same without what changes while the collector runs.
    package var lasting: SiteReport {
        var report = SiteReport(
            name: name, version: version, machine: machine, listen: listen, http: http,
            archive: archive, store: store, release: release)
        report.storeEndpoint = storeEndpoint
        report.address = address
        report.clock = clock
        report.key = key
        report.feed = feed
        report.feedKey = feedKey
        report.viewer = viewer
        return report
    }

    /// Endpoints on all addresses of a machine.
    private static let everywhere = ["tcp://0.0.0.0:", "tcp://*:", "tcp://[::]:"]

    /// The endpoint for agents and other collectors, as it is reached.
    /// - Parameter isHere: whether that is on the reader's machine.
    package func reachableListen(isHere: Bool) -> String {
        address ?? Self.reached(listen, at: isHere ? "127.0.0.1" : machine)
    }

    /// The endpoint of its feed, as it is reached: at the host of ``address``, if there is one. Nil without such a feed.
    package func reachableFeed(isHere: Bool) -> String? {
        let host = address.flatMap(Self.host) ?? (isHere ? "127.0.0.1" : machine)
        return feed.map { Self.reached($0, at: host) }
    }

    /// An endpoint on all addresses is reached by a host's name.
    private static func reached(_ endpoint: String, at host: String) -> String {
        guard let any = everywhere.first(where: endpoint.hasPrefix) else { return endpoint }
        return "tcp://\(host):\(endpoint.dropFirst(any.count))"
    }

    private static func host(_ endpoint: String) -> String? {
        let scheme = "tcp://"
        guard endpoint.hasPrefix(scheme), let colon = endpoint.lastIndex(of: ":") else {
            return nil
        }
        let host = endpoint[..<colon].dropFirst(scheme.count)
        return host.isEmpty ? nil : String(host)
    }
}
