import Testing

@testable import ViewerCore

/// Who hears of what.
@Suite(.timeLimit(.minutes(1))) struct EventLogTests {
    private static let door = Rights(role: .viewer, sources: .named(["door"]))
    private static let doorOperator = Rights(role: .operator, sources: .named(["door"]))

    private let log = EventLog(first: 0)

    private func feed(_ type: String, session: String = "s", source: String? = nil) {
        let source = source.map { #","source":"\#($0)""# } ?? ""
        log.take(feed: Array(#"{"type":"\#(type)","session":"\#(session)"\#(source)}"#.utf8))
    }

    /// The events so far as somebody may hear them.
    private func heard(
        by rights: Rights, as identity: Identity = .user("anna")
    ) async throws -> [EventLog.Event] {
        let listener = try #require(log.listen(after: 0))
        defer { log.stop(listener) }
        // Now there is something, so nobody waits.
        log.add(EventLog.beat, json: "")
        let events = await listener.next().filter { $0.name != EventLog.beat }
        return events.compactMap { $0.told(to: identity, rights) }
    }

    @Test func `events of a source reach those who may see it`() async throws {
        for type in ["source", "segment", "gap", "segmentFinished", "sourceEnded"] {
            feed(type, source: "stage")
            feed(type, source: "door")
        }
        let own = try await heard(by: Self.door)
        #expect(own.count == 5 && own.allSatisfy { $0.json.contains(#""source":"door""#) })
        let all = try await heard(by: .everything)
        #expect(all.count == 10)
    }

    @Test func `events of a session reach those who may see one of its sources`() async throws {
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

    @Test func `a session that is not known is not named`() async throws {
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
}
