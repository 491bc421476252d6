import Accounts
import HTTPTypes
import Hummingbird
import NIOCore
import Wire

/// Live pictures and sound of several sources in one endless answer.
struct LiveAPI {
    /// Frames of this size are written at once; more would leave a slow client a minute without progress.
    private static let pieceBytes = 256 << 10

    let hub: LiveHub
    let access: Access
    let links: LinkStore

    func watch(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["sources", "batch"])
        let range = WireLimits.watchMillisecondsRange
        let batch = try query.number("batch", in: Int(range.lowerBound)...Int(range.upperBound))
        let rights = context.rights
        var sources = try query.sources("sources").map { Set($0) }
        // Otherwise all sources would be subscribed to, and sent in small batches, although few are used.
        if sources == nil { sources = rights.sources.names }
        if let sources, let other = sources.first(where: { !rights.mayRead($0) }) {
            throw Problem(.notFound, "no source '\(other)'")
        }
        let watcher = LiveWatcher(
            sources: sources, for: context.identity, batchMilliseconds: batch.map { UInt32($0) }
        ) { rights.mayRead($0) }
        var headers = HTTPFields()
        headers[.contentType] = "application/vnd.tributary.live"
        headers[.cacheControl] = "no-store"
        guard request.method != .head else { return Response(status: .ok, headers: headers) }
        guard hub.hasRoom(for: context.identity) else {
            throw Problem(.serviceUnavailable, "too many are watching live: try again")
        }
        let (access, links) = (access, links)
        let pass = access.pass(context.credentials, rights, now: .now())
        return Response(
            status: .ok, headers: headers,
            body: Self.body(watcher, of: hub) {
                guard access.isValid(pass, now: .now()) else { return false }
                guard case .link(let address, _) = pass.proof else { return true }
                do throws(Problem) {
                    try links.check(address, now: .now())
                    return true
                } catch {
                    // The link was revoked.
                    return false
                }
            })
    }

    /// A watcher's frames, until it ends.
    /// - Parameter mayGoOn: checked once a second: the client may have logged out, or its rights may have changed.
    static func body(
        _ watcher: LiveWatcher, of hub: LiveHub, while mayGoOn: @escaping @Sendable () -> Bool
    ) -> ResponseBody {
        ResponseBody { writer in
            guard hub.start(watcher) else {
                try await writer.finish(nil)
                return
            }
            defer { hub.stop(watcher) }
            while true {
                let frames = await watcher.next()
                if frames.isEmpty { break }
                if frames.contains(where: { $0.kind == .beat }), !mayGoOn() { break }
                // A write for each frame would delay the answers of other clients.
                var piece = ByteBuffer()
                for frame in frames {
                    piece.writeBytes(frame.bytes)
                    guard piece.readableBytes >= pieceBytes else { continue }
                    try await writer.write(piece)
                    piece = ByteBuffer()
                }
                if piece.readableBytes > 0 { try await writer.write(piece) }
            }
            try await writer.finish(nil)
        }
    }
}
