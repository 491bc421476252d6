import Catalog
import Logging
import Media
import Messaging
import Operations
import Testing
import Trust

@testable import Accounts
@testable import ViewerCore

/// One status for the collectors of a site.
@Suite struct SiteStatusTests {
    private static let second: Int64 = 1_000_000_000

    private struct Source {
        var name: String
        var isConnected = true
        var elsewhere: String?
        var age = 1.0

        var json: String {
            let elsewhere = elsewhere.map { #""elsewhere":"\#($0)","# } ?? ""
            return
                #"{"name":"\#(name)","agent":"box","isConnected":\#(isConnected),"isRecorded":true,"#
                + #""isStopped":false,"picturesPerSecond":15,"bitsPerSecond":1000,\#(elsewhere)"#
                + #""persistedAgeSeconds":\#(age),"lostSamples":0,"gaps":[]}"#
        }
    }

    private func json(
        _ sources: [Source], session: String? = "evening", free: Double = 500, isReady: Bool = true
    ) -> [UInt8] {
        let session = session.map { #""session":"\#($0)","sessionSeconds":7,"# } ?? ""
        return Array(
            (#"{"version":"1","isReady":\#(isReady),\#(session)"refusedConnections":2,"#
                + #""progressAgeSeconds":0.1,"disk":{"freeBytes":\#(free),"sizeBytes":1000,"#
                + #""removesOldSegments":false,"filesWithoutRoom":0,"stuckFiles":0,"busySeconds":0},"#
                + #""sources":[\#(sources.map(\.json).joined(separator: ","))],"omittedSources":0}"#)
                .utf8)
    }

    private func reported(
        _ name: String, isDraining: Bool = false, isStopped: Bool = false, age: Double = 0,
        session: String? = nil, trouble: String? = nil
    ) -> SiteCollector {
        var report = SiteReport(
            name: name, version: "1", machine: "m", listen: "tcp://127.0.0.1:1", archive: "/a",
            release: "local")
        (report.isDraining, report.isStopped) = (isDraining, isStopped)
        (report.session, report.trouble) = (session, trouble)
        return SiteCollector(
            archive: name, name: name, heardSeconds: age, runningSeconds: 0, report: report)
    }

    private func places(_ view: SiteView?) -> [String] {
        (view?.sources ?? []).map { "\($0.name) \($0.collector ?? "?") \($0.state)" }
    }

    private func states(_ view: SiteView?) -> [String] {
        (view?.collectors ?? []).map { "\($0.name) \($0.state)" }
    }

    @Test func `each source is listed once, at the collector that has it`() throws {
        var status = SiteStatus()
        status.note([reported("east"), reported("west"), reported("north", age: 30)], now: 0)
        status.take(
            json([.init(name: "door"), .init(name: "hall", isConnected: false, elsewhere: "west")]),
            from: "east", now: 0)
        status.take(json([.init(name: "hall")], free: 100), from: "west", now: 0)
        let view = try #require(status.view(now: Self.second) { _ in nil })
        #expect(places(view) == ["door east live", "hall west live"])
        #expect(states(view) == ["east recording", "north silent", "west recording"])
        // The disk that is most in need.
        #expect(view.disk.freeBytes == 100)
        #expect(view.refusedConnections == 4 && view.session == "evening" && view.isReady)
        #expect(status.collector(of: "hall") == "west" && status.collector(of: "roof") == nil)
        #expect(status.collectors(recording: "evening") == ["east", "west"])
        // It can be read again, and narrowed.
        #expect(try SiteView(decoding: view.encoded()) == view)
        let own = try #require(
            NarrowedStatus.narrowed(
                String(decoding: try view.encoded(), as: UTF8.self),
                Rights(role: .viewer, sources: .named(["door"]))))
        #expect(own.contains("door") && own.contains("east") && !own.contains("hall"))
        let narrowed = try SiteView(decoding: Array(own.utf8))
        #expect(
            narrowed.collectors?.allSatisfy { $0.sources == 0 && $0.bitsPerSecond == 0 } == true)
    }

