import Accounts
import HTTPTypes
import Hummingbird
import Library
import Logging
import NIOCore
import Recordings

/// The routes and their handlers.
struct ViewerRoutes {
    let site: ViewerSite
    let settings: ViewerSettings
    let access: AccessMiddleware
    let hub: LiveHub
    let log: EventLog
    let history: StatusHistory
    let exports: ExportQueue
    let commands: CollectorCommands
    /// Nil: there is no site.
    let siteOperator: SiteOperator?
    let streams: LiveStreams
    let readiness: Readiness
    let progress: ServerProgress
    /// Nil: nothing is forwarded.
    let forwards: ForwardService?
    let walls: WallStore

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
                }, embedOrigins: settings.embedOrigins, logger: site.logger))
        router.add(middleware: access)
        var endpoints = Endpoints(router, site: site)
        let health = HealthAPI(readiness: readiness, progress: progress)
        endpoints.get("healthz", health.showLiveness)
        endpoints.get("readyz", health.showReadiness)
        let metrics = MetricsAPI(
            hub: hub, log: log, exports: exports, streams: streams, counts: counts,
            access: access.access, health: health, caches: site, forwards: forwards,
            version: settings.version)
        endpoints.get("metrics", metrics.show)
        let page = PageAPI(threads: site.threads)
        for path in [
            "", "live", "calendar", "sessions", "sessions/:name", "health", "account",
            "embed/:source",
        ] {
            endpoints.get(path, page.page)
        }
        endpoints.get("page/:file", page.file)
        addInterface(to: &endpoints)
        addPlaylists(to: &endpoints)
        let archives = ArchivesAPI(
            site: site, commands: commands, tokens: settings.siteTokens, access: access.access)
        endpoints.get("\(ArchivesAPI.path)/:archive/objects", archives.list)
        endpoints.get("\(ArchivesAPI.path)/:archive/object", archives.object)
        endpoints.on(.post, "\(ArchivesAPI.path)/:archive/marks", archives.addMark)
        endpoints.on(.delete, "\(ArchivesAPI.path)/:archive/marks/:mark", archives.removeMark)
        endpoints.on(.post, "\(ArchivesAPI.path)/:archive/edits", archives.edit)
        endpoints.refuseOthers()
        return router
    }

    private func addInterface(to endpoints: inout Endpoints) {
        let api = "api/v1"
        let account = AccountAPI(
            access: access.access, users: settings.users.map { UserFile($0) }, links: access.links,
            site: site, logger: site.logger)
        endpoints.on(.post, "\(api)/login", account.logIn)
        endpoints.on(.post, "\(api)/logout", account.logOut)
        endpoints.on(.post, "\(api)/links", account.link)
        endpoints.get("\(api)/links", account.listLinks)
        endpoints.on(.delete, "\(api)/links/:link", account.endLink)
        endpoints.on(.post, "\(api)/account/password", account.changePassword)
        endpoints.get("\(api)/account", account.show)
        let site = site
        endpoints.get("\(api)/openapi.yaml") { request, _ in
            _ = try RequestQuery(request, [])
            return PageFile.interface.response(to: request, in: site.threads)
        }
        let jobs = ExportsAPI(site: site, queue: exports)
        endpoints.on(.post, "\(api)/exports", jobs.add)
        endpoints.get("\(api)/exports", jobs.list)
        endpoints.get("\(api)/exports/:export", jobs.show)
        endpoints.on(.delete, "\(api)/exports/:export", jobs.remove)
        endpoints.get("\(api)/exports/:export/file", jobs.file)
        endpoints.get("\(api)/events", EventsAPI(log: log, access: access.access).listen)
        let overviews = settings.site?.overview.map { OverviewCache($0) }
        endpoints.get("\(api)/site", SiteAPI(overviews: overviews).show)
        endpoints.get("\(api)/forwards", ForwardsAPI(service: forwards).list)
        endpoints.get("\(api)/history", HistoryAPI(site: site, history: history).show)
        let (sessions, media) = (SessionsAPI(site: site), MediaAPI(site: site))
        endpoints.get(
            "\(api)/live", LiveAPI(hub: hub, access: access.access, links: access.links).watch)
        for path in ["\(api)/live/:source/picture.jpg", "live/:source/picture.jpg"] {
            endpoints.get(path, media.newestPicture)
        }
        endpoints.get("\(api)/sessions", sessions.list)
        endpoints.get("\(api)/recorded", sessions.recorded)
        let session = "\(api)/sessions/:session"
        endpoints.get(session, sessions.show)
        endpoints.get("\(session)/segments", sessions.segments)
        endpoints.get("\(session)/coverage", sessions.coverage)
        endpoints.get("\(session)/marks", sessions.marks)
        endpoints.get("\(session)/sources/:source/gaps", sessions.gaps)
        endpoints.get("\(session)/sources/:source/clock", sessions.clock)
        endpoints.get("\(session)/media.zip", media.archive)
        endpoints.get("\(session)/sources/:source/media.mp4", media.movie)
        endpoints.get("\(session)/sources/:source/picture.jpg", media.picture)
        let walls = WallsAPI(site: site, store: walls)
        endpoints.get("\(api)/walls", walls.list)
        endpoints.on(.post, "\(api)/walls", walls.add)
        endpoints.on(.put, "\(api)/walls/:wall", walls.replace)
        endpoints.on(.delete, "\(api)/walls/:wall", walls.remove)
        let operators = OperatorAPI(
            site: site, commands: commands, siteOperator: siteOperator)
        endpoints.on(.patch, session, operators.edit)
        endpoints.on(.delete, session, operators.remove)
        endpoints.on(.post, "\(session)/stop", operators.stop)
        endpoints.on(.post, "\(api)/marks", operators.addMark)
        endpoints.on(.delete, "\(session)/marks/:mark", operators.removeMark)
        endpoints.on(.post, "\(api)/sources/:source/commands", operators.command)
    }

    private func addPlaylists(to endpoints: inout Endpoints) {
        let playlists = PlaylistAPI(site: site)
        let live = LivePlaylistAPI(
            site: site, streams: streams, history: history, access: access.access)
        endpoints.get("hls/live/:source/index.m3u8", live.playlist)
        endpoints.get("hls/live/:source/:file", live.media)
        endpoints.get("hls/:session/index.m3u8", playlists.session)
        endpoints.get("hls/:session/:source/index.m3u8", playlists.source)
        endpoints.get("hls/:session/:source/:file", playlists.file)
    }
}

