import HTTPTypes
import Hummingbird
import Logging

/// Logging in and out, who one is, and links that open one clip.
struct AccountAPI {
    /// A name and a password, or an address.
    private static let maximumBodyBytes = 8 << 10

    let access: Access
    let logger: Logger

    private struct LogInRequest: Decodable {
        var name: String
        var password: String
    }

    private struct LinkRequest: Decodable {
        /// Such as `/api/v1/sessions/NAME/sources/SOURCE/media.mp4?from=1&until=2`.
        var address: String
        var seconds: Int64
    }

    private struct Account: Encodable {
        var name: String
        var role: String
        /// Nil: all.
        var sources: [String]?
        var needsLogIn: Bool
    }

    private struct Link: Encodable {
        var address: String
    }

    func logIn(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let wish: LogInRequest = try await request.decoded(limit: Self.maximumBodyBytes)
        let outcome = await access.logIn(
            name: wish.name, password: wish.password, from: context.remoteAddress, now: .now())
        switch outcome {
        case .succeeded(let rights, let cookie):
            logger.notice("\(wish.name) has logged in from \(context.remoteAddress)")
            var response = try Response.json(account(wish.name, rights))
            response.headers[.setCookie] = cookie
            return response
        case .wrong:
            logger.warning("a log-in from \(context.remoteAddress) was refused")
            throw Problem(.unauthorized, "wrong name or password")
        case .tooManyAttempts(let seconds):
            var headers = HTTPFields()
            headers[.retryAfter] = "\(seconds)"
            throw Problem(
                .tooManyRequests, "too many attempts: try again in \(seconds) s", headers: headers)
        case .busy:
            throw Problem(.serviceUnavailable, "too many log-ins at once: try again")
        }
    }

    func logOut(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let cookie = access.logOut(
            cookie: request.headers[values: .cookie].joined(separator: "; "), now: .now())
        var headers = HTTPFields()
        headers[.setCookie] = cookie
        return Response(status: .noContent, headers: headers)
    }

    func show(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        return try .json(account("\(context.identity)", context.rights))
    }

    private func account(_ name: String, _ rights: Rights) -> Account {
        var sources: [String]?
        if case .named(let names) = rights.sources { sources = names.sorted() }
        return Account(
            name: name, role: rights.role.rawValue, sources: sources,
            needsLogIn: access.hasAccounts)
    }

    func link(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let wish: LinkRequest = try await request.decoded(limit: Self.maximumBodyBytes)
        let parts = wish.address.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let address: String
        do throws(AccessError) {
            address = try access.link(
                to: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
                lifeSeconds: wish.seconds, for: context.identity, context.rights, now: .now())
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        logger.notice("\(context.identity) has shared \(parts[0]) for \(wish.seconds) s")
        return try .json(Link(address: address), status: .created)
    }
}
