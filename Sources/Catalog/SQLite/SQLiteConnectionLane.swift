import Archive
import Dispatch
import SQLite
import Synchronization
import Threads

/// A pool of connections of one kind to one catalog. Thread-safe; each connection is lent to one thread at a time. If
/// all are lent, callers wait: every statement has a time limit.
final class SQLiteConnectionLane: Sendable {
    private let connect: @Sendable () throws(ArchiveError) -> SQLiteConnection
    private let idle: Mutex<[SQLiteConnection]>
    private let turns: Semaphore

    /// - Parameters:
    ///   - most: maximum number of connections.
    ///   - connect: opens one, when it is needed for the first time.
    init(
        most: Int, connect: @escaping @Sendable () throws(ArchiveError) -> SQLiteConnection
    ) {
        self.connect = connect
        idle = Mutex([])
        turns = Semaphore(value: most)
    }

    func lend<Result>(
        _ work: (SQLiteConnection) throws(ArchiveError) -> Result
    ) throws(ArchiveError) -> Result {
        turns.wait()
        defer { turns.signal() }
        let connection: SQLiteConnection
        if let waiting = idle.withLock({ $0.popLast() }) {
            connection = waiting
        } else {
            connection = try connect()
        }
        // A connection whose transaction could not be rolled back is closed, which rolls it back.
        defer { if connection.isIdle { idle.withLock { $0.append(connection) } } }
        return try work(connection)
    }

    /// Closes the connections that are not lent.
    func close() { idle.withLock { $0 = [] } }
}
