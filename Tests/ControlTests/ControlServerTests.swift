import Control
import Dispatch
import Foundation
import Messaging
import Synchronization
import Terminal
import Testing
import Wire

@Suite struct ControlServerTests {
    /// Every request is answered, if only with the refusal that the queue is full.
    @Test func `a question beyond the limit is refused at once`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "c-\(UUID().uuidString.prefix(8))").path
        // No thread answers the requests.
        let server = try ControlServer(notify: { _ in })
        try server.start(at: path)
        defer { server.stop() }
        let socket = try Socket(.dealer, in: Context(), options: SocketOptions())
        try socket.connect("ipc://\(path)")
        let last: UInt64 = 65
        for id in 1...last {
            let request = ControlRequest(id: id, request: .stopSession(nil))
            while try socket.send(.bytes(request.encoded())) != .sent { usleep(1_000) }
        }
        var poller = Poller()
        _ = poller.add(socket)
        var replies: [ControlReply] = []
        // A minute of polls, so that a missing answer fails instead of hanging.
        for _ in 0..<600 where replies.isEmpty {
            _ = try poller.wait(milliseconds: 100)
            while let message = try socket.receive(maximumParts: 1) {
                replies.append(try ControlReply(decoding: message.parts[0].bytes))
            }
        }
        #expect(replies.map(\.id) == [last])
        guard case .failure(_, let text) = replies.first?.reply else {
            Issue.record("not told that there is no room")
            return
        }
        #expect(text.contains("64") && text.contains("again"))
        #expect(server.takeQuestions().count == 64)
    }

    @Test func `a missing reply is explained by the program's status`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "c-\(UUID().uuidString.prefix(8))").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let server = StatusOnlyServer(path: path)
        defer { server.end() }
        let client = try ControlClient(
            path: path, name: "the collector", patienceMilliseconds: 3_000,
            explain: { $0 == StatusOnlyServer.status ? "the disk is full; delete files" : nil },
            isThere: { true })
        let failure = #expect(throws: Failure.self) { try client.reply(to: .stopSession(nil)) }
        #expect(
            failure?.description
                == "the collector has not answered within 3 s: the disk is full; delete files")
    }
}

/// Replies to requests for the status only.
private final class StatusOnlyServer: Sendable {
    static let status: [UInt8] = [1, 2, 3]

    private let isEnding = Atomic(false)
    private let isListening = DispatchSemaphore(value: 0)

    init(path: String) {
        let thread = Thread { [self] in
            do { try serve(path) } catch { Issue.record(error) }
        }
        thread.start()
        isListening.wait()
    }

    func end() { isEnding.store(true, ordering: .relaxed) }

    private func serve(_ path: String) throws {
        defer { isListening.signal() }
        let router = try Socket(.router, in: Context())
        try router.bind("ipc://\(path)")
        isListening.signal()
        var poller = Poller()
        _ = poller.add(router)
        while !isEnding.load(ordering: .relaxed) {
            _ = try poller.wait(milliseconds: 50)
            while let message = try router.receive(maximumParts: 2) {
                let request = try ControlRequest(decoding: message.parts[1].bytes)
                guard case .status = request.request else { continue }
                let reply = ControlReply(id: request.id, reply: .status(Self.status))
                _ = try router.send(.bytes(message.parts[0].bytes), .bytes(reply.encoded()))
            }
        }
    }
}
