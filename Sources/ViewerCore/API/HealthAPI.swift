import HTTPTypes
import Hummingbird
import NIOCore
import Operations

/// Liveness and readiness (can it serve recordings?), for probes without a log-in. Answers name nothing of an archive.
struct HealthAPI {
    let readiness: Readiness
    let progress: ServerProgress

    /// 503: it hangs, and should be restarted.
    func showLiveness(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let stalled = progress.stalled()
        return Self.response(HealthAnswer(isWell: stalled == nil, text: stalled ?? "well"))
    }

    /// 503: lists or pictures cannot be served now. A restart would not help.
    func showReadiness(_ request: Request, _ context: ViewerContext) async throws -> Response {
        return Self.response(await readiness.answer())
    }

    private static func response(_ answer: HealthAnswer) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = "text/plain; charset=utf-8"
        headers[.cacheControl] = "no-store"
        return Response(
            status: answer.isWell ? .ok : .serviceUnavailable, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: answer.text + "\n")))
    }
}
