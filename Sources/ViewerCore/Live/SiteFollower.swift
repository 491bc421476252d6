import Archive
package import Catalog
import Dispatch
package import Library
import Logging
import Messaging
import Synchronization
import Threads

/// A site whose archives and feeds a viewer finds by its catalog.
package struct SiteSettings: Sendable {
    /// The collectors' reports. Blocks for a bounded time.
    package var collectors: @Sendable () throws -> [SiteCollector]
    /// The overview of the collectors and their holdings; nil: it is not queried. Blocks for a bounded time.
    package var overview: (@Sendable () throws -> SiteOverview)?
    /// The archives that can be read from here; nil: none.
    package var archive: @Sendable ([SiteCollector]) throws -> ArchiveReference?
    /// Changes sessions in the archives of these collectors (``SiteChanges``). The given function changes those in directories of this
    /// machine.
    package var changes:
        @Sendable (
            [SiteCollector], _ apply: @escaping SiteChanges.Application,
            _ complain: @escaping @Sendable (String) -> Void
        ) throws -> SiteChanges
    /// The collectors whose archives are read at the start; empty: they have not been looked up.
    package var known: [SiteCollector] = []
    /// The identity of the archive in a directory of this machine; nil: there is none.
    package var identity: @Sendable (String) -> String?
    /// Access to feeds of other machines.
    package var feeds: FeedAccess

    package init(
        feeds: FeedAccess,
        collectors: @escaping @Sendable () throws -> [SiteCollector],
        overview: (@Sendable () throws -> SiteOverview)? = nil,
        archive: @escaping @Sendable ([SiteCollector]) throws -> ArchiveReference?,
        changes:
            @escaping @Sendable (
                [SiteCollector], _ apply: @escaping SiteChanges.Application,
                _ complain: @escaping @Sendable (String) -> Void
            ) throws -> SiteChanges,
        identity: @escaping @Sendable (String) -> String? = { path in
            do throws(ArchiveError) {
                return try ArchiveIdentity.read(ArchiveLayout(root: path))?.text
            } catch {
                // A directory that may not be read is not here.
                return nil
            }
        }
    ) {
        self.feeds = feeds
        self.collectors = collectors
        self.overview = overview
        self.archive = archive
        self.changes = changes
        self.identity = identity
    }
}

/// Looks up the collectors of a site every ``intervalSeconds``, on a thread of its own, and passes on changes: archives to read,
/// and feeds to receive. While the database is unreachable, the last ones are kept.
final class SiteFollower: Sendable {
    /// As often as collectors report.
    private static let intervalSeconds = 5.0

    private struct State {
        var isStopping = false
    }

    private let settings: SiteSettings
    private let feeds: LiveFeeds
    private let logger: Logger
    /// Called on the thread when other archives can be read.
    private let archiveChanged: @Sendable (ArchiveReference) -> Void
    /// Called on the thread with the collectors, each time.
    private let known: @Sendable ([SiteCollector]) -> Void
    private let state = Mutex(State())
    private let wake = Semaphore(value: 0)
    private let thread = JoinableThread()

    init(
        _ settings: SiteSettings, feeds: LiveFeeds, logger: Logger,
        archiveChanged: @escaping @Sendable (ArchiveReference) -> Void,
        known: @escaping @Sendable ([SiteCollector]) -> Void
    ) {
        self.settings = settings
        self.feeds = feeds
        self.logger = logger
        self.archiveChanged = archiveChanged
        self.known = known
    }

    func start() {
        thread.start("site") { [self] in
            var places = places(of: settings.known)
            var complaint: String?
            var flaws: Set<String> = []
            while !state.withLock(\.isStopping) {
                do {
                    try look(&places, &flaws)
                    complaint = nil
                } catch {
                    // Logged once for each reason.
                    if complaint != "\(error)" {
                        logger.warning("the site's collectors are not known here: \(error)")
                    }
                    complaint = "\(error)"
                }
                _ = wake.wait(timeout: .now() + Self.intervalSeconds)
            }
        }
    }

    /// Does not wait for the database, which may hang: the process ends.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake.signal()
    }

    /// A collector's archive, as far as it determines what is read.
    private struct Location: Hashable {
        var archive: String
        var directory: String?
        var store: String?
        var storeEndpoint: String?
        var viewer: String?
        var isHere: Bool
    }

    private func places(of collectors: [SiteCollector]) -> Set<Location> {
        Set(
            collectors.map { collector in
                let report = collector.report
                return Location(
                    archive: collector.archive, directory: report?.archive, store: report?.store,
                    storeEndpoint: report?.storeEndpoint, viewer: report?.viewer,
                    isHere: report.map { settings.identity($0.archive) == collector.archive }
                        ?? false)
            })
    }

    /// - Parameter flaws: what has been logged about collectors that cannot be heard.
    private func look(_ places: inout Set<Location>, _ flaws: inout Set<String>) throws {
        let collectors = try settings.collectors()
        feeds.note(collectors)
        known(collectors)
        let heard = FeedEndpoint.places(
            of: collectors, identity: settings.identity, access: settings.feeds)
        for flaw in heard.flaws where !flaws.contains(flaw) { logger.warning("\(flaw)") }
        flaws = Set(heard.flaws)
        try feeds.follow(heard.places)
        let found = self.places(of: collectors)
        guard found != places else { return }
        if let archive = try settings.archive(collectors) { archiveChanged(archive) }
        places = found
    }
}
