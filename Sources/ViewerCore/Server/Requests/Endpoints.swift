import Accounts
import Archive
import HTTPTypes
import Hummingbird
import Library
import Recordings

/// The viewer's paths and methods. Other methods are answered with 405 and `Allow` (RFC 9110 §15.5.6), other paths with 404.
struct Endpoints {
    typealias Answer = @Sendable (Request, ViewerContext) async throws -> Response

    /// The name of the newest session that the account may see, in all paths that read, and in bodies. Paths that change a session need
    /// its own name, because the newest one may change.
    static let latest = SignedLink.newestSession
    /// RFC 9110 §9.3, and PATCH (RFC 5789). Other methods are unknown: 404.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect,
    ]

    private let router: Router<ViewerContext>
    private let site: ViewerSite
    private var known: [String: [HTTPRequest.Method]] = [:]

    init(_ router: Router<ViewerContext>, site: ViewerSite) {
        self.router = router
        self.site = site
    }

    /// GET, and HEAD with the same headers.
    mutating func get(_ path: String, _ answer: @escaping Answer) {
        on(.get, path, answer)
        on(.head, path) { request, context in
            try await answer(request, context).createHeadResponse()
        }
    }

    mutating func on(_ method: HTTPRequest.Method, _ path: String, _ answer: @escaping Answer) {
        known[path, default: []].append(method)
        let answer = path.contains(":session") ? Self.placed(answer) : answer
        guard path.contains(":session"), method == .get || method == .head else {
            router.on(RouterPath(path), method: method, use: answer)
            return
        }
        let (site, isPlaylist) = (site, path.hasPrefix("hls/"))
        router.on(RouterPath(path), method: method) { request, context in
            guard context.parameters.get("session") == Self.latest else {
                return try await answer(request, context)
            }
            let newest = try await Self.newest(of: site, for: context.rights)
            // Players reload a playlist: it must not switch to the next session.
            if isPlaylist { return Self.redirect(request, to: newest) }
            var context = context
            context.latestSession = newest
            return try await answer(request, context)
        }
    }

    /// Reads are scheduled by the session in the path.
    private static func placed(_ answer: @escaping Answer) -> Answer {
        { request, context in
            let session = context.latestSession ?? context.parameters.get("session")
            return try await ReadingThreads.$place.withValue(session) {
                try await answer(request, context)
            }
        }
    }

    /// Answers all other methods of the known addresses; called when all are known.
    func refuseOthers() {
        for (path, methods) in known {
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            for method in Self.methods where !methods.contains(method) {
                router.on(RouterPath(path), method: method) { _, _ -> Response in
                    var headers = HTTPFields()
                    headers[.allow] = allowed
                    throw Problem(
                        .methodNotAllowed, "this address takes \(allowed)", headers: headers)
                }
            }
        }
    }

    /// The session that a body names.
    /// - Throws: 400 for an invalid name.
    static func session(
        _ name: String, of site: ViewerSite, for rights: Rights
    ) async throws -> String {
        if name == latest { return try await newest(of: site, for: rights) }
        guard ArchiveLayout.isValidName(name) else {
            throw Problem(.badRequest, "'session' must be a session's name")
        }
        return name
    }

    /// The newest session that an account may see.
    static func newest(of site: ViewerSite, for rights: Rights) async throws -> String {
        let newest = try await site.read { library -> String? in
            let names = try library.sessionNames()
            guard !rights.mayReadEverything else { return names.last }
            return try names.last { try library.sourceNames($0).contains(where: rights.mayRead) }
        }
        guard let newest else { throw Problem(.notFound, "there is no session yet") }
        return newest
    }

    private static func redirect(_ request: Request, to session: String) -> Response {
        let query = request.uri.query.map { "?\($0)" } ?? ""
        var headers = HTTPFields()
        headers[.location] =
            request.uri.path.replacing(
                "/hls/\(latest)/", with: "/hls/\(session)/", maxReplacements: 1)
            + query
        headers[.cacheControl] = "no-store"
        return Response(status: .temporaryRedirect, headers: headers)
    }
}
