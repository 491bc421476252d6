import Archive
import ExportCore
import HTTPTypes
import Library
import Recordings
import Synchronization

/// Caches the indices of virtual movies between a player's range requests, and limits those in use.
///
/// A movie is found by its range and by the state of its source, and is valid while its files are unchanged.
final class MovieCache: Sendable {
    /// All indices that are kept, bytes.
    private static let capacityBytes = 256 << 20
    /// Each keeps its files open, two for a short clip.
    private static let maximumMovies = 128
    /// All indices that answers are reading, bytes: two of the longest, or 60 of an hour at 60 pictures a second.
    static let maximumReadBytes = 512 << 20

    /// Identifies a movie.
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

    private struct Reading {
        var movie: VirtualMovie
        var answers = 0
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var bytes = 0
        var clock: UInt64 = 0
        /// Movies in use by responses, including removed ones.
        var readings: [Key: Reading] = [:]
        /// Bytes of ``readings``: a movie that several responses use counts once.
        var readBytes = 0

        /// Finds or adds a movie, and counts a response that uses it.
        /// - Parameter made: a new movie; an existing one is preferred.
        /// - Returns: nil if there is none.
        /// - Throws: 503 if too much is in use.
        mutating func begin(
            _ key: Key, made: VirtualMovie? = nil, maximumReadBytes: Int
        ) throws(Problem) -> VirtualMovie? {
            guard let movie = entries[key]?.movie ?? readings[key]?.movie ?? made else {
                return nil
            }
            keep(movie, key)
            if readings[key] == nil {
                guard movie.memoryBytes <= maximumReadBytes - readBytes else {
                    throw Problem(
                        .serviceUnavailable,
                        "too many long clips are being read: try again when others have ended, or ask for a shorter range"
                    )
                }
                readBytes += movie.memoryBytes
                readings[key] = Reading(movie: movie)
            }
            readings[key]?.answers += 1
            return movie
        }

        /// An answer has ended its use of a movie.
        mutating func end(_ key: Key) {
            guard var reading = readings[key] else { return }
            reading.answers -= 1
            if reading.answers == 0 { readBytes -= reading.movie.memoryBytes }
            readings[key] = reading.answers == 0 ? nil : reading
        }

        private mutating func keep(_ movie: VirtualMovie, _ key: Key) {
            clock += 1
            guard entries[key] == nil else {
                entries[key]?.used = clock
                return
            }
            guard movie.memoryBytes <= MovieCache.capacityBytes / 2 else { return }
            bytes += movie.memoryBytes
            entries[key] = Entry(movie: movie, used: clock)
            while bytes > MovieCache.capacityBytes || entries.count > MovieCache.maximumMovies,
                let oldest = entries.min(by: { $0.value.used < $1.value.used })
            {
                bytes -= oldest.value.movie.memoryBytes
                entries.removeValue(forKey: oldest.key)
            }
        }
    }

    private let state = Mutex(State())
    private let maximumReadBytes: Int

    init(maximumReadBytes: Int = MovieCache.maximumReadBytes) {
        self.maximumReadBytes = maximumReadBytes
    }

    /// Bytes of all cached movies.
    var keptBytes: Int { state.withLock { $0.bytes } }

    /// Bytes of all movies in use.
    var readBytes: Int { state.withLock { $0.readBytes } }

    /// A cached movie for one response; nil if it must be made.
    /// - Throws: 503 if too much is in use.
    func known(_ key: Key) throws -> MovieReading? {
        try begin(key, made: nil).map { MovieReading($0, key, self) }
    }

    /// The movie for one response; `make` is called if it is not cached. Concurrent requests may both call it; one result is used.
    /// - Throws: 503 if too much is in use; errors of `make`.
    func movie(_ key: Key, make: () throws -> VirtualMovie) throws -> MovieReading {
        if let known = try known(key) { return known }
        let made = try make()
        return MovieReading(try begin(key, made: made) ?? made, key, self)
    }

    private func begin(_ key: Key, made: VirtualMovie?) throws -> VirtualMovie? {
        let maximumReadBytes = maximumReadBytes
        return try state.withLock { state -> VirtualMovie? in
            try state.begin(key, made: made, maximumReadBytes: maximumReadBytes)
        }
    }

    fileprivate func end(_ key: Key) { state.withLock { $0.end(key) } }
}

/// A movie in use by one answer: its index counts while this object exists.
final class MovieReading: VirtualFile {
    private let movie: VirtualMovie
    private let key: MovieCache.Key
    private let cache: MovieCache

    /// A counted use of a movie.
    fileprivate init(_ movie: VirtualMovie, _ key: MovieCache.Key, _ cache: MovieCache) {
        self.movie = movie
        self.key = key
        self.cache = cache
    }

    deinit { cache.end(key) }

    var tag: Digest { movie.tag }
    var sizeBytes: Int64 { movie.sizeBytes }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try movie.read(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        movie.readCached(at: offset, into: buffer)
    }

    func extents(_ range: Range<Int64>) -> [FileExtent]? { movie.extents(range) }
}
