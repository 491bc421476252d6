import Threads
import Accounts
import HTTPTypes
import Hummingbird
import NIOCore
import Operations

/// The viewer's metrics for Prometheus. They need an operator of all sources; without accounts, every local client is one.
struct MetricsAPI {
    let hub: LiveHub
    let log: EventLog
    let exports: ExportQueue
    let streams: LiveStreams
    let counts: AnswerCounts
    let access: Access
    let health: HealthAPI
    let caches: ViewerSite
    /// Nil: nothing is forwarded.
    let forwards: ForwardService?
    let version: String

    /// Separate from the reading threads, because metrics must report that these hang.
    private let asking = BlockingWorkQueue("figures", maximumRunning: 1, maximumWaiting: 8)

    func show(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        guard context.rights.mayOperateSite else {
            throw Problem(.forbidden, "metrics are for operators of all sources")
        }
        let figures = await figures()
        let process = await asking.run { ProcessFigures.current() }
        let text = figures.text(version: version, process: process ?? nil)
        var headers = HTTPFields()
        headers[.contentType] = MetricText.contentType
        headers[.cacheControl] = "no-store"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func figures() async -> ViewerFigures {
        var figures = ViewerFigures()
        figures.answers = counts.answers
        figures.sentBytes = counts.sentBytes
        figures.watchers = hub.watcherCount
        figures.liveStreams = await streams.count
        (figures.skippedGroups, figures.feedLosses) = hub.losses
        figures.eventListeners = log.listenerCount
        let states = exports.jobs().map(\.state)
        figures.waitingExports = states.count { $0 == .waiting }
        figures.runningExports = states.count { $0 == .running }
        figures.cacheBytes = [
            "movies": caches.movies.keptBytes, "pictures": caches.pictures.keptBytes,
            "groups": hub.keptBytes, "hls": streams.memory.keptBytes,
        ]
        figures.forwards = forwards?.statuses ?? []
        figures.logIns = access.logInResults
        figures.isReady = await health.readiness.answer().isWell
        figures.progressAges = health.progress.agesByLabel()
        return figures
    }
}
