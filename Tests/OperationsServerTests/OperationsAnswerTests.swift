import Logging
import Operations
import Testing

@testable import OperationsServer

@Suite struct OperationsAnswerTests {
    private let board = StatusBoard(version: "1.2.3")

    @Test func `each path has its answer`() {
        let starting = OperationsAnswer(to: "GET", "/readyz", board: board)
        #expect(starting.status == .unavailable)
        #expect(starting.body == "starting: not listening yet\n")
        board.publish(CollectorStatus())
        #expect(OperationsAnswer(to: "GET", "/readyz", board: board).status == .ok)
        #expect(OperationsAnswer(to: "GET", "/healthz", board: board).body == "ok\n")
        let metrics = OperationsAnswer(to: "GET", "/metrics", board: board)
        #expect(metrics.status == .ok)
        #expect(metrics.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(metrics.body.contains("tributary_build_info{version=\"1.2.3\"} 1\n"))
    }

    @Test func `other paths and methods are refused`() {
        #expect(OperationsAnswer(to: "GET", "/", board: board).status == .notFound)
        #expect(OperationsAnswer(to: "GET", "/metrics/", board: board).status == .notFound)
        #expect(OperationsAnswer(to: "POST", "/metrics", board: board).status == .methodNotAllowed)
        #expect(OperationsAnswer(to: "HEAD", "/healthz", board: board).status == .ok)
    }

    @Test func `an address in use is named`() throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = try HTTPStatusServer.start(
            host: "127.0.0.1", port: 0, board: board, logger: logger)
        defer { server.stop() }
        #expect(server.port > 0)
        let error = try #require(throws: OperationsServerError.self) {
            _ = try HTTPStatusServer.start(
                host: "127.0.0.1", port: server.port, board: board, logger: logger)
        }
        #expect(
            "\(error)"
                == "cannot serve HTTP at 127.0.0.1:\(server.port): Address already in use; use another "
                + "--http address")
    }
}
