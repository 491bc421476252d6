import Archive
import Foundation
import Hummingbird
import NIOCore
import Synchronization
import TestAccounts
import Testing

@testable import ViewerCore

/// Archives that other programs open.
@Suite struct ZipArchiveTests {
    private static let modified = UTCTime(nanoseconds: 1_790_000_000_000_000_000)

    private func entry(_ name: String, _ sizeBytes: Int64) -> ZipArchive.Entry {
        ZipArchive.Entry(name: name, sizeBytes: sizeBytes, modified: Self.modified)
    }

    /// An archive of these contents.
    private func archive(_ files: [(name: String, content: [UInt8])]) -> [UInt8] {
        var archive = ZipArchive()
        var bytes: [UInt8] = []
        for (name, content) in files {
            bytes += archive.begin(entry(name, Int64(content.count))) + content
            var checksum = ZipArchive.Checksum()
            // In parts, as files are read.
            content.prefix(3).withUnsafeBytes { checksum.add($0) }
            content.dropFirst(3).withUnsafeBytes { checksum.add($0) }
            bytes += archive.end(checksum: checksum.value)
        }
        return bytes + archive.directory()
    }

    /// What Python's zipfile says of a file: names, sizes and whether all checksums are right, or what the last one contains.
    private func judged(_ path: String, reads: Bool = true) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sys, zipfile
            archive = zipfile.ZipFile(sys.argv[1])
            whole = [f"{one.filename}:{one.file_size}:{one.date_time[0]}" for one in archive.infolist()]
            print(*whole, archive.testzip() if \(reads ? "True" : "False") else archive.read(archive.infolist()[-1]).decode())
            """, path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: said, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func `CRC-32 is that of the standard's check value`() {
        var checksum = ZipArchive.Checksum()
        Array("123456789".utf8).withUnsafeBytes { checksum.add($0) }
        #expect(checksum.value == 0xCBF4_3926)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func `another program finds every file, with its size and its checksum`() throws {
        let files: [(name: String, content: [UInt8])] = [
            ("door.mp4", Array("a door".utf8)), ("empty.mp4", []),
            ("hall.mp4", (0..<70_000).map { UInt8(truncatingIfNeeded: $0 * 7) }),
        ]
        let bytes = archive(files)
        #expect(
            Int64(bytes.count)
                == ZipArchive.sizeBytes(
                    of: files.map { entry($0.name, Int64($0.content.count)) }))
        let place = AccessPlace()
        let path = "\(place.directory)/archive.zip"
        try Data(bytes).write(to: URL(filePath: path))
        #expect(
            try judged(path) == "door.mp4:6:2026 empty.mp4:0:2026 hall.mp4:70000:2026 None")
        // One bit of a file, and its checksum is wrong.
        var damaged = bytes
        let place4 = try #require(bytes.firstRange(of: Array("a door".utf8))).lowerBound
        damaged[place4] ^= 1
        try Data(damaged).write(to: URL(filePath: path))
        #expect(try judged(path).hasSuffix("door.mp4"))
    }

    /// Neither its size nor what follows it fits 32 bits.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func `files above 4 GiB, and those after them, use ZIP64`() throws {
        let large: Int64 = 5 << 30
        let place = AccessPlace()
        let path = "\(place.directory)/archive.zip"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        var archive = ZipArchive()
        try file.write(contentsOf: archive.begin(entry("large.mp4", large)))
        // A hole.
        try file.seek(toOffset: file.offset() + UInt64(large))
        try file.write(contentsOf: archive.end(checksum: 0))
        try file.write(contentsOf: archive.begin(entry("small.mp4", 5)) + Array("small".utf8))
        var checksum = ZipArchive.Checksum()
        Array("small".utf8).withUnsafeBytes { checksum.add($0) }
        try file.write(contentsOf: archive.end(checksum: checksum.value))
        try file.write(contentsOf: archive.directory())
        #expect(
            Int64(try file.offset())
                == ZipArchive.sizeBytes(of: [entry("large.mp4", large), entry("small.mp4", 5)]))
        try file.close()
        #expect(
            try judged(path, reads: false)
                == "large.mp4:\(large):2026 small.mp4:5:2026 small")
    }

    @Test func `a response has the stated length and the archive's bytes`() async throws {
        let contents: [(name: String, content: [UInt8])] = [
            ("a.mp4", (0..<600_000).map { UInt8(truncatingIfNeeded: $0) }), ("b.txt", [1, 2, 3]),
        ]
        let answer = ZipAnswer(
            parts: contents.map {
                ZipAnswer.Part(
                    entry: entry($0.name, Int64($0.content.count)),
                    file: MemoryFile(bytes: $0.content))
            })
        let pool = ReadingThreads()
        let expected = archive(contents)
        let body = answer.body(in: pool, hasBody: true)
        #expect(body.contentLength == expected.count)
        let received = ReceivedBody()
        try await body.write(ReceivedBody.Writer(received: received))
        #expect(received.bytes == expected)
        #expect(received.largestPiece <= 256 << 10)
        #expect(answer.body(in: pool, hasBody: false).contentLength == expected.count)
        try await pool.stop()
    }
}
