import NIOCore
import NIOHTTP1

/// Sends `100 Continue` to clients that wait for it (RFC 9110 §10.1.1), and one line with the reason when a request of HTTP/1.1 cannot
/// be parsed: Hummingbird's own response has no body.
///
/// It follows the decoder of HTTP/1.1. Used on the connection's event loop.
final class RequestFlawHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Requests whose response is not complete.
    private var unanswered = 0
    /// Why the last request cannot be parsed. It is the last one of the connection.
    private var flaw: String?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            // During an earlier response, the client continues without it after a while.
            if unanswered == 0, head.version == .http1_1, Self.expectsContinue(head) {
                let answer = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
            }
            unanswered += 1
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTPParserError { flaw = Self.text(error) }
        context.fireErrorCaught(error)
    }

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            guard let flaw, head.status == .badRequest,
                head.headers["Content-Length"] == ["0"]
            else { return context.write(data, promise: promise) }
            let body = ByteBuffer(string: flaw + "\n")
            head.headers.replaceOrAdd(name: "Content-Length", value: "\(body.readableBytes)")
            head.headers.replaceOrAdd(name: "Content-Type", value: "text/plain; charset=utf-8")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        case .body:
            context.write(data, promise: promise)
        case .end:
            unanswered -= 1
            context.write(data, promise: promise)
        }
    }

    private static func expectsContinue(_ head: HTTPRequestHead) -> Bool {
        head.headers[canonicalForm: "Expect"].contains { $0.lowercased() == "100-continue" }
    }

    private static func text(_ error: HTTPParserError) -> String {
        switch error {
        case .headerOverflow: "the header of the request is too large, or has too many fields"
        case .invalidMethod: "the method of the request is unknown"
        case .invalidURL, .invalidPath, .invalidQueryString, .invalidHost, .invalidPort:
            "the address of the request is invalid: percent-encode it"
        default: "the request is not valid HTTP/1.1"
        }
    }
}
