import HTTPTypes
import Hummingbird
import Library
import NIOCore
import Recordings
import Synchronization
import Testing

@testable import ViewerCore

/// The bytes of a test file: byte N is N modulo 256. Copied from a table, because unoptimised loops over megabytes need seconds.
private func pattern(_ range: Range<Int>) -> ArraySlice<UInt8> {
    let start = range.lowerBound % 256
    return repeated[start..<start + range.count]
}

private let repeated: [UInt8] = {
    var bytes = Array(UInt8.min...UInt8.max)
    while bytes.count < 10 << 20 { bytes += bytes }
    return bytes
}()

/// A file whose bytes are the low eight bits of their offsets.
private struct CountedFile: VirtualFile {
    var sizeBytes: Int64
    /// Readable bytes.
    var presentBytes: Int64
    /// Most that can be had at a time without waiting.
    var cachedBytes = 0
    /// Places that are not in memory.
    var missing: Range<Int64> = 0..<0
    var isLocal = false

    init(_ sizeBytes: Int64, present: Int64? = nil) {
        self.sizeBytes = sizeBytes
        presentBytes = present ?? sizeBytes
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = Int(max(0, min(presentBytes - offset, Int64(buffer.count))))
        buffer.copyBytes(from: pattern(Int(offset)..<Int(offset) + count))
        return count
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        missing.contains(offset)
            ? 0 : read(at: offset, into: .init(rebasing: buffer.prefix(cachedBytes)))
    }

    func extents(_ range: Range<Int64>) -> [FileExtent]? {
        isLocal ? [FileExtent(descriptor: -1, range: range)] : nil
    }
}

/// A connection that is given parts of a ``CountedFile``.
private final class ExtentConnection: Sendable {
    private let state = Mutex((bytes: [UInt8](), direct: 0))

    var received: (bytes: [UInt8], direct: Int) { state.withLock { $0 } }

    struct Writer: ResponseBodyWriter, ExtentWriter {
        let connection: ExtentConnection

        var sendExtents: (@Sendable ([FileExtent]) async throws -> Void)? {
            { [connection] extents in
                connection.state.withLock { state in
                    for range in extents.map(\.range) {
                        state.bytes += pattern(Int(range.lowerBound)..<Int(range.upperBound))
                        state.direct += range.count
                    }
                }
            }
        }

        func write(_ buffer: ByteBuffer) async throws {
            connection.state.withLock { $0.bytes += buffer.readableBytesView }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}

/// Answers with a file, or a part of it.
@Suite struct FileAnswerTests {
    private static let size: Int64 = 600_000
    /// Never stopped: it exists for the process's lifetime.
    private static let threads = ReadingThreads(count: 1)

    private func answer(
        _ headers: HTTPFields = HTTPFields(), of file: CountedFile = CountedFile(Self.size),
        method: HTTPRequest.Method = .get, lifetimeSeconds: Int? = nil
    ) -> Response {
        let head = HTTPRequest(
            method: method, scheme: "http", authority: "localhost", path: "/a.mp4",
            headerFields: headers)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        var answer = FileAnswer(file: file, contentType: "video/mp4", tag: "abc")
        answer.lifetimeSeconds = lifetimeSeconds
        return answer.response(to: request, in: Self.threads)
    }

    /// A body's bytes over a connection that the kernel can send files over, and how many came that way.
    private func sent(_ response: Response) async throws -> (bytes: [UInt8], direct: Int) {
        let connection = ExtentConnection()
        try await response.body.write(ExtentConnection.Writer(connection: connection))
        return connection.received
    }

