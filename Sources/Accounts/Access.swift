import Files
import Synchronization
package import Threads

/// Authenticates requests by cookie, token or signed link, with the file of accounts. Any thread may call.
///
/// The file is reloaded when it changes. While it is invalid, the last accounts remain valid.
package final class Access: Sendable {
    /// The reason for refusing a request.
    package enum Refusal: Hashable, Sendable, CustomStringConvertible {
        case notLoggedIn
        case wrongToken
        case linkExpired
        case linkInvalid
        /// A link to a frame was used for another file of its source.
        case linkOfFrame(address: String)
        /// The account that made it has changed, or is gone.
        case linkEnded
        case tooManyAttempts(seconds: Int)

        package var description: String {
            switch self {
            case .notLoggedIn: "log in first"
            case .wrongToken: "this token is not valid: ask for a new one"
            case .linkExpired: "this link has expired: ask for a new one"
            case .linkInvalid: "this link is not valid: copy it completely"
            case .linkOfFrame(let address):
                "this link opens \(address) only: make a link for this address"
            case .linkEnded:
                "this link has ended with the log-ins of the account that made it: ask for a new one"
            case .tooManyAttempts(let seconds): "too many attempts: try again in \(seconds) s"
            }
        }
    }

    package enum Answer: Hashable, Sendable {
        /// - Parameter renewedCookie: a value for `Set-Cookie`, when the log-in's time has been extended.
        case allowed(Identity, Rights, renewedCookie: String?)
        case refused(Refusal)
    }

    /// Result of a log-in.
    package enum LogIn: Hashable, Sendable {
        /// - Parameter cookie: a value for `Set-Cookie`.
        case succeeded(Rights, cookie: String)
        /// Unknown account or wrong password, without distinction.
        case wrong
        case tooManyAttempts(seconds: Int)
        /// Too many passwords are being verified: try again.
        case busy
    }

    /// Result of a log-in, for the metrics.
    package enum LogInResult: String, Hashable, Sendable, CaseIterable {
        case succeeded, wrong, limited, busy
    }

    /// Minimum interval of checks of the file of accounts.
    private static let lookNanoseconds: Int64 = 1_000_000_000
    /// Maximum wait of a request for such a read.
    private static let readMilliseconds = 200
    /// Maximum length of an `Authorization` header with a token, bytes: `Bearer`, spaces and the token.
    private static let maximumAuthorizationBytes = 256
    /// `Link` and an address.
    private static let maximumLinkBytes = 1_280

    /// State with a file of accounts.
    private struct AccountFiles {
        let file: UserFile
        let key: AccessKey
    }

    private struct State {
        var index: AccountIndex
        /// State of the file of ``index``; nil: it has to be read again.
        var mark: SmallFile.Mark?
        /// Monotonic, nanoseconds.
        var nextLook: Int64
        /// A read is in progress.
        var isReading = false
        /// Already reported.
        var flaw: AccessError?
        var limiter = LogInLimiter()
        var results: [LogInResult: UInt64] = [:]
        var revoked = RevokedSessions()
    }

    private let accounts: AccountFiles?
    private let cookie: SessionCookie
    private let hashing: BlockingWorkQueue
    /// By address, so that many attempts from one address do not delay others.
    private let turns = AsyncLimit(
        maximumHashes, waiting: maximumWaiting, ofOwner: maximumWaitingOfNetwork,
        whenFull: .displacesFrequent)
    private let slowLanes: SlowLanes
    private let report: @Sendable (String) -> Void
    private let state: Mutex<State>

    /// Reads the accounts, and creates the key if it is missing.
    /// - Parameters:
    ///   - users: nil: no accounts, every client may do everything.
    ///   - isSecure: browsers use TLS.
    ///   - report: receives log lines; called on any thread.
    /// - Throws: if the file is missing or invalid.
    package init(
        users: UserFile?, isSecure: Bool, now: AccessTime,
        hashing: BlockingWorkQueue = Access.hashingQueue(), slowLanes: SlowLanes = SlowLanes(),
        report: @escaping @Sendable (String) -> Void
    ) throws(AccessError) {
        var index = AccountIndex()
        var mark: SmallFile.Mark?
        if let users {
            let content = try users.read()
            let key = try AccessKey.load(for: users)
            accounts = AccountFiles(file: users, key: key)
            (index, mark) = (AccountIndex(content.accounts, key: key), content.mark)
        } else {
            accounts = nil
        }
        cookie = SessionCookie(isSecure: isSecure)
        self.hashing = hashing
        self.slowLanes = slowLanes
        self.report = report
        state = Mutex(
            State(
                index: index, mark: mark,
                nextLook: now.monotonicNanoseconds + Access.lookNanoseconds))
    }

    /// The queue of threads that compute password hashes. Each hash needs 32 MiB and one processor.
    package static func hashingQueue() -> BlockingWorkQueue {
        BlockingWorkQueue(
            "password hash", maximumRunning: maximumHashes, maximumWaiting: maximumHashes)
    }

    private static let maximumHashes = 2
    /// Passwords that wait to be verified: eight seconds of work.
    private static let maximumWaiting = 64
    private static let maximumWaitingOfNetwork = 4
    /// Answer when a slow lane is full: the time that its present requests need.
    private static let slowLaneSeconds = 20

    /// Whether there are accounts to log in with.
    package var hasAccounts: Bool { accounts != nil }

    // MARK: Requests

    /// Authenticates a request. A link takes precedence over a token, and a token over a cookie.
    package func check(_ credentials: Credentials, now: AccessTime) -> Answer {
        guard let accounts else { return .allowed(.anonymous, .everything, renewedCookie: nil) }
        refresh(accounts, now)
        if let query = credentials.query, SignedLink.isLink(query) {
            return check(linkTo: credentials.path, query: query, accounts.key, now)
        }
        if let address = Self.linkAddress(credentials.authorization) {
            return check(embedding: address, credentials.path, accounts.key, now)
        }
        if let token = Self.bearerToken(credentials.authorization) {
            return check(token: token, from: credentials.remoteAddress, now)
        }
        if let header = credentials.cookie, let text = cookie.value(in: header) {
            return check(session: text, accounts.key, now)
        }
        return .refused(.notLoggedIn)
    }

    private func check(
        linkTo path: String, query: String, _ key: AccessKey, _ now: AccessTime
    ) -> Answer {
        let verdict = SignedLink.verify(
            path: path, query: query, key: key, now: now.secondsSince1970)
        switch verdict {
        case .valid(let link):
            let account = state.withLock { $0.index.account(of: link.maker) }
            guard let account, account.rights.mayRead(link.target.source) else {
                return .refused(.linkEnded)
            }
            return .allowed(.link, link.rights, renewedCookie: nil)
        case .expired: return .refused(.linkExpired)
        case .invalid:
            let frame = SignedLink.misusedEmbedding(
                path: path, query: query, key: key, now: now.secondsSince1970)
            return .refused(frame.map { .linkOfFrame(address: $0) } ?? .linkInvalid)
        }
    }

    /// A link to `/embed/SOURCE` also authorises the requests of that page.
    private func check(
        embedding address: String, _ path: String, _ key: AccessKey, _ now: AccessTime
    ) -> Answer {
        let parts = address.split(separator: "?", maxSplits: 1).map { String($0) }
        guard parts.count == 2, SignedLink.isLink(parts[1]), parts[0].hasPrefix("/embed/") else {
            return .refused(.linkInvalid)
        }
        let answer = check(linkTo: parts[0], query: parts[1], key, now)
        guard case .allowed = answer else { return answer }
        let source = String(parts[0].dropFirst("/embed/".count))
        return SignedLink.isOfEmbedding(path, of: source) ? answer : .refused(.linkInvalid)
    }

    /// A valid token is never refused, however many invalid ones are sent from its address: tokens cannot be guessed.
    private func check(token text: String, from address: String, _ now: AccessTime) -> Answer {
        let digest = AccessToken(text: text)?.digest
        let network = RemoteNetwork(address)
        return state.withLock { state -> Answer in
            if let digest, let account = state.index.account(token: digest) {
                return .allowed(.script(account.name), account.rights, renewedCookie: nil)
            }
            switch state.limiter.begin(nil, from: network, now: now.monotonicNanoseconds) {
            case .refused(let seconds): return .refused(.tooManyAttempts(seconds: seconds))
            case .begun: return .refused(.wrongToken)
            }
        }
    }

    /// The refusal of a site's reader whose code is wrong; it counts as a wrong token from that address.
    package func refusal(ofReaderFrom address: String, now: AccessTime) -> Refusal {
        state.withLock { state in
            switch state.limiter.begin(
                nil, from: RemoteNetwork(address), now: now.monotonicNanoseconds)
            {
            case .refused(let seconds): .tooManyAttempts(seconds: seconds)
            case .begun: .wrongToken
            }
        }
    }

    private func check(session text: String, _ key: AccessKey, _ now: AccessTime) -> Answer {
        let seconds = now.secondsSince1970
        guard let session = LogInSession(text: text, key: key, now: seconds) else {
            return .refused(.notLoggedIn)
        }
        guard let account = account(of: session, key) else { return .refused(.notLoggedIn) }
        let renewed = session.renewed(now: seconds).map {
            cookie.setting($0, key: key, now: seconds)
        }
        return .allowed(.user(account.name), account.rights, renewedCookie: renewed)
    }

    /// The account of a log-in that has not been ended, of any age.
    private func account(of session: LogInSession, _ key: AccessKey) -> UserAccount? {
        let found = state.withLock { state -> UserAccount? in
            state.revoked.contains(session) ? nil : state.index.account(named: session.name)
        }
        guard let found, session.isOf(found, key: key) else { return nil }
        return found
    }

    // MARK: Endless answers

    /// A pass for a streaming response, which is checked again while it is sent.
    /// - Parameters:
    ///   - credentials: of a request that was allowed.
    ///   - rights: its rights.
    package func pass(_ credentials: Credentials, _ rights: Rights, now: AccessTime) -> AccessPass {
        guard let accounts else { return AccessPass(rights: rights, proof: .anonymous) }
        if let address = Self.linkAddress(credentials.authorization) {
            return AccessPass(rights: rights, proof: .link(address, path: credentials.path))
        }
        if let token = Self.bearerToken(credentials.authorization),
            let digest = AccessToken(text: token)?.digest
        {
            return AccessPass(rights: rights, proof: .token(digest))
        }
        if let header = credentials.cookie, let text = cookie.value(in: header),
            let session = LogInSession(text: text, key: accounts.key, now: now.secondsSince1970)
        {
            return AccessPass(rights: rights, proof: .logIn(session))
        }
        return AccessPass(rights: rights, proof: .other)
    }

    /// Whether a streaming response may continue: its log-in is still valid, and the account's rights are unchanged.
    ///
    /// The log-in does not expire in the meantime, because reading the response is activity.
    package func isValid(_ pass: AccessPass, now: AccessTime) -> Bool {
        guard let accounts else { return true }
        refresh(accounts, now)
        switch pass.proof {
        case .anonymous, .other: return false
        case .link(let address, let path):
            let answer = check(embedding: address, path, accounts.key, now)
            guard case .allowed = answer else { return false }
            return true
        case .token(let digest):
            return state.withLock { $0.index.account(token: digest)?.rights == pass.rights }
        case .logIn(let session): return account(of: session, accounts.key) != nil
        }
    }

    /// The address of `Link ADDRESS`: path and query of a link.
    package static func linkAddress(_ header: String?) -> String? {
        guard let header, header.utf8.count <= maximumLinkBytes, header.hasPrefix("Link ") else {
            return nil
        }
        return String(header.dropFirst("Link ".count))
    }

    /// The token of `Bearer TOKEN` (RFC 6750 §2.1); nil for other schemes, which a proxy in front may use for itself.
    package static func bearerToken(_ header: String?) -> String? {
        guard let header, header.utf8.count <= maximumAuthorizationBytes else { return nil }
        let words = header.split(separator: " ")
        guard let scheme = words.first, scheme.lowercased() == "bearer" else { return nil }
        return words.count == 2 ? String(words[1]) : ""
    }

    // MARK: Logging in and out

    /// Counts of all log-ins since the start.
    package var logInResults: [LogInResult: UInt64] { state.withLock { $0.results } }

    /// Verifies a password.
    /// - Parameter address: of the peer, as in ``Credentials/remoteAddress``.
    package func logIn(
        name: String, password: String, from address: String, now: AccessTime
    ) async -> LogIn {
        let logIn = await attempt(name, password, from: address, now)
        let result: LogInResult =
            switch logIn {
            case .succeeded: .succeeded
            case .wrong: .wrong
            case .tooManyAttempts: .limited
            case .busy: .busy
            }
        state.withLock { $0.results[result, default: 0] += 1 }
        return logIn
    }

    private func attempt(
        _ name: String, _ password: String, from address: String, _ now: AccessTime
    ) async -> LogIn {
        guard let accounts else { return .wrong }
        refresh(accounts, now)
        // Invalid names have no account, and are not counted.
        let counted = UserName.isValid(name) ? name : nil
        let (beginning, account, cost) = state.withLock {
            state -> (LogInLimiter.Beginning, UserAccount?, PasswordHash.Cost) in
            let beginning = state.limiter.begin(
                counted, from: RemoteNetwork(address), now: now.monotonicNanoseconds)
            return (
                beginning, counted.flatMap { state.index.account(named: $0) },
                state.index.decoyCost(
                    counted ?? "", key: accounts.key, otherwise: .standard)
            )
        }
        let attempt: LogInLimiter.Attempt
        switch beginning {
        case .refused(let seconds): return .tooManyAttempts(seconds: seconds)
        case .begun(let begun): attempt = begun
        }
        let bytes = Array(password.utf8)
        guard PasswordHash.isVerifiable(bytes) else { return .wrong }
        let verify = { @Sendable [self] () async -> LogIn in
            await verification(of: bytes, for: account, otherwise: cost, attempt, accounts.key, now)
        }
        guard attempt.isSlow, let name = attempt.name else { return await verify() }
        let slow = await slowLanes.run(
            name, from: attempt.network, isWrong: { $0 == .wrong }, verify)
        if slow == nil { state.withLock { $0.limiter.giveBack(attempt) } }
        return slow ?? .tooManyAttempts(seconds: Self.slowLaneSeconds)
    }

    private func verification(
        of password: [UInt8], for account: UserAccount?, otherwise cost: PasswordHash.Cost,
        _ attempt: LogInLimiter.Attempt, _ key: AccessKey, _ now: AccessTime
    ) async -> LogIn {
        let hash = account?.passwordHash
        let outcome: Result<Bool, AccessError>?
        do {
            outcome = try await turns.run(for: .network(attempt.network)) { [hashing] in
                await hashing.run { () -> Result<Bool, AccessError> in
                    do throws(AccessError) {
                        return .success(
                            try PasswordHash.verify(password, against: hash, otherwise: cost))
                    } catch {
                        return .failure(error)
                    }
                }
            }
        } catch {
            // The queue is full, or the viewer stops.
            outcome = nil
        }
        switch outcome {
        case .success(let isRight)?:
            guard isRight, let account else { return .wrong }
            state.withLock { $0.limiter.succeeded(attempt) }
            return succeeded(account, key, now)
        case .failure(let error)?:
            state.withLock { $0.limiter.giveBack(attempt) }
            report("\(error)")
            return .busy
        case nil:
            state.withLock { $0.limiter.giveBack(attempt) }
            return .busy
        }
    }

    private func succeeded(
        _ account: UserAccount, _ key: AccessKey, _ now: AccessTime
    ) -> LogIn {
        let session = LogInSession(of: account, key: key, now: now.secondsSince1970)
        return .succeeded(
            account.rights, cookie: cookie.setting(session, key: key, now: now.secondsSince1970))
    }

    /// Ends the log-in of a `Cookie` header.
    /// - Returns: a value for `Set-Cookie` that removes any cookie.
    package func logOut(cookie header: String?, now: AccessTime) -> String {
        if let accounts, let header, let text = cookie.value(in: header),
            let session = LogInSession(
                text: text, key: accounts.key, now: now.secondsSince1970)
        {
            state.withLock { $0.revoked.revoke(session, now: now.secondsSince1970) }
        }
        return cookie.clearing
    }

    // MARK: Links

    /// A signed URL of a file; without accounts, the plain URL.
    ///
    /// It is revoked with the log-ins of the account that created it.
    /// - Parameters:
    ///   - query: without the items of the signature.
    ///   - identity: the creator. A link cannot create further links, which might be valid for longer.
    ///   - rights: of the creator.
    /// - Throws: ``AccessError/linkTooLong(maximumDays:)``, ``AccessError/notLinkable(reason:)``.
    package func link(
        to path: String, query: String, lifeSeconds: Int64, for identity: Identity,
        _ rights: Rights, now: AccessTime
    ) throws(AccessError) -> String {
        guard (1...SignedLink.maximumLifeSeconds).contains(lifeSeconds) else {
            throw .linkTooLong(maximumDays: SignedLink.maximumLifeSeconds / 86_400)
        }
        let target = try SignedLink.Target(path: path, query: query)
        guard identity != .link else {
            throw .notLinkable(reason: "only who may see a source can share it: log in first")
        }
        guard rights.mayRead(target.source) else {
            throw .notLinkable(
                reason:
                    "this account may not see '\(target.source)', and cannot share it: log in with another account"
            )
        }
        guard let accounts else { return target.address }
        let account = state.withLock { $0.index.account(of: identity) }
        guard let account, account.rights.mayRead(target.source) else {
            throw .notLinkable(reason: "the account has changed: log in again")
        }
        return SignedLink(
            target: target, maker: LinkMaker(account, key: accounts.key),
            expires: now.secondsSince1970 + lifeSeconds
        ).text(key: accounts.key)
    }

    // MARK: The file of accounts

    /// Reads the accounts again when that is due. The read has a thread of its own, because the file's disk may not respond:
    /// requests use the previous accounts then.
    private func refresh(_ accounts: AccountFiles, _ now: AccessTime) {
        let time = now.monotonicNanoseconds
        let (isDue, mark) = state.withLock { state -> (Bool, SmallFile.Mark?) in
            guard time >= state.nextLook, !state.isReading else { return (false, nil) }
            state.nextLook = time + Self.lookNanoseconds
            state.isReading = true
            return (true, state.mark)
        }
        guard isDue else { return }
        let isRead = Semaphore(value: 0)
        NamedThread.start("accounts") { [self] in
            read(accounts, mark)
            state.withLock { $0.isReading = false }
            isRead.signal()
        }
        _ = isRead.wait(milliseconds: Self.readMilliseconds)
    }

    private func read(_ accounts: AccountFiles, _ mark: SmallFile.Mark?) {
        do throws(AccessError) {
            if let mark, SmallFile.Mark(of: accounts.file.path) == mark { return }
            let content = try accounts.file.read()
            let index = AccountIndex(content.accounts, key: accounts.key)
            let flaw = state.withLock { state -> AccessError? in
                defer { state.flaw = nil }
                state.index = index
                state.mark = content.mark
                return state.flaw
            }
            if flaw != nil { report("\(accounts.file.path) can be used again") }
        } catch {
            let isNew = state.withLock { state -> Bool in
                defer { state.flaw = error }
                state.mark = nil
                return state.flaw != error
            }
            if isNew { report("\(error); the accounts that were read before still count") }
        }
    }
}
