import Control
import Foundation
import Messaging
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
}
