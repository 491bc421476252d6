import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import ViewerCore

/// Files of the program, as they are and compressed.
@Suite struct StaticFileTests {
    /// Never stopped: it exists for the process's lifetime.
    private static let threads = ReadingThreads(count: 1)
    private static let text = [UInt8](String(repeating: "all cameras in step\n", count: 500).utf8)

    private func answer(
        _ headers: HTTPFields, of bytes: [UInt8] = Self.text
    ) -> Response {
        let head = HTTPRequest(
            method: .get, scheme: "http", authority: "localhost", path: "/page/a.js",
            headerFields: headers)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        return StaticFile(bytes, contentType: "text/javascript")
            .response(to: request, in: Self.threads)
    }

    private func body(_ response: Response) async throws -> [UInt8] {
        let received = ReceivedBody()
        try await response.body.write(ReceivedBody.Writer(received: received))
        return received.bytes
    }

    /// The output of the program `gzip`.
    private func decompressed(_ bytes: [UInt8]) throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).gz")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/gzip")
        process.arguments = ["-dc", file.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return [UInt8](data)
    }

    @Test func `a client that accepts gzip gets the same content compressed`() async throws {
        let plain = answer([:])
        let compressed = answer([.acceptEncoding: "gzip, deflate, br"])
        #expect(plain.headers[.contentEncoding] == nil)
        #expect(compressed.headers[.contentEncoding] == "gzip")
        let bytes = try await body(compressed)
        #expect(bytes.count < Self.text.count / 10)
        #expect(compressed.headers[.contentLength] == "\(bytes.count)")
        #expect(try decompressed(bytes) == Self.text)
        #expect(try await body(plain) == Self.text)
    }

    /// A cache that confused the two would send unreadable bytes.
    @Test func `each representation has its own entity tag, and Vary is set`() async throws {
        let plain = answer([:])
        let compressed = answer([.acceptEncoding: "gzip"])
        let tag = try #require(compressed.headers[.eTag])
        #expect(plain.headers[.eTag] != tag && !tag.hasPrefix("W/"))
        for response in [plain, compressed] {
            #expect(response.headers[.vary] == "Accept-Encoding")
        }
        let unchanged = answer([.acceptEncoding: "gzip", .ifNoneMatch: tag])
        #expect(unchanged.status.code == 304 && unchanged.headers[.eTag] == tag)
        #expect(unchanged.headers[.vary] == "Accept-Encoding")
        // The bytes that are kept are not those that are wanted now.
        #expect(answer([.ifNoneMatch: tag]).status.code == 200)
    }

    @Test func `content that gzip would not shorten is sent uncompressed`() async throws {
        let response = answer([.acceptEncoding: "gzip"], of: [1, 2, 3])
        #expect(response.headers[.contentEncoding] == nil)
        #expect(try await body(response) == [1, 2, 3])
        #expect(try await body(answer([.acceptEncoding: "gzip"], of: [])) == [])
    }

    @Test(arguments: [
        ([], false), (["gzip"], true), (["GZIP"], true), (["deflate, gzip;q=0.5"], true),
        (["br", "gzip"], true), (["*"], true), (["gzip;q=0"], false), (["gzip; q=0.000"], false),
        (["*;q=0"], false), (["*, gzip;q=0"], false), (["identity"], false), (["gzipped"], false),
        ([",;, ;q=1"], false), ([String(repeating: "a,", count: 600) + "gzip"], false),
    ])
    func `the list of codings is read as HTTP has it`(fields: [String], isTaken: Bool) {
        #expect(AcceptedCodings(fields).contains("gzip") == isTaken)
    }
}
