import Testing

@testable import Accounts
@testable import ViewerCore

/// Distribution of events by rights.
@Suite(.timeLimit(.minutes(1))) struct EventLogTests {
    private static let door = Rights(role: .viewer, sources: .named(["door"]))
    private static let doorOperator = Rights(role: .operator, sources: .named(["door"]))

    private let log = EventLog(first: 0)

    private func feed(_ type: String, session: String = "s", source: String? = nil) {
        let source = source.map { #","source":"\#($0)""# } ?? ""
        log.take(feed: Array(#"{"type":"\#(type)","session":"\#(session)"\#(source)}"#.utf8))
    }

    /// The events so far, filtered for an account.
    private func heard(
        by rights: Rights, as identity: Identity = .user("anna")
    ) async throws -> [EventLog.Event] {
        let listener = try #require(log.listen(after: 0))
        defer { log.stop(listener) }
        // An event is pending, so this does not wait.
        log.add(EventLog.beat, json: "")
        let events = await listener.next().filter { $0.name != EventLog.beat }
        return events.compactMap { $0.told(to: identity, rights) }
    }

    @Test func `a new client gets the last status at once, unless it is old`() async throws {
        let second: Int64 = 1_000_000_000
        log.add(EventLog.status, json: "1", now: second)
        log.add(EventLog.status, json: "2", now: 2 * second)
        let listener = try #require(log.listen(after: nil, now: 3 * second))
        log.add(EventLog.beat, json: "", now: 3 * second)
        #expect(await listener.next().map(\.json) == ["2", ""])
        let late = try #require(log.listen(after: nil, now: 5 * second))
        log.add(EventLog.beat, json: "", now: 5 * second)
        #expect(await late.next().map(\.name) == [EventLog.beat])
    }

    @Test func `events of a preview go to accounts that may read its source`() async throws {
        feed("source", source: "door.preview")
        feed("gap", source: "stage.preview")
        let own = try await heard(by: Self.door)
        #expect(own.map(\.name) == ["source"])
    }

    @Test func `events of a source go to accounts that may read it`() async throws {
        for type in ["source", "segment", "gap", "segmentFinished", "sourceEnded"] {
            feed(type, source: "stage")
            feed(type, source: "door")
        }
        let own = try await heard(by: Self.door)
        #expect(own.count == 5 && own.allSatisfy { $0.json.contains(#""source":"door""#) })
        let all = try await heard(by: .everything)
        #expect(all.count == 10)
    }

    @Test func `events of a session go to accounts that may read one of its sources`() async throws
    {
        feed("session", session: "other")
        feed("source", session: "other", source: "stage")
        feed("source", session: "own", source: "stage")
        feed("source", session: "own", source: "door")
        feed("sessionChanged", session: "other")
        feed("sessionChanged", session: "own")
        feed("sessionEnded", session: "other")
        feed("sessionEnded", session: "own")
        let own = try await heard(by: Self.door)
        #expect(own.map(\.name) == ["source", "lost", "sessionChanged", "sessionEnded"])
        #expect(!own.contains { $0.json.contains("other") || $0.json.contains("stage") })
        let all = try await heard(by: .everything)
        #expect(all.count == 8 && !all.contains { $0.name == "lost" })
    }

    @Test func `a session without readable sources is not named`() async throws {
        for type in ["session", "sessionEnded", "sessionChanged", "sessionRemoved", "lost"] {
            feed(type, session: "secret")
        }
        let own = try await heard(by: Self.door)
        #expect(own.map(\.name) == ["lost", "lost", "lost"])
        #expect(!own.contains { $0.json.contains("secret") })
    }

    @Test func `events of a job reach its owner and operators of its sources`() async throws {
        log.add("job", for: .job(owner: .user("anna"), sources: ["door"]), json: "{}")
        log.add("job", for: .job(owner: .user("anna"), sources: ["door", "stage"]), json: "{}")
        let own = try await heard(by: Self.door)
        #expect(own.count == 1)
        let others = try await heard(by: Rights(role: .viewer, sources: .all), as: .user("ben"))
        #expect(others.isEmpty)
        let operators = try await heard(by: Self.doorOperator, as: .user("ben"))
        #expect(operators.count == 1)
        let all = try await heard(by: .everything, as: .user("ben"))
        #expect(all.count == 2)
    }

    @Test func `sources are remembered of a thousand sessions`() async throws {
        feed("source", session: "first", source: "door")
        for number in 0..<1_000 { feed("source", session: "\(number)", source: "door") }
        feed("sessionChanged", session: "first")
        feed("sessionChanged", session: "999")
        let last = try await heard(by: Self.door).suffix(2)
        #expect(last.map(\.name) == ["lost", "sessionChanged"])
    }

    /// The events that wait for a listener, without beats.
    private func waiting(_ listener: EventLog.Listener) async -> [EventLog.Event] {
        log.add(EventLog.beat, json: "")
        return await listener.next().filter { $0.name != EventLog.beat }
    }

    @Test func `a client that returns within the kept events gets all of them`() async throws {
        for _ in 0..<100 { feed("segment", source: "door") }
        let listener = try #require(log.listen(after: 40))
        let events = await waiting(listener)
        #expect(events.map(\.number) == Array(41...100))
    }

    @Test func `a client that returns too late is told that events are missing`() async throws {
        for _ in 0..<2_100 { feed("segment", source: "door") }
        let listener = try #require(log.listen(after: 40))
        let events = await waiting(listener)
        let first = try #require(events.first)
        #expect(first.name == "lost" && first.audience == .everybody)
        // A beat, too, used a place in the queue.
        #expect(events.count == EventLog.Listener.capacity)
        #expect(events.dropFirst().map(\.number) == Array(first.number + 1...2_100))
    }

    @Test func `a client of another run is told that events are missing`() async throws {
        let later = EventLog(first: 1_000)
        for last in [UInt64(40), .max] {
            let listener = try #require(later.listen(after: last))
            later.add(EventLog.beat, json: "")
            let events = await listener.next()
            #expect(events.first == .lost(1_000), "after \(last)")
        }
    }

    @Test func `a client that does not read gets the newest events, after a 'lost'`() async throws {
        let listener = try #require(log.listen(after: nil))
        for _ in 0..<600 { feed("segment", source: "door") }
        let events = await waiting(listener)
        #expect(events.first?.name == "lost" && events.last?.number == 600)
        // Once.
        feed("segment", source: "door")
        let next = await waiting(listener)
        #expect(next.map(\.number) == [601])
    }

    @Test func `an account has a hundred listeners, and others have theirs`() throws {
        let own = (0..<100).compactMap { _ in log.listen(after: nil, for: .user("anna")) }
        #expect(own.count == 100)
        #expect(log.listen(after: nil, for: .user("anna")) == nil)
        #expect(log.listen(after: nil, for: .user("ben")) != nil)
        let first = try #require(own.first)
        log.stop(first)
        #expect(log.hasRoom(for: .user("anna")))
    }
}
