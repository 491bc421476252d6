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

    private func commands() -> CollectorCommands {
        CollectorCommands(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
            [directory = place.directory] _ in [directory]
        }
    }

    @Test func `what hangs holds up requests about its own source only, and for a while`()
        async throws
    {
        let socket = try SilentSocket(at: ArchiveLayout(root: place.directory).commands)
        defer { withExtendedLifetime(socket) {} }
        let commands = commands()
        await withTaskGroup(of: String.self) { group in
            for _ in 0...CollectorCommands.maximumOfSubject {
                group.addTask { await Self.answer(commands, about: .source("door")) }
            }
            // The excess one is refused immediately; the others after five seconds without a sign of life from the
            // collector.
            let first = await group.next() ?? ""
            #expect(first.contains("source door have not been answered yet"))
            let other = await Self.answer(commands, about: .source("stage"))
            #expect(other == "the collector has not answered: see the viewer's log")
            for await answer in group {
                #expect(answer == "the collector has not answered: see the viewer's log")
            }
        }
        let later = await Self.answer(commands, about: .source("door"))
        #expect(later == "the collector has not answered: see the viewer's log")
    }

    @Test func `who is cancelled does not wait for an answer`() async throws {
        let socket = try SilentSocket(at: ArchiveLayout(root: place.directory).commands)
        defer { withExtendedLifetime(socket) {} }
        let commands = commands()
        let asking = Task { try await commands.ask(.status, about: .session("s")) }
        asking.cancel()
        let outcome = await asking.result
        // Waiting requests fail with "the collector has not answered" after five seconds.
        #expect(throws: CancellationError.self) { _ = try outcome.get() }
    }

    private static func answer(
        _ commands: CollectorCommands, about subject: CollectorCommands.Subject
    ) async -> String {
        do {
            return "\(try await commands.ask(.status, about: subject))"
        } catch let problem as Problem {
            return problem.text
        } catch {
            return "\(error)"
        }
    }
}
