import Accounts
import Archive
import HTTPTypes
import Hummingbird
import Library
import Media
import NIOCore
import Recordings

/// Live sources as LL-HLS: a playlist whose reload waits for the next part, and the parts.
struct LivePlaylistAPI {
    let site: ViewerSite
    let streams: LiveStreams
    let history: StatusHistory
    let access: Access

    private static func now() -> Int64 { SystemClock.monotonic.nowNanoseconds }

    func playlist(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["_HLS_msn", "_HLS_part", "_HLS_skip"])
        let body: LiveRequest
        do throws(LiveRequest.Malformed) {
            body = try LiveRequest(
                msn: query["_HLS_msn"], part: query["_HLS_part"], skip: query["_HLS_skip"])
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        let stream = try await stream(try context.source())
        let pass = access.pass(context.credentials, context.rights, now: .now())
        let text = try await stream.text(body) { Self.now() }
        try check(pass)
        return PlaylistAPI.playlist(text)
    }

    /// The stream of a source; fails for a source without media, instead of waiting.
    private func stream(_ source: String) async throws -> LiveStream {
        if let known = await streams.known(source, now: Self.now()) { return known }
        if history.knows(source) == false {
            // The status does not include the last seconds yet.
            let isRecorded = try await site.read { library in
                try library.sessionBeingRecorded().map {
                    try library.sourceNames($0).contains(source)
                } ?? false
            }
            guard isRecorded else { throw Problem(.notFound, "no live source '\(source)'") }
        }
        return try await streams.stream(source, now: Self.now())
    }

    /// Checks access again after a wait.
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
        let stream = try await stream(try context.source())
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
