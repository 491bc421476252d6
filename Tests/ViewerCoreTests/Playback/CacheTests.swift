import Archive
import ExportCore
import HTTPTypes
import Hummingbird
import Library
import NIOCore
import Recordings
import Testing
import TestRecordings

@testable import ViewerCore

/// Indices of movies that are kept between the requests of a player.
@Suite struct MovieCacheTests {
    /// The limit of all indices together.
    private static let capacityBytes = 256 << 20
    /// Never stopped: it exists for the process's lifetime.
    private static let threads = ReadingThreads(count: 1)

    private func movie(_ session: WrittenSession, from: Int64? = nil) throws -> VirtualMovie {
        let recording = try RecordedSession(WrittenSession.name, in: session.layout)
        return try VirtualMovie(
            ExportRange(
                source: try #require(recording.source("camera")), sessionZero: recording.zero,
                startNanoseconds: from))
    }

    private func key(_ number: Int64?, state: String = "") -> MovieCache.Key {
        MovieCache.Key(
            session: WrittenSession.name, source: "camera", fromNanoseconds: number,
            untilNanoseconds: nil, state: Digest(of: Array(state.utf8)))
    }

    @Test func `a movie is made once for each range and state of the source`() throws {
        let session = try WrittenSession { _ in 0 }
        let cache = MovieCache()
        var made = 0
        func get(_ key: MovieCache.Key) throws -> Digest {
            try cache.movie(key) {
                made += 1
                return try movie(session, from: key.fromNanoseconds)
            }.tag
        }
        let whole = try get(key(nil))
        let again = try get(key(nil))
        #expect(made == 1 && whole == again)
        let part = try get(key(1_000_000_000))
        #expect(made == 2 && part != whole)
        _ = try get(key(nil, state: "retimed"))
        #expect(made == 3)
        let still = try get(key(1_000_000_000))
        #expect(made == 3 && still == part)
    }

    @Test func `a failure is not cached`() throws {
        struct Failure: Error {}
        let session = try WrittenSession { _ in 0 }
        let cache = MovieCache()
        for _ in 0..<2 {
            #expect(throws: Failure.self) { try cache.movie(key(nil)) { throw Failure() } }
        }
        let movie = try movie(session)
        let found = try cache.movie(key(nil)) { movie }
        #expect(found.tag == movie.tag)
    }

    @Test func `bytes being read are limited, a movie of several readers counts once`() throws {
        let session = try WrittenSession { _ in 0 }
        let movie = try movie(session)
        let size = movie.memoryBytes
        let cache = MovieCache(maximumReadBytes: 2 * size + size / 2)
        func reading(_ number: Int64) throws -> MovieReading {
            try cache.movie(key(number)) { movie }
        }
        var first: [MovieReading] = try [reading(1), reading(1), reading(1)]
        let second = try reading(2)
        #expect(cache.readBytes == 2 * size && first.count == 3)
        let refused = #expect(throws: Problem.self) { try reading(3) }
        #expect(refused?.status.code == 503)
        // It was built and stays for later requests.
        #expect(cache.keptBytes == 3 * size && cache.readBytes == 2 * size)
        first.removeLast()
        #expect(throws: Problem.self) { try reading(3) }
        // Another answer about the same movie adds no memory.
        first.append(try reading(1))
        #expect(cache.readBytes == 2 * size)
        first.removeAll()
        #expect(cache.readBytes == size)
        let third = try #require(try cache.known(key(3)))
        #expect(cache.readBytes == 2 * size && third.tag == second.tag)
        withExtendedLifetime((second, third)) {}
    }

    @Test func `a movie that is being read is not made again, even if it was evicted`() throws {
        let session = try WrittenSession { _ in 0 }
        let movie = try movie(session)
        let cache = MovieCache()
        var made = 0
        func reading(_ number: Int64) throws -> MovieReading {
            try cache.movie(key(number)) {
                made += 1
                return movie
            }
        }
        var first: MovieReading? = try reading(0)
        // As many as are kept: it leaves.
        for number in 1...128 { _ = try reading(Int64(number)) }
        #expect(made == 129)
        let again = try reading(0)
        #expect(made == 129 && first?.tag == again.tag)
        #expect(cache.readBytes == movie.memoryBytes)
        first = nil
        #expect(cache.readBytes == movie.memoryBytes)
        withExtendedLifetime(again) {}
    }

