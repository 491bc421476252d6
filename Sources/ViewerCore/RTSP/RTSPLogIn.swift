import Accounts
import RTSPServer

/// Authenticates RTSP clients with the accounts and tokens of HTTP.
struct RTSPLogIn: Sendable {
    enum Answer: Sendable {
        /// - Parameter pass: for checking later that access has not been revoked.
        case allowed(Identity, Rights, AccessPass)
        case refused(ServerStatus)
    }

    let access: Access

    /// - Parameter address: the peer's, numeric, without a port.
    func check(_ credentials: ClientCredentials?, from address: String) async -> Answer {
        var own = Credentials(remoteAddress: address)
        switch credentials {
        case nil: break
        case .token(let token): own.authorization = "Bearer \(token)"
        case .basic(_, let password)
        where AccessToken(text: password) != nil || !access.hasAccounts:
            own.authorization = "Bearer \(password)"
        case .basic(let name, let password):
            let logIn = await access.logIn(
                name: name, password: password, from: address, now: .now())
            switch logIn {
            case .succeeded(_, let cookie): own.cookie = String(cookie.prefix { $0 != ";" })
            case .wrong: return .refused(.unauthorized)
            case .tooManyAttempts, .busy: return .refused(.unavailable)
            }
        }
        let now = AccessTime.now()
        switch access.check(own, now: now) {
        case .allowed(let identity, let rights, _):
            return .allowed(identity, rights, access.pass(own, rights, now: now))
        case .refused(.tooManyAttempts): return .refused(.unavailable)
        case .refused(.notLoggedIn), .refused(.wrongToken), .refused(.linkExpired),
            .refused(.linkInvalid), .refused(.linkOfFrame), .refused(.linkEnded):
            return .refused(.unauthorized)
        }
    }
}
