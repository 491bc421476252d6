import Accounts
import HTTPTypes
import Hummingbird

/// Admits a request if its account has the right, its Host header names the viewer, and it is not cross-site.
struct AccessMiddleware: RouterMiddleware {
    typealias Context = ViewerContext

    /// Paths without a log-in: the log-in itself, and health checks.
    private static let open: Set<String> = ["/api/v1/login", "/healthz", "/readyz"]

    let access: Access
    let hosts: HostCheck
    let origin: RequestOrigin
    let isBehindProxy: Bool
    let links: LinkStore
    /// Whether archives are served to readers of the site, who have no accounts (``ArchivesAPI`` checks their codes).
    let servesReaders: Bool

    func handle(
        _ request: Request, context: ViewerContext,
        next: (Request, ViewerContext) async throws -> Response
    ) async throws -> Response {
        guard let host = RequestHost.text(of: request.head) else {
            throw Problem(
                .badRequest,
                "a request names its host once: one Host field, which a :authority agrees with")
        }
        guard hosts.allows(host) else {
            throw Problem(.misdirectedRequest, "\(RequestOrigin.Flaw.foreignHost)")
        }
        var context = context
        if isBehindProxy, let address = Self.forwarded(request) { context.remoteAddress = address }
        let path = request.uri.path
        let isOpen =
            Self.open.contains(path) || PageAPI.isOpen(path)
            || servesReaders && path.hasPrefix("/\(ArchivesAPI.path)/")
        var renewed: String?
        if !isOpen {
            let credentials = Credentials(
                cookie: request.headers[values: .cookie].joined(separator: "; "),
                authorization: request.headers[.authorization], path: request.uri.path,
                query: request.uri.query, remoteAddress: context.remoteAddress)
            context.credentials = credentials
            switch access.check(credentials, now: .now()) {
            case .allowed(let identity, let rights, let cookie):
                (context.identity, context.rights, renewed) = (identity, rights, cookie)
            case .refused(let refusal): throw Self.problem(refusal)
            }
            if context.identity == .link {
                let own = "\(request.uri.path)?\(request.uri.query ?? "")"
                try links.check(
                    Access.linkAddress(credentials.authorization) ?? own, now: .now())
            }
        }
        if request.method != .get, request.method != .head {
            let fetchSite = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
            let flaw =
                isOpen
                ? origin.flaw(
                    host: host, origin: request.headers[.origin], fetchSite: fetchSite,
                    needsOrigin: false)
                : origin.flaw(
                    context.identity, host: host, origin: request.headers[.origin],
                    fetchSite: fetchSite)
            if let flaw { throw Problem(.forbidden, "\(flaw)") }
        }
        var response = try await next(request, context)
        if let renewed, response.headers[.setCookie] == nil {
            response.headers[.setCookie] = renewed
        }
        return response
    }

    /// The response to a refusal.
    static func problem(_ refusal: Access.Refusal) -> Problem {
        var headers = HTTPFields()
        switch refusal {
        case .notLoggedIn, .wrongToken:
            headers[.wwwAuthenticate] = "Bearer"
            return Problem(.unauthorized, "\(refusal)", headers: headers)
        case .linkExpired, .linkInvalid, .linkOfFrame, .linkEnded:
            return Problem(.forbidden, "\(refusal)")
        case .tooManyAttempts(let seconds):
            headers[.retryAfter] = "\(seconds)"
            return Problem(.tooManyRequests, "\(refusal)", headers: headers)
        }
    }

    /// The proxy's client: the last address, which the proxy has added. Earlier ones may be forged.
    private static func forwarded(_ request: Request) -> String? {
        guard let name = HTTPField.Name("X-Forwarded-For"),
            let last = request.headers[values: name].last?.split(separator: ",").last
        else { return nil }
        let address = last.filter { $0 != " " }
        return address.utf8.count <= 45 ? String(address) : nil
    }
}