    @Test func `an answer counts until it is released, and HEAD does not count`() throws {
        let session = try WrittenSession { _ in 0 }
        let movie = try movie(session)
        let cache = MovieCache()
        func answer(_ method: HTTPRequest.Method) throws -> Response {
            let head = HTTPRequest(
                method: method, scheme: "http", authority: "localhost", path: "/media.mp4")
            let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
            let reading = try cache.movie(key(nil)) { movie }
            let file = FileAnswer(file: reading, contentType: "video/mp4", tag: "abc")
            return file.response(to: request, in: Self.threads)
        }
        var answers = try [answer(.get), answer(.get)]
        #expect(cache.readBytes == movie.memoryBytes && answers.count == 2)
        answers.removeLast()
        #expect(cache.readBytes == movie.memoryBytes)
        answers.removeLast()
        #expect(cache.readBytes == 0)
        answers.append(try answer(.head))
        #expect(cache.readBytes == 0 && answers[0].status == .ok)
    }

    @Test func `the cache is bounded, and the least recently used movie is evicted`() throws {
        let session = try WrittenSession { _ in 0 }
        let movie = try movie(session)
        try #require(movie.memoryBytes > 1_000)
        let cache = MovieCache()
        var made = 0
        func get(_ number: Int) throws {
            _ = try cache.movie(key(Int64(number))) {
                made += 1
                return movie
            }
        }
        let count = Self.capacityBytes / movie.memoryBytes + 3
        for number in 0..<count {
            try get(number)
            // Requested repeatedly.
            try get(0)
        }
        #expect(made == count)
        try get(0)
        try get(count - 1)
        #expect(made == count)
        // The second that came is the first that left.
        try get(1)
        #expect(made == count + 1)
    }
}

/// Small pictures that are kept.
@Suite struct PictureCacheTests {
    private static let capacityBytes = 64 << 20

    private func key(_ number: Int64, width: Int = 160, revision: UInt32 = 0) -> PictureCache.Key {
        PictureCache.Key(
            session: "session", source: "camera", revision: revision, atNanoseconds: number,
            width: width)
    }

    /// The first picture as well as one at an instant.
    @Test(arguments: [nil, 1_000_000_000] as [Int64?])
    func `retiming changes the key, and undoing it restores it`(at: Int64?) throws {
        let session = try WrittenSession(error: WrittenSession.settling)
        func key() throws -> PictureCache.Key {
            let recording = try RecordedSession(WrittenSession.name, in: session.layout)
            return try PictureCache.Key(
                try #require(recording.source("camera")), session: recording.name,
                atNanoseconds: at, width: 160)
        }
        let before = try key()
        #expect(before.file != nil)
        try session.retime()
        let after = try key()
        #expect(after != before && after.revision != before.revision)
        try session.undoRetiming()
        let restored = try key()
        #expect(restored == before)
    }

    private func picture(_ number: Int64, sizeBytes: Int = 10) -> PictureCache.Picture {
        PictureCache.Picture(
            bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: sizeBytes),
            atNanoseconds: number)
    }

    @Test func `a picture is found by all of its key`() {
        let cache = PictureCache()
        #expect(cache.picture(key(1)) == nil)
        cache.keep(picture(1), for: key(1))
        #expect(cache.picture(key(1))?.bytes == picture(1).bytes)
        #expect(cache.picture(key(1))?.atNanoseconds == 1)
        #expect(cache.picture(key(2)) == nil)
        #expect(cache.picture(key(1, width: 320)) == nil)
        #expect(cache.picture(key(1, revision: 7)) == nil)
        var other = key(1)
        other.source = "other"
        #expect(cache.picture(other) == nil)
    }

    @Test func `the first picture for a key is kept`() {
        let cache = PictureCache()
        cache.keep(picture(1), for: key(1))
        cache.keep(picture(2), for: key(1))
        #expect(cache.picture(key(1))?.atNanoseconds == 1)
    }

    @Test func `the cache is bounded, and the least recently used picture is evicted`() {
        let cache = PictureCache()
        let size = 4 << 20
        let bytes = picture(0, sizeBytes: size).bytes
        let count = Int64(Self.capacityBytes / size) + 1
        for number in 0..<count {
            #expect(cache.picture(key(number)) == nil)
            cache.keep(
                PictureCache.Picture(bytes: bytes, atNanoseconds: number), for: key(number))
            // Requested repeatedly.
            #expect(cache.picture(key(0)) != nil)
        }
        let kept = (0..<count).filter { cache.picture(key($0)) != nil }
        #expect(kept.count * size <= Self.capacityBytes)
        #expect(kept.first == 0 && kept.last == count - 1)
        // All others that are left came after those that are not.
        let youngest = count - Int64(kept.count) + 1
        #expect(Array(kept.dropFirst()) == Array(youngest..<count))
    }

    @Test func `a picture that would evict all others is not kept`() {
        let cache = PictureCache()
        cache.keep(picture(1), for: key(1))
        cache.keep(picture(2, sizeBytes: Self.capacityBytes), for: key(2))
        #expect(cache.picture(key(1)) != nil && cache.picture(key(2)) == nil)
    }
}
