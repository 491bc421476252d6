import Logging
import Media
import RTSPServer
import Synchronization
import TestAccounts
import Testing

@testable import Accounts
@testable import ViewerCore

@Suite struct RTSPLogInTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func answer(
        _ credentials: ClientCredentials?, _ access: Access
    ) async -> (Rights?, ServerStatus?, Bool) {
        switch await RTSPLogIn(access: access, logger: Self.logger).check(
            credentials, from: "192.0.2.7")
        {
        case .allowed(_, let rights, let pass):
            (rights, nil, access.isValid(pass, now: .now()))
        case .refused(let status): (nil, status, false)
        }
    }

    @Test func `a token is a password with any name, and accounts use their own names`()
        async throws
    {
        let scene = AccessScene()
        try scene.add("anna", sources: .named(["stage"]))
        let token = try scene.users.addScript("recorder", sources: .named(["door"]))
        let access = try scene.access()
        let none = await answer(nil, access)
        #expect(none.1 == .unauthorized)
        for credentials in [
            ClientCredentials.token(token), .basic(name: "x", password: token),
        ] {
            let (rights, _, goesOn) = await answer(credentials, access)
            #expect(rights?.sources == .named(["door"]) && goesOn)
        }
        let own = await answer(.basic(name: "anna", password: AccessSample.password), access)
        #expect(own.0?.sources == .named(["stage"]) && own.2)
        let wrong = await answer(
            .basic(name: "anna", password: AccessSample.otherPassword), access)
        #expect(wrong.1 == .unauthorized)
        var last: ServerStatus?
        for _ in 0..<200 {
            last = await answer(.token(AccessToken.random().text), access).1
        }
        #expect(last == .unavailable, "guesses are limited")
        let right = await answer(.token(token), access)
        #expect(right.0 != nil, "a right token is never refused")
    }

    @Test func `a refused log-in is in the log once in ten seconds, and so is the lock-out`()
        async throws
    {
        let scene = AccessScene()
        try scene.add("anna")
        let lines = LogLines()
        let logIn = RTSPLogIn(
            access: try scene.access(), logger: Logger(label: "test") { _ in lines })
        // Clients ask without credentials first.
        _ = await logIn.check(nil, from: "192.0.2.7")
        #expect(lines.all.isEmpty)
        let wrong = ClientCredentials.basic(name: "anna", password: AccessSample.otherPassword)
        _ = await logIn.check(wrong, from: "192.0.2.7")
        #expect(lines.all == ["RTSP: a log-in from 192.0.2.7 was refused"])
        for _ in 0..<200 {
            _ = await logIn.check(.token(AccessToken.random().text), from: "192.0.2.7")
        }
        #expect(lines.all.count == 2)
        let last = lines.all.last ?? ""
        #expect(last.hasPrefix("RTSP: log-ins from 192.0.2.7 are refused for "))
        #expect(last.hasSuffix(" s after too many attempts"))
    }

    @Test func `without accounts, every client may see everything`() async throws {
        let access = try AccessScene().access(hasAccounts: false)
        for credentials in [nil, ClientCredentials.token("x"), .basic(name: "a", password: "b")] {
            let (rights, _, goesOn) = await answer(credentials, access)
            #expect(rights == .everything && goesOn)
        }
    }
}

/// Collects the lines of a log.
private final class LogLines: LogHandler {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    var logLevel: Logger.Level {
        get { .info }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
}

@Suite struct RecordingPaceTests {
    @Test func `samples keep their intervals`() {
        var pace = RecordingPace()
        let second: Int64 = 1_000_000_000
        #expect(pace.due(100 * second, now: 5) == 5)
        #expect(pace.due(101 * second, now: 6) == 5 + second)
        #expect(pace.due(111 * second, now: 7) == 5 + 11 * second)
        // Sound that lies before the last picture.
        #expect(pace.due(110 * second, now: 9) == 5 + 10 * second)
    }

    @Test func `after waiting for a recording that grows, samples are not sent all at once`() {
        var pace = RecordingPace()
        #expect(pace.due(0, now: 0) == 0)
        pace.restart()
        #expect(pace.due(1, now: 100) == 100)
        #expect(pace.due(2, now: 100) == 101)
    }
}
