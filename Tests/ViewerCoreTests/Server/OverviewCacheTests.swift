import Catalog
import HTTPTypes
import Library
import Synchronization
import Testing

@testable import ViewerCore

/// How often a site's database is asked for its collectors.
@Suite(.timeLimit(.minutes(1))) struct OverviewCacheTests {
    private static let second: Int64 = 1_000_000_000

    /// A database.
    private final class Database: Sendable {
        struct Away: Error {}

        private let state = Mutex((looks: 0, isAway: false))
        var looks: Int { state.withLock { $0.looks } }

        func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

        func overview() throws -> SiteOverview {
            try state.withLock { state in
                state.looks += 1
                if state.isAway { throw Away() }
                return SiteOverview([], catalog: "look \(state.looks)")
            }
        }
    }

    private let database = Database()

    @Test func `one query serves all requests within five seconds`() async throws {
        let cache = OverviewCache { [database] in try database.overview() }
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    let found = try? await cache.overview(now: 0)
                    #expect(found?.catalog == "look 1")
                }
            }
        }
        #expect(try await cache.overview(now: 4 * Self.second).catalog == "look 1")
        #expect(try await cache.overview(now: 5 * Self.second).catalog == "look 2")
        #expect(database.looks == 2)
    }

    @Test func `an unreachable database is asked again, and its error has no name`() async throws {
        let cache = OverviewCache { [database] in try database.overview() }
        database.setAway(true)
        await #expect {
            try await cache.overview(now: 0)
        } throws: {
            ($0 as? Problem)?.status == .serviceUnavailable
                && ($0 as? Problem)?.text == "the site's database does not answer"
        }
        database.setAway(false)
        #expect(try await cache.overview(now: 0).catalog == "look 2")
    }
}
