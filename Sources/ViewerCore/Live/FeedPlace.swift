import Archive
import Catalog
import Library
import Messaging

/// A collector's feed, and how it is reached.
struct FeedPlace: Hashable, Sendable {
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
    static func places(of archives: [ArchiveReference]) -> [FeedPlace] {
        var places: [FeedPlace] = []
        for layout in archives.compactMap(\.layout) {
            let name = String(layout.root.split(separator: "/").last ?? "")
            let isNew = !places.contains { $0.collector == name }
            places.append(
                FeedPlace(
                    collector: isNew ? name : layout.root, endpoint: endpoint(in: layout),
                    archive: layout.root))
        }
        return places
    }

    /// The feeds of a site's collectors whose archives are on this machine.
    /// - Parameter identity: of the archive in a directory of this machine; nil: there is none.
    static func places(
        of collectors: [SiteCollector], identity: (String) -> String?
    ) -> [FeedPlace] {
        var places: [FeedPlace] = []
        var names: Set<String> = []
        for collector in collectors {
            // A name that two collectors use belongs to the first one.
            guard let report = collector.report, !collector.name.isEmpty,
                identity(report.archive) == collector.archive,
                names.insert(collector.name).inserted
            else { continue }
            places.append(
                FeedPlace(
                    collector: collector.name,
                    endpoint: endpoint(in: ArchiveLayout(root: report.archive)),
                    archive: report.archive))
        }
        return Array(places.prefix(maximumFeeds))
    }

    /// A site has a few collectors; each feed has a thread.
    static let maximumFeeds = 32
}
