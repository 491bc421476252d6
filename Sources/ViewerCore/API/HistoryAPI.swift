import Accounts
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Media
import NIOCore

/// The last hour of the collector, as JSON, for plots.
struct HistoryAPI {
    let site: ViewerSite
    let history: StatusHistory

    func show(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let (history, rights) = (history, context.rights)
        // An hour of many sources has a hundred thousand numbers: encoded on a reading thread, without indentation.
        let json = try await site.runHeavy(for: context.workOwner) {
            try await site.run {
                let now = SystemClock.monotonic.nowNanoseconds
                return try JSONEncoder().encode(history.answer(now: now, where: rights.mayRead))
            }
        }
        var headers = HTTPFields()
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json + [UInt8(ascii: "\n")])))
    }
}
