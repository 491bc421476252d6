import Archive
import ExportCore
import Synchronization

/// Keeps the indices of virtual movies between the requests of one player, which reads a file in many ranges.
///
/// A movie is kept while its files are what they were: what is asked for again is looked up by the range and by the state of the source.
final class MovieCache: Sendable {
    /// All indices together, bytes.
    private static let capacityBytes = 256 << 20
    /// Each keeps its files open, two for a short clip.
    private static let maximumMovies = 128

    /// What a movie was made of.
    struct Key: Hashable, Sendable {
        var session: String
        var source: String
        var fromNanoseconds: Int64?
        var untilNanoseconds: Int64?
        /// Names, sizes and revisions of the files in the range.
        var state: Digest
    }

    private struct Entry {
        var movie: VirtualMovie
        var used: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var bytes = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    /// All that are kept.
    var keptBytes: Int { state.withLock { $0.bytes } }

    /// The movie; made with `make` when it is not there. Two requests at once may both make it.
    func movie(
        _ key: Key, make: () throws -> VirtualMovie
    ) throws -> VirtualMovie {
        let known = state.withLock { state -> VirtualMovie? in
            state.clock += 1
            state.entries[key]?.used = state.clock
            return state.entries[key]?.movie
        }
        if let known { return known }
        let movie = try make()
        state.withLock { state in
            guard movie.memoryBytes <= Self.capacityBytes / 2, state.entries[key] == nil else {
                return
            }
            state.bytes += movie.memoryBytes
            state.entries[key] = Entry(movie: movie, used: state.clock)
            while state.bytes > Self.capacityBytes || state.entries.count > Self.maximumMovies,
                let oldest = state.entries.min(by: { $0.value.used < $1.value.used })
            {
                state.bytes -= oldest.value.movie.memoryBytes
                state.entries.removeValue(forKey: oldest.key)
            }
        }
        return movie
    }
}
