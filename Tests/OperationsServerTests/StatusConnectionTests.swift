import Operations
import Testing

@testable import OperationsServer

@Suite struct StatusConnectionTests {
    private let board = StatusBoard(version: "1.2.3")

    private func answers(to text: String, pieces: Int = 1) -> (texts: [String], isClosing: Bool) {
        var connection = StatusConnection()
        var texts: [String] = []
        let bytes = Array(text.utf8)
        let size = max(1, bytes.count / pieces)
        for start in stride(from: 0, to: bytes.count, by: size) {
            connection.receive(bytes[start..<min(start + size, bytes.count)])
            while connection.answerNext(from: board) {
                texts.append(String(decoding: connection.pending, as: UTF8.self))
                connection.sent(connection.pending.count)
            }
        }
        return (texts, connection.isFinished)
    }

    @Test(arguments: [1, 7, 1_000])
    func `requests in one piece, in several and byte by byte have the same answers`(pieces: Int) {
        let (texts, isClosing) = answers(
            to:
                "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\r\nHEAD /healthz?x=1 HTTP/1.1\r\nhost:a\r\n\r\n"
                + "GET http://server/none HTTP/1.1\r\nHost: server\r\nConnection: Close\r\n\r\n"
                + "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
            pieces: pieces)
        // The last request follows the connection's end.
        #expect(texts.count == 3)
        #expect(texts[0].hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(texts[0].contains("\r\n\r\n") && !texts[0].hasSuffix("\r\n\r\n"))
        #expect(texts[1].hasSuffix("\r\n\r\n"))
        #expect(texts[2].hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(texts[2].contains("Connection: close\r\n"))
        #expect(isClosing)
    }

    @Test func `a method that is not supported is answered with those that are`() {
        let (texts, isClosing) = answers(
            to: "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        #expect(texts.first?.hasPrefix("HTTP/1.1 405 Method Not Allowed\r\n") == true)
        #expect(texts.first?.contains("Allow: GET, HEAD\r\n") == true)
        // A body follows, not a request.
        #expect(texts.count == 1 && isClosing)
    }

    @Test func `HTTP 1 0 needs no Host field, and is closed unless it asks otherwise`() {
        #expect(answers(to: "GET /healthz HTTP/1.0\r\n\r\n").isClosing)
        let kept = answers(to: "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(kept.texts.count == 1 && !kept.isClosing)
    }

    @Test(arguments: [
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.0\r\nHost: a\r\nhOST: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: user@a\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\n\n",
    ])
    func `an invalid request is refused once, and the connection ends`(text: String) {
        let (texts, isClosing) = answers(to: text + text)
        #expect(texts.count == 1)
        #expect(texts.first?.hasPrefix("HTTP/1.1 400 Bad Request\r\n") == true)
        #expect(isClosing)
    }

    @Test func `a header past its limits is refused before it ends`() {
        for text in [
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 8 << 10),
            "GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 65),
            String(repeating: "\r\n", count: 4 << 10),
        ] {
            let (texts, isClosing) = answers(to: text, pieces: 10)
            #expect(texts.first?.hasPrefix("HTTP/1.1 431 ") == true)
            #expect(isClosing)
        }
    }

    @Test func `the next request is read after the answer to the one before`() {
        var connection = StatusConnection()
        connection.receive(
            Array(
                "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n".utf8
            ))
        let first = connection.answerNext(from: board)
        #expect(first && !connection.isReading)
        connection.sent(connection.pending.count - 1)
        let early = connection.answerNext(from: board)
        #expect(!early)
        connection.sent(1)
        let second = connection.answerNext(from: board)
        #expect(second)
    }
}
