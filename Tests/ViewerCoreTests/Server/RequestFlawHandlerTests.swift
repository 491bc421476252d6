import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import ViewerCore

/// Requests of HTTP/1.1 that cannot be parsed, and those that wait for a response before their body.
@Suite struct RequestFlawHandlerTests {
    private func head(_ fields: (String, String)...) -> HTTPServerRequestPart {
        .head(
            HTTPRequestHead(
                version: .http1_1, method: .POST, uri: "/", headers: HTTPHeaders(fields)))
    }

    private func answer(_ status: HTTPResponseStatus, length: Int = 0) -> HTTPServerResponsePart {
        .head(
            HTTPResponseHead(
                version: .http1_1, status: status,
                headers: ["Connection": "close", "Content-Length": "\(length)"]))
    }

    @Test func `a client that expects 100 Continue gets it, and not during another response`()
        throws
    {
        let channel = EmbeddedChannel(handler: RequestFlawHandler())
        try channel.writeInbound(head(("Expect", "100-Continue"), ("Content-Length", "5")))
        let interim = try channel.readOutbound(as: HTTPServerResponsePart.self)
        #expect(interim == .head(HTTPResponseHead(version: .http1_1, status: .continue)))
        try channel.writeInbound(head(("Expect", "100-continue")))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
        for _ in 0..<2 {
            try channel.writeOutbound(answer(.ok))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
            _ = try channel.readOutbound(as: HTTPServerResponsePart.self)
            _ = try channel.readOutbound(as: HTTPServerResponsePart.self)
        }
        try channel.writeInbound(head(("Content-Length", "5")))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == nil)
        _ = try channel.finish()
    }

    @Test(arguments: [
        (HTTPParserError.headerOverflow, "too large"), (.invalidMethod, "method"),
        (.invalidURL, "percent-encode"), (.invalidHeaderToken, "not valid HTTP"),
    ])
    func `a request that cannot be parsed is refused with one line`(
        error: HTTPParserError, words: String
    ) throws {
        let channel = EmbeddedChannel(handler: RequestFlawHandler())
        channel.pipeline.fireErrorCaught(error)
        #expect(throws: error) { try channel.throwIfErrorCaught() }
        try channel.writeOutbound(answer(.badRequest))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        guard case .head(let head)? = try channel.readOutbound(as: HTTPServerResponsePart.self),
            case .body(.byteBuffer(let body))? = try channel.readOutbound(
                as: HTTPServerResponsePart.self)
        else {
            Issue.record("no head and body")
            return
        }
        let text = String(buffer: body)
        #expect(head.headers["Content-Length"] == ["\(body.readableBytes)"])
        #expect(text.contains(words) && text.hasSuffix("\n") && !text.dropLast().contains("\n"))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == .end(nil))
        _ = try channel.finish()
    }

    @Test func `a refusal of the viewer keeps its own line`() throws {
        let channel = EmbeddedChannel(handler: RequestFlawHandler())
        try channel.writeInbound(head())
        try channel.writeOutbound(answer(.badRequest))
        #expect(try channel.readOutbound(as: HTTPServerResponsePart.self) == answer(.badRequest))
        _ = try channel.finish()
    }
}
