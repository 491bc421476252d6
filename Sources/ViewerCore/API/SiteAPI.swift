import Accounts
import HTTPTypes
import Hummingbird
import Library
import Media
import Synchronization
import Threads

/// The collectors of a site as JSON, as `tributary top --site` shows them. They need an operator of all sources.
struct SiteAPI {
    /// Nil: the viewer has no catalog.
    let overviews: OverviewCache?

    func show(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        // Hosts, directories, and sources by name.
        guard context.rights.mayOperateSite else {
            throw Problem(.forbidden, "the site's collectors are for operators of all sources")
        }
        let now = SystemClock.monotonic.nowNanoseconds
        return try .json(await overviews?.overview(now: now) ?? SiteOverview([], catalog: ""))
    }
}

/// The overview of a site. Its database is asked at most every ``lifetimeNanoseconds``, however many clients ask. Any thread may call.
final class OverviewCache: Sendable {
    /// As often as collectors report.
    static let lifetimeNanoseconds: Int64 = 5_000_000_000

    private let look: @Sendable () throws -> SiteOverview
    private let flight = SingleFlight<SiteOverview>()
    /// Separate from the reading threads: a database that hangs delays no recording.
    private let queue = BlockingWorkQueue("overview", maximumRunning: 1, maximumWaiting: 1)
    private let kept = Mutex<(overview: SiteOverview, nanoseconds: Int64)?>(nil)

    /// - Parameter look: asks the database; blocks for a bounded time.
    init(_ look: @escaping @Sendable () throws -> SiteOverview) { self.look = look }

    /// - Parameter now: monotonic, nanoseconds.
    /// - Throws: 503 if the database does not answer; the next call asks again.
    func overview(now: Int64) async throws -> SiteOverview {
        if let kept = kept.withLock({ $0 }), now - kept.nanoseconds < Self.lifetimeNanoseconds {
            return kept.overview
        }
        return try await flight.value { [self] in
            // Another flight may have ended since.
            if let kept = kept.withLock({ $0 }), now - kept.nanoseconds < Self.lifetimeNanoseconds {
                return kept.overview
            }
            let found = await queue.run { [look] in Result { try look() } }
            switch found {
            case .success(let overview):
                kept.withLock { $0 = (overview, now) }
                return overview
            case .failure, nil:
                // The follower of the site logs why.
                throw Problem(.serviceUnavailable, "the site's database does not answer")
            }
        }
    }
}
