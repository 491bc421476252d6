import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import ViewerCore

/// A file whose bytes are the last eight bits of their places.
private struct CountedFile: VirtualFile {
    var sizeBytes: Int64
    /// What can be read of it.
    var presentBytes: Int64
    /// Most that can be had at a time without waiting.
    var cachedBytes = 0

    init(_ sizeBytes: Int64, present: Int64? = nil) {
        self.sizeBytes = sizeBytes
        presentBytes = present ?? sizeBytes
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = Int(max(0, min(presentBytes - offset, Int64(buffer.count))))
        for index in 0..<count {
            buffer[index] = UInt8(truncatingIfNeeded: offset + Int64(index))
        }
        return count
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        read(at: offset, into: .init(rebasing: buffer.prefix(cachedBytes)))
    }
}

/// Answers with a file, or a part of it.
@Suite struct FileAnswerTests {
    private static let size: Int64 = 600_000
    /// Stopped by nobody: it is there as long as the process is.
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
        #expect(received.bytes == (0..<600_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(received.largestPiece < 600_000)
    }

    @Test(arguments: [1, 100_000, 262_144, .max])
    func `what is in memory and what has to be waited for become one`(cached: Int) async throws {
        var file = CountedFile(Self.size)
        file.cachedBytes = cached
        let received = try await body(answer([.range: "bytes=77-"], of: file))
        #expect(received.bytes == (77..<600_000).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test func `a part is the bytes that were asked for, and says which they are`() async throws {
        let response = answer([.range: "bytes=1000-299999", .ifRange: "\"abc\""])
        #expect(response.status.code == 206)
        #expect(response.headers[.contentLength] == "299000")
        #expect(response.headers[.contentRange] == "bytes 1000-299999/600000")
        let received = try await body(response)
        #expect(received.bytes == (1_000..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(answer([.range: "bytes=0-1", .ifRange: "\"other\""]).status.code == 200)
    }

    @Test func `a part that is not there is 416, with the file's size`() {
        let response = answer([.range: "bytes=600000-"])
        #expect(response.status.code == 416)
        #expect(response.headers[.contentRange] == "bytes */600000")
    }

    @Test func `who has the file is told so`() {
        for tags in ["\"abc\"", "*", "W/\"abc\"", "\"x\", \"abc\"", "\"x\",W/\"abc\""] {
            let response = answer([.ifNoneMatch: tags, .range: "bytes=0-1"])
            #expect(response.status.code == 304, "\(tags)")
            #expect(response.headers[.eTag] == "\"abc\"")
        }
        for tags in ["\"abd\"", "abc", "", "\"abc", "**"] {
            #expect(answer([.ifNoneMatch: tags]).status.code == 200, "\(tags)")
        }
    }

    @Test func `what never changes says how long it may be kept`() {
        #expect(
            answer(lifetimeSeconds: 60).headers[.cacheControl] == "private, max-age=60, immutable")
    }

    @Test func `the head of an answer says its length and has no body`() async throws {
        let response = answer(method: .head)
        #expect(response.status.code == 200 && response.headers[.contentLength] == "600000")
        let received = try await body(response)
        #expect(received.bytes.isEmpty)
    }

    @Test func `an empty file is an empty answer`() async throws {
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