    @Test func `cached parts of a local file are sent by the kernel, others read`() async throws {
        let size: Int64 = 9 << 20
        var file = CountedFile(size)
        file.cachedBytes = .max
        file.isLocal = true
        let all = try await sent(answer(of: file))
        #expect(all.bytes[...] == pattern(0..<Int(size)))
        #expect(all.direct == Int(size))
        let part = try await sent(answer([.range: "bytes=70000-6999999"], of: file))
        #expect(part.bytes[...] == pattern(70_000..<7_000_000))
        #expect(part.direct == part.bytes.count)
        // A hole in the middle: the parts around it are sent directly.
        file.missing = 5_000_000..<5_200_000
        let mixed = try await sent(answer(of: file))
        #expect(mixed.bytes == all.bytes)
        #expect(mixed.direct > 4 << 20 && mixed.direct < Int(size))
        // A file without a local descriptor is sent as bytes.
        file.isLocal = false
        #expect(try await sent(answer(of: file)).direct == 0)
        // A file that has been cut is an error, not an answer that never ends.
        file.isLocal = true
        file.missing = 0..<0
        file.presentBytes = 8 << 20
        await #expect(throws: Problem.self) { try await sent(answer(of: file)) }
    }

    private func body(_ response: Response) async throws -> ReceivedBody {
        let received = ReceivedBody()
        try await response.body.write(ReceivedBody.Writer(received: received))
        return received
    }

    @Test func `the whole file is sent in pieces`() async throws {
        let response = answer()
        #expect(response.status.code == 200)
        #expect(response.headers[.contentLength] == "600000")
        #expect(response.headers[.acceptRanges] == "bytes")
        #expect(response.headers[.eTag] == "\"abc\"")
        #expect(response.headers[.cacheControl] == "private, no-cache")
        let received = try await body(response)
        #expect(received.bytes[...] == pattern(0..<600_000))
        #expect(received.largestPiece < 600_000)
    }

    @Test(arguments: [1, 100_000, 262_144, .max])
    func `cached and uncached parts are joined in one answer`(cached: Int) async throws {
        var file = CountedFile(Self.size)
        file.cachedBytes = cached
        let received = try await body(answer([.range: "bytes=77-"], of: file))
        #expect(received.bytes[...] == pattern(77..<600_000))
    }

    @Test func `a range response has the requested bytes, and states which`() async throws {
        let response = answer([.range: "bytes=1000-299999", .ifRange: "\"abc\""])
        #expect(response.status.code == 206)
        #expect(response.headers[.contentLength] == "299000")
        #expect(response.headers[.contentRange] == "bytes 1000-299999/600000")
        let received = try await body(response)
        #expect(received.bytes[...] == pattern(1_000..<300_000))
        #expect(answer([.range: "bytes=0-1", .ifRange: "\"other\""]).status.code == 200)
    }

    @Test func `a range after the end is answered with 416 and the file's size`() {
        let response = answer([.range: "bytes=600000-"])
        #expect(response.status.code == 416)
        #expect(response.headers[.contentRange] == "bytes */600000")
    }

    @Test func `a matching entity tag is answered with 304`() {
        for tags in ["\"abc\"", "*", "W/\"abc\"", "\"x\", \"abc\"", "\"x\",W/\"abc\""] {
            let response = answer([.ifNoneMatch: tags, .range: "bytes=0-1"])
            #expect(response.status.code == 304, "\(tags)")
            #expect(response.headers[.eTag] == "\"abc\"")
        }
        for tags in ["\"abd\"", "abc", "", "\"abc", "**"] {
            #expect(answer([.ifNoneMatch: tags]).status.code == 200, "\(tags)")
        }
    }

    @Test func `an immutable resource states its lifetime`() {
        #expect(
            answer(lifetimeSeconds: 60).headers[.cacheControl] == "private, max-age=60, immutable")
    }

    @Test func `HEAD has the length and no body`() async throws {
        let response = answer(method: .head)
        #expect(response.status.code == 200 && response.headers[.contentLength] == "600000")
        let received = try await body(response)
        #expect(received.bytes.isEmpty)
    }

    @Test func `an empty file has an empty answer`() async throws {
        let response = answer(of: CountedFile(0))
        #expect(response.status.code == 200 && response.headers[.contentLength] == "0")
        let received = try await body(response)
        #expect(received.bytes.isEmpty)
    }

    @Test func `a file that is cut meanwhile ends the answer with an error`() async throws {
        let response = answer(of: CountedFile(Self.size, present: 300_000))
        await #expect(throws: Problem.self) { try await body(response) }
    }
}
