import Testing

@testable import Wire

/// A killed and restarted collector's messages to an agent.
struct `A restarted collector` {
    private func collector(persisted: UInt64, goodbye: UInt64? = nil) -> CollectorHarness {
        CollectorHarness(archived: ArchivedRecords(persisted: persisted, goodbye: goodbye))
    }

    @Test func `accepts a message that is partly on disk if it is divided as before`() {
        var collector = collector(persisted: 2)
        collector.send(.hello(Fixtures.hello()))
        #expect(collector.takeState()?.persisted == 2)
        _ = collector.takeEvents()
        let samples = Fixtures.samples(first: 1)
        collector.send(.samples(samples))
        #expect(collector.takeRefusal() == nil)
        #expect(collector.takeEvents() == [.samples(source: "camera1", samples)])
        // Only there: later, a differently divided message is an error.
        collector.send(.samples(Fixtures.samples(first: 3)))
        #expect(collector.takeRefusal()?.reason == .sequence)
    }

    @Test func `acknowledges records on disk after a hole when the hole is filled`() {
        var collector = collector(persisted: 3)
        collector.send(.hello(Fixtures.hello()))
        collector.send(.samples(Fixtures.samples(first: 4)))
        // The archive has 7 to 9 from before.
        collector.persist("camera1", through: 9)
        collector.tick(milliseconds: 100)
        #expect(collector.takeState()?.persisted == 6)
        collector.send(.samples(Fixtures.samples(first: 7)))
        collector.tick(milliseconds: 1_000)
        #expect(collector.takeState()?.persisted == 9)
    }

    @Test func `states everything as persisted to an agent whose goodbye is on disk`() {
        var collector = collector(persisted: 9, goodbye: 9)
        collector.send(.hello(Fixtures.hello(firstSequence: 4)))
        #expect(collector.takeState()?.persisted == 9)
        #expect(collector.takeEvents().isEmpty)
    }

    @Test func `opens a source that continues after its goodbye`() {
        var collector = collector(persisted: 9, goodbye: 9)
        collector.send(.hello(Fixtures.hello(firstSequence: 10)))
        guard case .opened(let source)? = collector.takeEvents().first else {
            Issue.record("not opened")
            return
        }
        #expect(source.received == 9)
    }
}

struct `A control message` {
    @Test func `is read as it was written`() throws {
        var change = SessionChange(of: "2026-11-20T22-40-00.000Z")
        change.name = "Rehearsal"
        change.note = ""
        change.addedTags = ["a"]
        change.removedTags = ["b", "c"]
        change.isProtected = false
        change.addedMarks = [
            SessionChange.Mark(id: "a", atNanoseconds: -1, text: "x", source: nil),
            SessionChange.Mark(id: "b", atNanoseconds: .max, text: "", source: "stage"),
        ]
        change.removedMarks = ["c"]
        var removal = SessionChange(of: change.session)
        removal.isRemoval = true
        let requests: [ControlRequest.Request] = [
            .changeSession(change), .changeSession(removal),
            .stopSession(nil), .stopSession("2026-11-20T22-40-00.000Z"), .status, .unknown,
        ]
        for request in requests {
            let question = ControlRequest(id: 7, request: request)
            #expect(try ControlRequest(decoding: question.encoded()) == question)
        }
        let stopped = StoppedSession(
            name: "a", durationNanoseconds: 5,
            sources: [
                .init(name: "b", pictures: 1, soundPackets: 2, payloadBytes: 3, lostSamples: 4)
            ])
        let replies: [ControlReply.Reply] =
            [.sessionStopped(stopped), .status(Array("{}".utf8)), .unknown]
            + ControlFailure.allCases.map { .failure($0, "why") }
        for reply in replies {
            let answer = ControlReply(id: .max, reply: reply)
            #expect(try ControlReply(decoding: answer.encoded()) == answer)
        }
    }

    @Test func `that is invalid is refused with the reason`() {
        #expect(throws: ControlError.self) { try ControlRequest(decoding: [0xFF, 1, 2]) }
        // A message of the agents' protocol.
        let error = #expect(throws: ControlError.self) {
            try ControlRequest(decoding: WireMessage.hello(Fixtures.hello()).encoded())
        }
        #expect(error?.failure == .malformed)
        let path = ControlRequest(id: 3, request: .stopSession("../../etc")).encoded()
        let named = #expect(throws: ControlError.self) { try ControlRequest(decoding: path) }
        #expect(named?.id == 3 && named?.failure == .malformed)
    }
}
