import Media

/// The authenticated client.
package enum Identity: Hashable, Sendable, CustomStringConvertible {
    /// There are no accounts.
    case anonymous
    /// A person, authenticated by the login cookie. The value is the account's name.
    case user(String)
    /// A script, by its token.
    case script(String)
    /// The holder of a link.
    case link

    /// The text for the log.
    package var description: String {
        switch self {
        case .anonymous: "without an account"
        case .user(let name): name
        case .script(let name): "\(name) (token)"
        case .link: "a link"
        }
    }
}

/// The unverified credentials of a request.
package struct Credentials: Hashable, Sendable {
    /// The `Cookie` header; several of them joined by `; ` (RFC 9113 §8.2.3).
    package var cookie: String?
    /// The `Authorization` header.
    package var authorization: String?
    /// Not decoded, without the query.
    package var path: String
    /// Not decoded, without the question mark.
    package var query: String?
    /// The peer's address, numeric, without a port; behind a proxy, the address from the proxy.
    package var remoteAddress: String

    package init(
        cookie: String? = nil, authorization: String? = nil, path: String = "/",
        query: String? = nil, remoteAddress: String
    ) {
        self.cookie = cookie
        self.authorization = authorization
        self.path = path
        self.query = query
        self.remoteAddress = remoteAddress
    }
}

/// The credentials and rights of a streaming response (``Access/isValid(_:now:)``).
package struct AccessPass: Hashable, Sendable {
    package enum Proof: Hashable, Sendable {
        /// There are no accounts.
        case anonymous
        case token(TokenDigest)
        case logIn(LogInSession)
        /// Path and query of a link to `/embed/SOURCE`, and the path of the request.
        case link(String, path: String)
        /// A link does not open endless answers.
        case other
    }

    package let rights: Rights
    package let proof: Proof
}

/// The same instant on two clocks.
package struct AccessTime: Hashable, Sendable {
    /// UTC, for expiry.
    package var secondsSince1970: Int64
    /// A clock for limits, which clients cannot influence.
    package var monotonicNanoseconds: Int64

    package init(secondsSince1970: Int64, monotonicNanoseconds: Int64) {
        self.secondsSince1970 = secondsSince1970
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    package static func now() -> AccessTime {
        AccessTime(
            secondsSince1970: SystemClock.utc.nowNanoseconds / 1_000_000_000,
            monotonicNanoseconds: SystemClock.monotonic.nowNanoseconds)
    }
}
