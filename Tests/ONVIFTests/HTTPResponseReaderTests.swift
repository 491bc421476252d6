import RTSP
import Testing

@testable import ONVIF

@Suite struct HTTPResponseReaderTests {
    /// Reads an answer in pieces of a size.
    private func read(_ text: String, pieces: Int = 1 << 20) throws -> HTTPResponse? {
        var reader = HTTPResponseReader()
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            if let response = try reader.add(Array(rest.prefix(pieces))) { return response }
            rest = rest.dropFirst(pieces)
        }
        return try reader.close()
    }

    private static let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\n<a>x\r\n10\r\n0123456789abcde\n\r\n4\r\n</a>\r\n0\r\nX: y\r\n\r\n"

    @Test(arguments: 1...20)
    func `a body is read from bytes in any pieces`(pieces: Int) throws {
        let content = "<a>x0123456789abcde\n</a>"
        let heads = [
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n",
            "HTTP/1.0 200\r\nServer: x\r\n\r\n", "HTTP/1.1 200 OK\nContent-length:24\n\n",
        ]
        for text in heads.map({ $0 + content }) + [Self.chunked] {
            let response = try #require(try read(text, pieces: pieces))
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self) == content)
        }
    }

    @Test func `a refusal has its headers`() throws {
        let response = try #require(
            try read(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest a=b\r\nwww-authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
            ))
        #expect(response.head.values("www-authenticate") == ["Digest a=b", "Basic"])
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\n", "RTSP/1.0 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxyz\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
    ])
    func `an answer that is cut or malformed is refused`(_ text: String) {
        #expect(throws: ONVIFError.self) { try read(text) }
    }

    @Test func `endless answers are refused`() {
        let head = "HTTP/1.1 200 OK\r\n"
        let many = String(repeating: "X: y\r\n", count: 20_000)
        let long = String(repeating: "x", count: HTTPResponseReader.maximumBodyBytes + 1)
        for text in [
            head + many, String(repeating: "HTTP/1.1 100 x\r\n\r\n", count: 10_000),
            "\(head)\r\n\(long)", "\(head)Content-Length: \(long.utf8.count)\r\n\r\n",
            "\(head)Transfer-Encoding: chunked\r\n\r\n100001\r\n\(long)\r\n",
            "\(head)Transfer-Encoding: chunked\r\n\r\n\(String(repeating: "0", count: 5_000))",
            "\(head)Transfer-Encoding: chunked\r\n\r\n0\r\n\(many)",
        ] {
            #expect(throws: ONVIFError.self) { try read(text, pieces: 65_536) }
        }
    }
}
