import Logging
import Testing

@testable import ViewerCore

/// The feeds of collectors.
@Suite struct LiveFeedsTests {
    @Test(arguments: [true, false])
    func `a feed that is connected again may have lost events`(isSite: Bool) async throws {
        let log = EventLog(first: 1)
        let feeds = LiveFeeds(
            hub: LiveHub(), log: log, history: StatusHistory(), isSite: isSite,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let listener = try #require(log.listen(after: nil))
        feeds.take(.reconnected, from: "east", now: 0)
        #expect(await listener.next().map(\.name) == [EventLog.lost])
    }
}
