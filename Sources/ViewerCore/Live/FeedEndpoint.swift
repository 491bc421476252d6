import Archive
import Catalog
import Library
package import Messaging
import Terminal
import Trust

/// A collector's feed, and how it is reached.
struct FeedEndpoint: Hashable, Sendable {
    /// The collector's name; empty: the viewer hears only one.
    var collector: String
    /// `ipc://…` or `tcp://…`; nil without a feed.
    var endpoint: String?
    /// Keys of the connection.
    var security = SocketSecurity.plain
    /// The archive's directory, with the collector's control sockets; nil: it is not on this machine.
    var archive: String?

    /// The feed in an archive's directory. A link there may lead to another program's socket.
    static func endpoint(in layout: ArchiveLayout) -> String? {
        NamedPath.isLink(layout.feed) ? nil : "ipc://\(layout.feed)"
    }

    /// The feeds of several archives, called as their directories are.
    static func places(of archives: [ArchiveReference]) -> [FeedEndpoint] {
        var places: [FeedEndpoint] = []
        for layout in archives.compactMap(\.layout) {
            let name = String(layout.root.split(separator: "/").last ?? "")
            let isNew = !places.contains { $0.collector == name }
            places.append(
                FeedEndpoint(
                    collector: isNew ? name : layout.root, endpoint: endpoint(in: layout),
                    archive: layout.root))
        }
        return places
    }

    /// The feeds of a site's collectors.
    /// - Parameters:
    ///   - identity: of the archive in a directory of this machine; nil: there is none.
    ///   - access: how feeds of other machines are heard.
    /// - Returns: the feeds, and a line for each collector that cannot be heard.
    static func places(
        of collectors: [SiteCollector], identity: (String) -> String?, access: FeedAccess
    ) -> (places: [FeedEndpoint], flaws: [String]) {
        var places: [FeedEndpoint] = []
        var flaws: [String] = []
        var names: Set<String> = []
        var others: [(name: String, report: SiteReport)] = []
        // A name that two collectors use belongs to the first one, and one on this machine comes first: a report of another machine
        // must not silence it.
        for collector in collectors where places.count < maximumFeeds {
            guard let report = collector.report, !collector.name.isEmpty else { continue }
            guard identity(report.archive) == collector.archive else {
                others.append((collector.name, report))
                continue
            }
            guard names.insert(collector.name).inserted else { continue }
            places.append(
                FeedEndpoint(
                    collector: collector.name,
                    endpoint: endpoint(in: ArchiveLayout(root: report.archive)),
                    archive: report.archive))
        }
        for (name, report) in others where places.count < maximumFeeds && !names.contains(name) {
            do throws(Failure) {
                guard let place = try remote(report, named: name, access) else { continue }
                names.insert(name)
                places.append(place)
            } catch {
                flaws.append("\(oneLine(name)) is not heard: \(error)")
            }
        }
        return (places, flaws)
    }

    /// The feed of a collector on another machine; nil: it has none, or is stopped.
    private static func remote(
        _ report: SiteReport, named name: String, _ access: FeedAccess
    ) throws(Failure) -> FeedEndpoint? {
        let isHere = report.machine == access.machine
        guard !report.isStopped, let endpoint = report.reachableFeed(isHere: isHere) else {
            return nil
        }
        guard Endpoint.flaw(endpoint) == nil, endpoint.hasPrefix("tcp://"),
            isHere || !Endpoint.isLocal(endpoint)
        else {
            throw Failure(
                "its feed is at \(oneLine(endpoint)), which other machines cannot reach: start it with --feed tcp://0.0.0.0:PORT"
            )
        }
        var place = FeedEndpoint(collector: name, endpoint: endpoint)
        if let text = report.feedKey {
            do {
                place.security = .client(try access.key(), server: try PublicKey(text: text))
            } catch {
                throw Failure("\(error)")
            }
        } else if !access.isInsecure, !Endpoint.isLocal(endpoint) {
            throw Failure(
                "its feed uses no keys: make keys for it, or start the viewer with --insecure")
        }
        return place
    }

    /// A site has a few collectors; each feed has a thread.
    static let maximumFeeds = 32
}

/// How a viewer hears the feeds of collectors on other machines.
package struct FeedAccess: Sendable {
    /// This machine's name, as collectors report it.
    package var machine: String
    /// Whether feeds without keys are heard.
    package var isInsecure: Bool
    /// This machine's key, with which it watches.
    package var key: @Sendable () throws -> SecretKey

    package init(
        machine: String, isInsecure: Bool,
        key: @escaping @Sendable () throws -> SecretKey
    ) {
        self.machine = machine
        self.isInsecure = isInsecure
        self.key = key
    }
}
