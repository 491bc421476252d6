import NIOPosix

/// Threads for reading files, which blocks: those of the network and of tasks never wait for a disk.
final class ReadingThreads: Sendable {
    /// A disk has several requests to order.
    static let usualCount = 4

    private let pool: NIOThreadPool

    init(count: Int = ReadingThreads.usualCount) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    /// Runs blocking work. What waits is bounded by the number of connections: each waits for one thing.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await pool.runIfActive(work)
    }

    func stop() async throws { try await pool.shutdownGracefully() }
}