    @Test func `a collector with a silent feed has the state of its reports`() throws {
        var status = SiteStatus()
        let all = [
            reported("a", session: "evening"), reported("b"), reported("c", isDraining: true),
            reported("d", trouble: "no room"), reported("e", isStopped: true, age: 900),
            reported("f", age: 21, session: "evening"),
            reported("g", age: .infinity, session: "evening"), reported("heard", age: 21),
        ]
        func view(_ now: Int64) throws -> SiteView {
            status.take(json([]), from: "heard", now: now)
            return try #require(status.view(now: now) { _ in nil })
        }
        status.note(all, now: 0)
        let first = try view(Self.second)
        #expect(
            states(first) == [
                "a recording", "b idle", "c draining", "d troubled", "e stopped", "f silent",
                "g unknown", "heard recording",
            ])
        #expect(first.collectors?.compactMap(\.heardSeconds) == [1, 1, 1, 1, 901, 22, 0])
        #expect(first.collectors?.compactMap(\.trouble) == ["no room"])
        #expect(try SiteView(decoding: first.encoded()) == first)
        // The catalog does not answer any more: they may record, or not.
        #expect(
            states(try view(21 * Self.second)) == [
                "a unknown", "b unknown", "c unknown", "d unknown", "e stopped", "f silent",
                "g unknown", "heard recording",
            ])
    }

    @Test func `a silent collector's sources are away until another collector has them`() {
        var status = SiteStatus()
        status.note([reported("east"), reported("west")], now: 0)
        status.take(json([.init(name: "door")]), from: "east", now: 0)
        status.take(json([]), from: "west", now: 3 * Self.second)
        let later = 4 * Self.second
        var view = status.view(now: later) { _ in nil }
        #expect(places(view) == ["door east away"])
        #expect(states(view) == ["east silent", "west recording"])
        status.take(json([.init(name: "door")]), from: "west", now: later)
        view = status.view(now: later) { _ in nil }
        #expect(places(view) == ["door west live"])
        // Without any, there is no status.
        #expect(status.view(now: 60 * Self.second) { _ in nil } == nil)
    }

    @Test func `a source at two collectors is listed at the one whose pictures are shown`() {
        var status = SiteStatus()
        for name in ["east", "west"] {
            status.take(json([.init(name: "door")]), from: name, now: 0)
        }
        #expect(places(status.view(now: 0) { _ in "east" }) == ["door east live"])
        #expect(places(status.view(now: 0) { _ in "west" }) == ["door west live"])
    }

    @Test func `an absent source is listed at the collector that recorded it last`() {
        var status = SiteStatus()
        status.take(json([.init(name: "door", isConnected: false, age: 600)]), from: "east", now: 0)
        status.take(json([.init(name: "door", isConnected: false, age: 5)]), from: "west", now: 0)
        #expect(places(status.view(now: 0) { _ in nil }) == ["door west away"])
    }

    @Test func `drained, stopped, troubled and unreadable collectors are distinguished`() {
        var status = SiteStatus()
        status.note(
            [
                reported("east", isDraining: true), reported("north", isStopped: true),
                reported("south"), reported("west"),
            ], now: 0)
        status.take(json([]), from: "east", now: 0)
        status.take(json([], isReady: false), from: "south", now: 0)
        status.take(Array("{}".utf8), from: "west", now: 0)
        status.take(json([], session: nil), from: "zone", now: 0)
        let view = status.view(now: 0) { _ in nil }
        #expect(
            states(view) == [
                "east draining", "north stopped", "south troubled", "west unknown", "zone idle",
            ])
        #expect(view?.isReady == false)
        status.note([reported("east")], now: 0)
        #expect(states(status.view(now: 0) { _ in nil }) == ["east recording"])
    }

    @Test func `invalid names are left out, and sources above the limit`() {
        var status = SiteStatus()
        let many = (0..<3_000).map { Source(name: "s\($0)") }
        status.take(json([.init(name: "../door")] + many), from: "west", now: 0)
        #expect(
            status.view(now: 0) { _ in nil }?.sources.count == LiveHub.maximumSourcesOfFeed)
    }

    @Test func `a flood of events of one feed is cut off, and clients read the state again`()
        async throws
    {
        let log = EventLog(first: 0)
        let hub = LiveHub()
        let feeds = LiveFeeds(
            hub: hub, log: log, history: StatusHistory(), isSite: true,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let flood = Array(#"{"type":"session","session":"flood"}"#.utf8)
        for _ in 0..<5_000 { feeds.take(.event(flood), from: "west", now: 0) }
        let listener = try #require(log.listen(after: 0))
        let heard = await listener.next()
        #expect(heard.count <= 501 && heard.contains { $0.name == EventLog.lost })
        // Events of the others come through.
        feeds.take(.event(Array(#"{"type":"gap","session":"x"}"#.utf8)), from: "east", now: 0)
        let other = await listener.next()
        #expect(other.map(\.name) == ["gap"])
        // After a pause, its own do again.
        feeds.take(.event(flood), from: "west", now: 60 * Self.second)
        let later = await listener.next()
        #expect(later.map(\.name) == ["session"])
    }

    private static let machine = "server-a"

    private func feeds(
        _ collectors: [SiteCollector], isInsecure: Bool = false
    ) -> (places: [FeedEndpoint], flaws: [String]) {
        let access = FeedAccess(machine: Self.machine, isInsecure: isInsecure) {
            guard let key = Self.key else { throw TrustError.noOwnKey(directory: "/keys") }
            return key
        }
        return FeedEndpoint.places(
            of: collectors, identity: { $0 == "/a" ? "east" : nil }, access: access)
    }

    private static let key = try? SecretKey.generate()

    private func elsewhere(_ name: String, feed: String? = nil, key: String? = nil)
        -> SiteCollector
    {
        var other = reported(name)
        other.report?.archive = "/elsewhere"
        other.report?.machine = "server-b"
        other.report?.feed = feed
        other.report?.feedKey = key
        return other
    }

    @Test func `feeds on this machine are sockets in archives, one for each name`() {
        let found = feeds([reported("east"), reported("east"), elsewhere("west")])
        #expect(found.places.map(\.collector) == ["east"])
        #expect(found.places.map(\.endpoint) == ["ipc:///a/collector.feed"])
        #expect(found.flaws == [])
    }

    @Test func `feeds of other machines need keys`() throws {
        let key = try #require(Self.key)
        let publicKey = key.publicKey.text
        let found = feeds([
            elsewhere("west", feed: "tcp://0.0.0.0:5560", key: publicKey),
            elsewhere("east", feed: "tcp://0.0.0.0:5561", key: publicKey), reported("east"),
        ])
        // The one on this machine keeps its name.
        #expect(found.places.map(\.endpoint) == ["ipc:///a/collector.feed", "tcp://server-b:5560"])
        #expect(found.places.last?.security == .client(key, server: key.publicKey))
        #expect(found.places.last?.archive == nil)
        // At the host that is advertised.
        var advertised = elsewhere("west", feed: "tcp://*:5560", key: publicKey)
        advertised.report?.address = "tcp://10.0.0.7:5550"
        #expect(feeds([advertised]).places.map(\.endpoint) == ["tcp://10.0.0.7:5560"])
    }

    @Test func `a feed that cannot be used is reported, and hides no other`() {
        let found = feeds([
            elsewhere("plain", feed: "tcp://0.0.0.0:5560"),
            elsewhere("own", feed: "tcp://127.0.0.1:5560"),
            elsewhere("odd", feed: "ipc:///tmp/feed"),
            elsewhere("key", feed: "tcp://0.0.0.0:5560", key: "not a key"),
            reported("east"),
        ])
        #expect(found.places.map(\.collector) == ["east"])
        #expect(found.flaws.count == 4)
        #expect(found.flaws.first?.contains("--insecure") == true)
        #expect(
            feeds([elsewhere("plain", feed: "tcp://0.0.0.0:5560")], isInsecure: true).places
                .map(\.endpoint) == ["tcp://server-b:5560"])
        var stopped = elsewhere("west", feed: "tcp://0.0.0.0:5560")
        stopped.report?.isStopped = true
        #expect(feeds([stopped]).places == [] && feeds([stopped]).flaws == [])
    }
}
