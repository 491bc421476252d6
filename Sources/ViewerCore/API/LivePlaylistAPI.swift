import Archive
import HTTPTypes
import Hummingbird
import Media
import NIOCore

/// Live sources as LL-HLS: a playlist whose reload waits for the next part, and the parts.
struct LivePlaylistAPI {
    let streams: LiveStreams
    let access: Access

    private static func now() -> Int64 { SystemClock.monotonic.nowNanoseconds }

    func playlist(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["_HLS_msn", "_HLS_part", "_HLS_skip"])
        let wish: LiveRequest
        do throws(LiveRequest.Malformed) {
            wish = try LiveRequest(
                msn: query["_HLS_msn"], part: query["_HLS_part"], skip: query["_HLS_skip"])
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        let stream = try await streams.stream(try context.source(), now: Self.now())
        let pass = access.pass(context.credentials, context.rights, now: .now())
        let text = try await stream.text(wish) { Self.now() }
        try check(pass)
        var headers = HTTPFields()
        headers[.contentType] = MediaPlaylist.contentType
        headers[.cacheControl] = "no-cache"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// Who has waited may have logged out meanwhile.
    private func check(_ pass: AccessPass) throws(Problem) {
        guard access.isValid(pass, now: .now()) else {
            throw AccessMiddleware.problem(.notLoggedIn)
        }
    }

    func media(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        guard let resource = LiveResource(context.parameters.get("file") ?? "") else {
            throw Problem(.notFound, "there is no such file")
        }
        let stream = try await streams.stream(try context.source(), now: Self.now())
        let pass = access.pass(context.credentials, context.rights, now: .now())
        let media = await stream.media(resource, now: { Self.now() })
        try check(pass)
        switch media {
        case .gone: throw Problem(.notFound, "this part of the live source is not there any more")
        case .bytes(let bytes):
            var headers = HTTPFields()
            headers[.contentType] = "video/mp4"
            headers[.cacheControl] = "private, max-age=60"
            return Response(
                status: .ok, headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        }
    }
}
