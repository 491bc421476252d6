import HTTPTypes
import Hummingbird
import Library
import Logging
import NIOCore

/// Which address is answered by what.
struct ViewerRoutes {
    let site: ViewerSite
    let settings: ViewerSettings
    let access: AccessMiddleware
    let hub: LiveHub
    let log: EventLog
    let history: StatusHistory
    let exports: ExportQueue
    let commands: CollectorCommands
    let streams: LiveStreams

    func router() -> Router<ViewerContext> {
        let router = Router(context: ViewerContext.self)
        let counts = AnswerCounts()
        router.add(
            middleware: AnswerCounting(
                counts: counts, sendsExtents: settings.certificate == nil))
        router.add(
            middleware: AnswerHeaders(
                isSecure: settings.certificate != nil,
                mediaOrigin: settings.storeRedirectSeconds.flatMap { _ in
                    settings.archive.storeOrigin
                }, logger: site.logger))
        router.add(middleware: access)
        router.get("healthz") { _, _ in "well\n" }
        let metrics = MetricsAPI(
            site: site, hub: hub, log: log, exports: exports, streams: streams, counts: counts,
            version: settings.version)
        router.on("metrics", method: .get, use: metrics.show)
        router.on("metrics", method: .head) { request, context in
            try await metrics.show(request, context).createHeadResponse()
        }
        let page = PageAPI(threads: site.threads)
        for path: RouterPath in ["", "live", "sessions", "sessions/:session", "health"] {
            router.on(path, method: .get, use: page.page)
            router.on(path, method: .head) { request, context in
                try await page.page(request, context).createHeadResponse()
            }
        }
        get(router.group("page"), ":file", page.file)
        let account = AccountAPI(access: access.access, logger: site.logger)
        let sessions = SessionsAPI(site: site)
        let media = MediaAPI(site: site)
        let api = router.group("api/v1")
        api.post("login", use: account.logIn)
        api.post("logout", use: account.logOut)
        api.post("links", use: account.link)
        let site = site
        get(api, "openapi.yaml") { request, _ in
            _ = try RequestQuery(request, [])
            return PageFile.interface.response(to: request, in: site.threads)
        }
        get(api, "account", account.show)
        get(api, "live", LiveAPI(hub: hub, access: access.access).watch)
        let jobs = ExportsAPI(site: site, queue: exports)
        api.post("exports", use: jobs.add)
        get(api, "exports", jobs.list)
        get(api, "exports/:export", jobs.show)
        api.delete("exports/:export", use: jobs.remove)
        get(api, "exports/:export/file", jobs.file)
        get(api, "events", EventsAPI(log: log, access: access.access).listen)
        get(api, "history", HistoryAPI(site: site, history: history).show)
        get(api, "sessions", sessions.list)
        get(api, "sessions/:session", sessions.show)
        get(api, "sessions/:session/segments", sessions.segments)
        get(api, "sessions/:session/coverage", sessions.coverage)
        get(api, "sessions/:session/marks", sessions.marks)
        get(api, "sessions/:session/sources/:source/gaps", sessions.gaps)
        get(api, "sessions/:session/sources/:source/clock", sessions.clock)
        get(api, "sessions/:session/sources/:source/media.mp4", media.movie)
        get(api, "sessions/:session/sources/:source/picture.jpg", media.picture)
        let operators = OperatorAPI(site: site, commands: commands)
        api.patch("sessions/:session", use: operators.edit)
        api.delete("sessions/:session", use: operators.remove)
        api.post("sessions/:session/stop", use: operators.stop)
        api.post("marks", use: operators.addMark)
        api.delete("sessions/:session/marks/:mark", use: operators.removeMark)
        api.post("sources/:source/commands", use: operators.command)
        let playlists = PlaylistAPI(site: site)
        let hls = router.group("hls")
        let live = LivePlaylistAPI(streams: streams, access: access.access)
        get(hls, "live/:source/index.m3u8", live.playlist)
        get(hls, "live/:source/:file", live.media)
        get(hls, ":session/index.m3u8", playlists.session)
        get(hls, ":session/:source/index.m3u8", playlists.source)
        get(hls, ":session/:source/:file", playlists.file)
        return router
    }

    private func get(
        _ group: RouterGroup<ViewerContext>, _ path: RouterPath,
        _ answer: @escaping @Sendable (Request, ViewerContext) async throws -> Response
    ) {
        group.on(path, method: .get, use: answer)
        group.on(path, method: .head) { request, context in
            try await answer(request, context).createHeadResponse()
        }
    }
}

/// Headers of every answer: what a browser may do with it, and that nothing about it has to be guessed.
struct AnswerHeaders: RouterMiddleware {
    typealias Context = ViewerContext

    let isSecure: Bool
    let logger: Logger
    private let policy: String

    /// - Parameter mediaOrigin: where media may come from besides the viewer: `https://HOST[:PORT]`.
    init(isSecure: Bool, mediaOrigin: String?, logger: Logger) {
        self.isSecure = isSecure
        self.logger = logger
        policy = Self.policy(mediaOrigin: mediaOrigin)
    }

    /// Content Security Policy Level 3. A redirect is checked, too: by its origin.
    static func policy(mediaOrigin: String?) -> String {
        let other = mediaOrigin.map { " \($0)" } ?? ""
        return "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:\(other); "
            + (mediaOrigin == nil ? "" : "connect-src 'self'\(other); ")
            + "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    }

    func handle(
        _ request: Request, context: ViewerContext,
        next: (Request, ViewerContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            // The router's own, which says nothing.
            response = try Problem(.notFound, "there is nothing at this address for this method")
                .response(from: request, context: context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        } catch is CancellationError {
            // Nobody waits for the answer any more.
            throw CancellationError()
        } catch {
            logger.error("\(request.uri.path) cannot be answered: \(error)")
            response = try Problem(.internalServerError, "the viewer failed: its log says why")
                .response(from: request, context: context)
        }
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[values: Self.referrer] = ["same-origin"]
        if isSecure {
            response.headers[.strictTransportSecurity] = "max-age=31536000"
        }
        return response
    }

    private static let referrer = HTTPField.Name("Referrer-Policy") ?? .origin
}
