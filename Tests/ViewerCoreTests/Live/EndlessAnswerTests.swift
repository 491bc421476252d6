import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing

@testable import Accounts
@testable import ViewerCore

/// Answers that continue until the client disconnects or loses its right.
@Suite(.timeLimit(.minutes(1))) struct EndlessAnswerTests {
    /// Receives an answer until it ends.
    private func take(_ body: ResponseBody, _ received: ReceivedBody) -> Task<Void, any Error> {
        Task { try await body.write(ReceivedBody.Writer(received: received)) }
    }

    /// Waits until more than `count` bytes have arrived.
    private func grows(_ received: ReceivedBody, past count: Int) async throws {
        while received.bytes.count <= count { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test func `live media end at the next heartbeat after the right was lost`() async throws {
        let hub = LiveHub()
        let logOut = LiveEvent()
        let received = ReceivedBody()
        let watcher = LiveWatcher(sources: ["camera"]) { _ in true }
        let answer = take(
            LiveAPI.body(watcher, of: hub) { !logOut.hasHappened }, received)
        try await hub.reaches(watchers: 1)
        var camera = LiveCamera()
        camera.send(2, to: hub)
        hub.tick(now: 0)
        try await grows(received, past: 0)
        let before = received.bytes.count
        camera.send(1, to: hub)
        hub.tick(now: 0)
        try await grows(received, past: before)
        logOut.happens()
        hub.tick(now: 0)
        try await answer.value
        #expect(hub.watcherCount == 0 && hub.topics.isEmpty)
    }

    @Test func `frames that are queued during a write are written at once`() async throws {
        let hub = LiveHub()
        let (logOut, release) = (LiveEvent(), LiveEvent())
        let received = ReceivedBody()
        let watcher = LiveWatcher(sources: ["camera"]) { _ in true }
        let body = LiveAPI.body(watcher, of: hub) { !logOut.hasHappened }
        let answer = Task { try await body.write(HeldWriter(received: received, until: release)) }
        try await hub.reaches(watchers: 1)
        var camera = LiveCamera()
        camera.send(2, to: hub)
        hub.tick(now: 0)
        try await grows(received, past: 0)
        let first = received.bytes.count
        camera.send(20, to: hub)
        hub.tick(now: 0)
        release.happens()
        try await grows(received, past: first)
        #expect(received.largestPiece == received.bytes.count - first)
        logOut.happens()
        hub.tick(now: 0)
        try await answer.value
    }

    @Test func `only requested types of events are sent, and 'lost'`() async throws {
        let log = EventLog(first: 1)
        let logOut = LiveEvent()
        let received = ReceivedBody()
        let answer = take(
            EventsAPI.body(log, after: 0, of: ["gap", "lost"], for: .anonymous, .everything) {
                !logOut.hasHappened
            }, received)
        while !log.hasListeners { try await Task.sleep(for: .milliseconds(1)) }
        log.add("session", json: "{}")
        log.add("gap", json: "{}")
        while !String(decoding: received.bytes, as: UTF8.self).contains("event: gap") {
            try await Task.sleep(for: .milliseconds(1))
        }
        let text = String(decoding: received.bytes, as: UTF8.self)
        #expect(text.contains("event: lost") && !text.contains("event: session"))
        logOut.happens()
        log.add(EventLog.beat, json: "")
        try await answer.value
    }

    @Test func `events end at the next heartbeat after the right was lost`() async throws {
        let log = EventLog(first: 1)
        let logOut = LiveEvent()
        let received = ReceivedBody()
        let answer = take(
            EventsAPI.body(log, after: nil, for: .anonymous, .everything) { !logOut.hasHappened },
            received)
        while !log.hasListeners { try await Task.sleep(for: .milliseconds(1)) }
        log.add("session", json: "{}")
        log.add(EventLog.beat, json: "")
        while !String(decoding: received.bytes, as: UTF8.self).contains("event: session") {
            try await Task.sleep(for: .milliseconds(1))
        }
        logOut.happens()
        log.add(EventLog.beat, json: "")
        try await answer.value
        #expect(!log.hasListeners)
    }
}

/// A client that does not read until an event.
private struct HeldWriter: ResponseBodyWriter {
    let received: ReceivedBody
    let release: LiveEvent

    init(received: ReceivedBody, until release: LiveEvent) {
        self.received = received
        self.release = release
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        received.add(Array(buffer.readableBytesView))
        while !release.hasHappened { try await Task.sleep(for: .milliseconds(1)) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
