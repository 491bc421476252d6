import Accounts
import Archive
import HTTPTypes
import Hummingbird
import Library
import Logging
import Media

/// Log-in and log-out, the account and its password, and links to clips.
struct AccountAPI {
    /// A name and a password, or an address.
    private static let maximumBodyBytes = 8 << 10

    let access: Access
    /// The file of accounts; nil without accounts.
    let users: UserFile?
    let links: LinkStore
    let site: ViewerSite
    let logger: Logger

    private struct LogInRequest: Decodable {
        var name: String
        var password: String
    }

    private struct PasswordRequest: Decodable {
        var password: String
        var newPassword: String
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
        let body: LogInRequest = try await request.decoded(limit: Self.maximumBodyBytes)
        let outcome = await access.logIn(
            name: body.name, password: body.password, from: context.remoteAddress, now: .now())
        switch outcome {
        case .succeeded(let rights, let cookie):
            logger.notice("\(body.name) has logged in from \(context.remoteAddress)")
            var response = try Response.json(account(body.name, rights))
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
        let body: LinkRequest = try await request.decoded(limit: Self.maximumBodyBytes)
        let parts = body.address.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let address: String
        do throws(AccessError) {
            address = try access.link(
                to: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
                lifeSeconds: body.seconds, for: context.identity, context.rights, now: .now())
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        try await check(
            String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "", context.rights)
        if let owner = Self.linkOwner(context.identity) {
            let now = AccessTime.now()
            let made = MadeLink(
                id: MadeLink.id(of: address), owner: owner, address: body.address,
                madeSeconds: now.secondsSince1970,
                expiresSeconds: now.secondsSince1970 + body.seconds, hasEnded: false)
            try await site.run { [links] in try links.add(made, now: now) }
        }
        logger.notice("\(context.identity) has shared \(parts[0]) for \(body.seconds) s")
        return try .json(Link(address: address), status: .created)
    }

    /// Checks that the recording of a link exists and its range is valid. A live source may connect later.
    private func check(_ path: String, query: String, _ rights: Rights) async throws {
        let target: SignedLink.Target
        do throws(AccessError) {
            target = try SignedLink.Target(path: path, query: query)
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        guard let session = target.session else { return }
        try await site.read { library in
            try library.sources(of: session, for: rights, naming: [target.source])
            let zero = try library.manifest(session).zeroTime
            let query = try RequestQuery(query, nil)
            _ = try query.range(zero: zero)
            if query["at"] != "live" { _ = try query.moment("at", zero: zero) }
        }
    }

    /// The owner of a link; nil without accounts, when a link is a plain address.
    private static func linkOwner(_ identity: Identity) -> String? {
        identity.ownerName.flatMap { $0.isEmpty ? nil : $0 }
    }

    private struct LinkListing: Encodable {
        var id: String
        var address: String
        /// RFC 3339.
        var made: String
        var expires: String

        init(_ link: MadeLink) {
            id = link.id
            address = link.address
            made = Self.text(link.madeSeconds)
            expires = Self.text(link.expiresSeconds)
        }

        private static func text(_ seconds: Int64) -> String {
            UTCTime(nanoseconds: seconds * 1_000_000_000).description
        }
    }

    /// The account's valid links.
    func listLinks(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        guard let owner = Self.linkOwner(context.identity) else {
            return try .json([LinkListing]())
        }
        let found = try await site.run { [links] in try links.links(of: owner, now: .now()) }
        return try .json(found.map { LinkListing($0) })
    }

    func endLink(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let id = context.parameters.get("link") ?? ""
        guard let owner = Self.linkOwner(context.identity) else {
            throw Problem(.notFound, "there is no such link, or not any more")
        }
        try await site.run { [links] in try links.end(id, of: owner, now: .now()) }
        logger.notice("\(context.identity) has ended a link")
        return Response(status: .noContent)
    }

    /// Changes the account's password. All of its log-ins end.
    func changePassword(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        guard case .user(let name) = context.identity, let users else {
            throw Problem(.forbidden, "only who has logged in with a password can change it")
        }
        let body: PasswordRequest = try await request.decoded(limit: Self.maximumBodyBytes)
        // The old password is required, so that an unattended browser does not suffice.
        switch await access.logIn(
            name: name, password: body.password, from: context.remoteAddress, now: .now())
        {
        case .succeeded: break
        case .wrong: throw Problem(.forbidden, "the present password is another one")
        case .tooManyAttempts(let seconds):
            var headers = HTTPFields()
            headers[.retryAfter] = "\(seconds)"
            throw Problem(
                .tooManyRequests, "too many attempts: try again in \(seconds) s", headers: headers)
        case .busy: throw Problem(.serviceUnavailable, "too many log-ins at once: try again")
        }
        // As slow as the hash of a log-in.
        try await site.runHeavy(for: context.workOwner) { [site, logger] in
            try await site.run {
                do throws(AccessError) {
                    try users.add(name, password: body.newPassword, replacing: true)
                } catch {
                    switch error {
                    case .passwordTooShort, .passwordTooLong:
                        throw Problem(.badRequest, "\(error)")
                    default:
                        logger.warning("\(error)")
                        throw Problem(
                            .serviceUnavailable,
                            "the viewer cannot write the accounts: its log says why")
                    }
                }
            }
        }
        logger.notice("\(name) has a new password")
        var headers = HTTPFields()
        headers[.setCookie] = access.logOut(cookie: nil, now: .now())
        return Response(status: .noContent, headers: headers)
    }
}
