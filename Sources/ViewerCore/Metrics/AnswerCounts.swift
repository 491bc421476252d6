import HTTPTypes
import Hummingbird
import Library
import NIOCore
import Recordings
import Synchronization

/// Counts answers and sent bytes. Any thread may call.
final class AnswerCounts: Sendable {
    private struct State {
        var answers: [Int: UInt64] = [:]
        var sentBytes: UInt64 = 0
    }

    private let state = Mutex(State())

    /// By the first digit of the status.
    var answers: [Int: UInt64] { state.withLock(\.answers) }
    var sentBytes: UInt64 { state.withLock(\.sentBytes) }

    func answered(_ status: Int) { state.withLock { $0.answers[status / 100, default: 0] += 1 } }

    func sent(_ bytes: Int) { state.withLock { $0.sentBytes &+= UInt64(bytes) } }
}

/// Counts all answers. It is the outermost middleware.
struct AnswerCounting: RouterMiddleware {
    typealias Context = ViewerContext

    /// Bodies up to this length count when they are begun: they are written at once.
    private static let shortBytes = 64 << 10

    let counts: AnswerCounts
    /// Whether connections are HTTP/1.1 without TLS, which the kernel can send files over.
    let sendsExtents: Bool

    func handle(
        _ request: Request, context: ViewerContext,
        next: (Request, ViewerContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        counts.answered(response.status.code)
        if let length = response.body.contentLength, length <= Self.shortBytes {
            counts.sent(length)
            return response
        }
        let body = response.body
        let isFramed = body.contentLength == nil
        let sender = sendsExtents && !isFramed ? ExtentSender(context.channel) : nil
        response.body = ResponseBody(contentLength: body.contentLength) { [counts] writer in
            try await body.write(
                CountingWriter(parent: writer, counts: counts, extents: sender))
        }
        return response
    }
}

/// Counts the bytes that the client has received.
private struct CountingWriter: ResponseBodyWriter, ExtentWriter {
    var parent: any ResponseBodyWriter
    let counts: AnswerCounts
    let extents: ExtentSender?

    var sendExtents: (@Sendable ([FileExtent]) async throws -> Void)? {
        guard let extents else { return nil }
        return { [counts] sent in
            try await extents.send(sent)
            counts.sent(sent.reduce(0) { $0 + Int($1.range.upperBound - $1.range.lowerBound) })
        }
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        let bytes = buffer.readableBytes
        try await parent.write(buffer)
        counts.sent(bytes)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}
