import Dispatch
import SQLite
import Synchronization

/// Connections of one kind to one catalog. Each is lent to one thread at a time; any thread may ask. Who comes when all are lent waits:
/// every statement has a limit.
final class SQLiteConnectionLane: Sendable {
    private let connect: @Sendable () throws(ArchiveError) -> SQLiteConnection
    private let idle: Mutex<[SQLiteConnection]>
    private let turns: DispatchSemaphore

    /// - Parameters:
    ///   - most: connections at the same time.
    ///   - connect: opens one; it is called when one is needed for the first time.
    init(
        most: Int, connect: @escaping @Sendable () throws(ArchiveError) -> SQLiteConnection
    ) {
        self.connect = connect
        idle = Mutex([])
        turns = DispatchSemaphore(value: most)
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
        // One whose transaction could not be undone is closed, which undoes it.
        defer { if connection.isIdle { idle.withLock { $0.append(connection) } } }
        return try work(connection)
    }

    /// Closes the connections that are not lent.
    func close() { idle.withLock { $0 = [] } }
}