/// Security headers of all responses.
struct AnswerHeaders: RouterMiddleware {
    typealias Context = ViewerContext

    let isSecure: Bool
    let logger: Logger
    private let policy: String
    /// Content-Security-Policy of `/embed/SOURCE`.
    private let embeddingPolicy: String

    /// - Parameters:
    ///   - mediaOrigin: an additional origin of media: `https://HOST[:PORT]`.
    ///   - embedOrigins: origins whose pages may frame `/embed/SOURCE`; other pages of the viewer cannot be framed.
    init(isSecure: Bool, mediaOrigin: String?, embedOrigins: [String] = [], logger: Logger) {
        self.isSecure = isSecure
        self.logger = logger
        policy = Self.policy(mediaOrigin: mediaOrigin)
        embeddingPolicy = Self.policy(mediaOrigin: mediaOrigin, framedBy: embedOrigins)
    }

    /// Content Security Policy Level 3. A redirect is checked, too: by its origin.
    static func policy(mediaOrigin: String?, framedBy origins: [String] = []) -> String {
        let ancestors = origins.isEmpty ? "'none'" : origins.joined(separator: " ")
        let other = mediaOrigin.map { " \($0)" } ?? ""
        return "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:\(other); "
            + (mediaOrigin == nil ? "" : "connect-src 'self'\(other); ")
            + "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors \(ancestors)"
    }

    func handle(
        _ request: Request, context: ViewerContext,
        next: (Request, ViewerContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            // The router's own error, which has no text.
            response = try Problem(.notFound, "there is nothing at this address")
                .response(from: request, context: context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        } catch is CancellationError {
            // The client has disconnected.
            throw CancellationError()
        } catch {
            logger.error("\(request.uri.path) cannot be answered: \(error)")
            response = try Problem(.internalServerError, "the viewer failed: its log says why")
                .response(from: request, context: context)
        }
        let isEmbedding = request.uri.path.hasPrefix(PageAPI.embedding)
        response.headers[.contentSecurityPolicy] = isEmbedding ? embeddingPolicy : policy
        response.headers[.xContentTypeOptions] = "nosniff"
        // The URL of an embedded page is its credential.
        response.headers[values: Self.referrer] = [isEmbedding ? "no-referrer" : "same-origin"]
        if isSecure {
            response.headers[.strictTransportSecurity] = "max-age=31536000"
        }
        return response
    }

    private static let referrer = HTTPField.Name("Referrer-Policy") ?? .origin
}
