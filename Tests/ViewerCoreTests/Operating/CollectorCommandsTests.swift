import Archive
import Glibc
import Logging
import TestAccounts
import Testing
import Wire

@testable import ViewerCore

/// A socket that accepts connections and never sends.
private final class SilentSocket {
    private let descriptor: Int32

    init(at path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0 && listen(descriptor, 16) == 0)
    }

    deinit { close(descriptor) }
}

/// Requests to a collector that hangs.
@Suite(.timeLimit(.minutes(1))) struct CollectorCommandsTests {
    private let place = AccessPlace()

    private func commands(
        patienceMilliseconds: Int64 = CollectorCommands.usualPatienceMilliseconds
    ) -> CollectorCommands {
        CollectorCommands(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            patienceMilliseconds: patienceMilliseconds
        ) { [directory = place.directory] _ in [directory] }
    }

    @Test func `hung requests block only requests about their own source`() async throws {
        let commands = commands()
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let gates = (0..<CollectorCommands.maximumOfSubject).map { _ in
            AsyncStream<Void>.makeStream()
        }
        let hung = gates.map { gate in
            Task {
                try await commands.limited(.source("door")) {
                    beginning.yield()
                    for await _ in gate.stream {}
                }
            }
        }
        var starts = begun.makeAsyncIterator()
        for _ in gates { await starts.next() }
        let refusal = await #expect(throws: Problem.self) {
            try await commands.ask(.status, about: .source("door"))
        }
        #expect(refusal?.text.contains("source door have not been answered yet") == true)
        try await commands.limited(.source("stage")) {}
        for gate in gates { gate.continuation.finish() }
        for task in hung { try await task.value }
        try await commands.limited(.source("door")) {}
    }

    @Test func `a collector that does not answer is reported, without its paths`() async throws {
        let socket = try SilentSocket(at: ArchiveLayout(root: place.directory).commands)
        defer { withExtendedLifetime(socket) {} }
        let commands = commands(patienceMilliseconds: 500)
        let problem = await #expect(throws: Problem.self) {
            try await commands.ask(.status, about: .source("door"))
        }
        #expect(problem?.text == "the collector has not answered: see the viewer's log")
    }

    @Test func `a cancelled request ends without an answer`() async throws {
        let socket = try SilentSocket(at: ArchiveLayout(root: place.directory).commands)
        defer { withExtendedLifetime(socket) {} }
        let commands = commands()
        let asking = Task { try await commands.ask(.status, about: .session("s")) }
        asking.cancel()
        let outcome = await asking.result
        // Waiting requests fail with "the collector has not answered" after five seconds.
        #expect(throws: CancellationError.self) { _ = try outcome.get() }
    }
}
