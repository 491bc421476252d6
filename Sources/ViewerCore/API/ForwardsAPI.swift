import Accounts
import Files
import HTTPTypes
import Hummingbird

/// The viewer's forwarded streams, as JSON. For operators of all sources.
struct ForwardsAPI {
    let service: ForwardService?

    private struct Forward: Encodable {
        var source: String
        /// Name of the file with the destination.
        var file: String
        var state: String
        var lateSeconds: Double?
        var trouble: String?
        var starts: UInt64
        var connections: UInt64
        var sentSamples: UInt64
        var sentBytes: UInt64
        var droppedSamples: UInt64
        var feedLosses: UInt64

        init(_ status: ForwardStatus) {
            source = status.entry.source
            file = Path.name(of: status.entry.file)
            state = status.state.rawValue
            lateSeconds = status.lateSeconds
            trouble = status.trouble
            starts = status.starts
            connections = status.counts.connections
            sentSamples = status.counts.sentSamples
            sentBytes = status.counts.sentBytes
            droppedSamples = status.counts.droppedSamples
            feedLosses = status.counts.feedLosses
        }
    }

    func list(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        guard context.rights.mayOperateSite else {
            throw Problem(.forbidden, "what is forwarded is for operators of all sources")
        }
        return try .json((service?.statuses ?? []).map { Forward($0) })
    }
}
