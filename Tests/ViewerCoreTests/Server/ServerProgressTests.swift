import Dispatch
import Glibc
import Media
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import ViewerCore

/// Counts signs of life.
private final class SignsOfLife: Sendable {
    private let count = Mutex(0)

    var all: Int { count.withLock { $0 } }

    func add() { count.withLock { $0 += 1 } }

    /// Returns when the number has grown by `more`.
    func grow(by more: Int) async throws {
        let goal = all + more
        while all < goal { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// Progress of a viewer's parts.
@Suite(.timeLimit(.minutes(1))) struct ServerProgressTests {
    private static let second: Int64 = 1_000_000_000
    private static let patience: Int64 = 200_000_000

    private func part(
        _ name: String, _ ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) -> ServerProgress.Part {
        ServerProgress.Part(
            name: name, label: name, patienceNanoseconds: Self.patience, ask: ask)
    }

    /// Blocks its executor until the returned semaphore is signalled.
    private func block(_ run: (@escaping @Sendable () -> Void) -> Void) -> DispatchSemaphore {
        let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        run {
            begun.signal()
            gate.wait()
        }
        begun.wait()
        return gate
    }

    /// A part hangs: signs of life stop, and return when it continues.
    private func stops(
        _ progress: ServerProgress, _ name: String, while gate: () -> DispatchSemaphore
    ) async throws {
        let signs = SignsOfLife()
        progress.start { signs.add() }
        defer { progress.stop() }
        try await signs.grow(by: 5)
        #expect(progress.stalled() == nil)
        let blocked = gate()
        while progress.stalled() == nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(progress.stalled()?.hasPrefix("\(name) has been blocked for ") == true)
        // One may have been on its way.
        try await Task.sleep(for: .milliseconds(50))
        let before = signs.all
        try await Task.sleep(for: .milliseconds(300))
        #expect(signs.all == before)
        blocked.signal()
        try await signs.grow(by: 5)
        #expect(progress.stalled() == nil)
    }

    @Test func `one hanging event loop of two is a stall`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let loops = Array(group.makeIterator())
        let parts = zip(["first", "second"], loops).map { name, loop in
            part(name) { run in loop.execute { run() } }
        }
        try await stops(ServerProgress(parts, intervalMilliseconds: 5), "second") {
            block { run in loops[1].execute { run() } }
        }
        try await group.shutdownGracefully()
    }

    @Test func `a stall of all reading threads is detected, and not of one alone`() async throws {
        let threads = ReadingThreads(count: 2, most: 2)
        let one = block { threads.submit($0) }
        let progress = ServerProgress(
            [part("reading") { threads.submit($0) }, part("other") { $0() }],
            intervalMilliseconds: 5)
        try await stops(progress, "reading") { block { threads.submit($0) } }
        one.signal()
        try await threads.stop()
    }

    @Test func `a part that never answers is asked once, and its age grows`() {
        let asked = Mutex(0)
        let progress = ServerProgress(
            [part("mute") { _ in asked.withLock { $0 += 1 } }, part("well") { $0() }],
            intervalMilliseconds: 1)
        let signs = SignsOfLife()
        progress.start { signs.add() }
        while progress.stalled() == nil { usleep(1_000) }
        progress.stop()
        #expect(asked.withLock { $0 } == 1)
        let now = SystemClock.monotonic.nowNanoseconds + 60 * Self.second
        #expect(progress.stalled(now: now) == "mute has been blocked for 60 s")
        let ages = progress.agesByLabel(now: now)
        #expect(ages["well"] == 0)
        #expect(ages["mute", default: 0] >= 60 * Self.second)
    }

    @Test func `reading threads may take longer than event loops, within a limit`() {
        #expect(ServerProgress.patienceNanoseconds == 15 * Self.second)
        #expect(ServerProgress.readingPatienceNanoseconds == 300 * Self.second)
    }
}
