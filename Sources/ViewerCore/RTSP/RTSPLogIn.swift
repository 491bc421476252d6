import Accounts
import Logging
import RTSPServer
import Synchronization
import Wire

/// Authenticates RTSP clients with the accounts and tokens of HTTP.
struct RTSPLogIn: Sendable {
    enum Answer: Sendable {
        /// - Parameter pass: for checking later that access has not been revoked.
        case allowed(Identity, Rights, AccessPass)
        case refused(ServerStatus)
    }

    /// Limits of the log's lines.
    private final class Refusals: Sendable {
        let wrong = Mutex(LogRateLimit())
        let locked = Mutex(LogRateLimit())
    }

    private let access: Access
    private let logger: Logger
    private let refusals = Refusals()

    init(access: Access, logger: Logger) {
        self.access = access
        self.logger = logger
    }

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
            case .wrong:
                noteRefusal(of: address)
                return .refused(.unauthorized)
            case .tooManyAttempts(let seconds):
                noteLock(of: address, seconds: seconds)
                return .refused(.unavailable)
            case .busy: return .refused(.unavailable)
            }
        }
        let now = AccessTime.now()
        switch access.check(own, now: now) {
        case .allowed(let identity, let rights, _):
            return .allowed(identity, rights, access.pass(own, rights, now: now))
        case .refused(.tooManyAttempts(let seconds)):
            noteLock(of: address, seconds: seconds)
            return .refused(.unavailable)
        case .refused(.notLoggedIn), .refused(.wrongToken), .refused(.linkExpired),
            .refused(.linkInvalid), .refused(.linkOfFrame), .refused(.linkEnded):
            // Clients ask without credentials first.
            if credentials != nil { noteRefusal(of: address) }
            return .refused(.unauthorized)
        }
    }

    private func noteRefusal(of address: String) {
        let now = AccessTime.now().monotonicNanoseconds
        guard let more = refusals.wrong.withLock({ $0.pass(address, now: now) }) else { return }
        logger.warning("RTSP: a log-in from \(address) was refused\(Self.text(more))")
    }

    private func noteLock(of address: String, seconds: Int) {
        let now = AccessTime.now().monotonicNanoseconds
        guard let more = refusals.locked.withLock({ $0.pass(address, now: now) }) else { return }
        logger.warning(
            "RTSP: log-ins from \(address) are refused for \(seconds) s after too many attempts\(Self.text(more))"
        )
    }

    private static func text(_ suppressed: Int) -> String {
        suppressed > 0 ? " (\(suppressed) more lines were left out)" : ""
    }
}
