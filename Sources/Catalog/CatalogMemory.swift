import Archive
import Media
import Synchronization

/// Keeps answers of a catalog on a server for two seconds, so that the server's load does not grow with the number of a
/// viewer's readers.
final class CatalogMemory: Sendable {
    /// A query of one archive, with its parameters.
    enum Question: Hashable, Sendable {
        case sessions(from: Int64?, until: Int64?)
        case segments(session: String?, from: Int64?, until: Int64?)
        case growingSegments(session: String)
        case sessionNames
    }

    private struct Key: Hashable {
        var archive: ArchiveIdentity
        var question: Question
    }

    private struct Entry {
        var answer: any Sendable
        var rows: Int
        var untilNanoseconds: Int64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var rows = 0
        /// Answers that were asked for before they were forgotten are not kept.
        var generation: UInt64 = 0
    }

    static let lifetimeNanoseconds: Int64 = 2_000_000_000
    /// Maximum rows of all kept answers. A larger answer is not kept.
    static let maximumRows = 50_000
    /// Readers choose time ranges, so the number of questions is unlimited.
    static let maximumAnswers = 1_024

    private let now: @Sendable () -> Int64
    private let state = Mutex(State())

    /// - Parameter now: a monotonic clock, nanoseconds.
    init(now: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }) {
        self.now = now
    }

    /// The kept answer, or the result of a query, which is then kept. If several threads ask at once, each executes the query.
    func answer<Row: Sendable>(
        _ question: Question, of archive: ArchiveIdentity,
        query: () throws(ArchiveError) -> [Row]
    ) throws(ArchiveError) -> [Row] {
        let key = Key(archive: archive, question: question)
        let time = now()
        let (kept, generation) = state.withLock { state in
            let entry = state.entries[key].flatMap { $0.untilNanoseconds > time ? $0 : nil }
            // The rows of a question have one type.
            return (entry?.answer as? [Row], state.generation)
        }
        if let kept { return kept }
        let answer = try query()
        state.withLock { state in
            guard state.generation == generation else { return }
            for (key, entry) in state.entries where entry.untilNanoseconds <= time {
                state.rows -= entry.rows
                state.entries[key] = nil
            }
            let rows = answer.count + 1
            let replaced = state.entries[key]?.rows ?? 0
            guard state.rows - replaced + rows <= Self.maximumRows,
                state.entries.count < Self.maximumAnswers
            else { return }
            state.rows += rows - replaced
            state.entries[key] = Entry(
                answer: answer, rows: rows, untilNanoseconds: time + Self.lifetimeNanoseconds)
        }
        return answer
    }

    /// Discards all kept answers, because the catalog was changed. Answers of queries in progress are not kept.
    func forget() {
        state.withLock { state in
            state.entries = [:]
            state.rows = 0
            state.generation += 1
        }
    }
}
