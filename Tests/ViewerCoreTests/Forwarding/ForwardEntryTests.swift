import Foundation
import Testing
import TestRecordings

@testable import ViewerCore

@Suite struct ForwardEntryTests {
    private let directory = TemporaryDirectory()

    /// An entry with a file.
    private func entry(
        _ text: String, file: String = "stage.url", mode: mode_t = 0o600
    ) throws -> ForwardEntry {
        let path = "\(directory.path)/\(file)"
        try Data(text.utf8).write(to: URL(filePath: path))
        chmod(path, mode)
        return try ForwardEntry("stage=\(path)")
    }

    @Test func `an entry is a source and a file, whose name may contain an equals sign`() throws {
        let entry = try ForwardEntry("stage=/etc/a=b.url")
        #expect(entry.source == "stage" && entry.file == "/etc/a=b.url")
        #expect("\(entry)" == "stage=/etc/a=b.url")
    }

    @Test(arguments: ["", "stage", "stage=", "=/etc/a.url", "a b=/etc/a.url", "../a=/etc/a.url"])
    func `other text is refused with one line`(text: String) throws {
        let error = try #require(throws: ForwardEntryError.self) { try ForwardEntry(text) }
        #expect("\(error)".contains("write SOURCE=FILE") && !"\(error)".contains("\n"))
    }

    @Test func `a list has no entry twice, and an end`() throws {
        #expect(try ForwardEntry.list(["a=/x", "a=/y", "b=/x"]).count == 3)
        #expect(throws: ForwardEntryError.self) { try ForwardEntry.list(["a=/x", "a=/x"]) }
        let many = (0...ForwardEntry.maximumEntries).map { "a=/\($0)" }
        #expect(throws: ForwardEntryError.tooMany) { try ForwardEntry.list(many) }
    }

    @Test(arguments: [
        "udp://127.0.0.1:5000", "srt://h:1?passphrase=secret\nrest", "\n RTMP://h/app/key \n",
        "rtsps://h/a", "\u{FEFF}udp://h:1", "\u{FEFF}\r\n  \r\nudp://h:1\r\n", "  \n\t\nudp://h:1",
    ])
    func `a file with a stream URL in its first line is accepted`(text: String) throws {
        try ForwardEntry.check([entry(text)])
    }

    /// Two processes sent to the same destination.
    @Test func `a stream that is sent twice is refused in any spelling`() throws {
        let one = try entry("rtmp://Host/app/key", file: "one.url")
        let sameFile = try ForwardEntry("stage=\(directory.path)/./one.url")
        let sameURL = try entry("RTMP://host:1935/app/key", file: "two.url")
        for other in [sameFile, sameURL] {
            let error = try #require(throws: ForwardEntryError.self) {
                try ForwardEntry.check([one, other])
            }
            #expect(error == .sameStream(one, other) && error.isOfUsage)
        }
        let otherKey = try entry("rtmp://host/app/Key", file: "three.url")
        let otherSource = try ForwardEntry("door=\(directory.path)/one.url")
        try ForwardEntry.check([one, otherKey, otherSource])
    }

    @Test(arguments: ["", "\n\n", "http://secret", "/tmp/secret.ts", "secret", "file://secret"])
    func `a file without one is refused, and its text is not repeated`(text: String) throws {
        let entry = try entry(text)
        let error = try #require(throws: ForwardEntryError.self) { try entry.address() }
        #expect(error == .noURL(entry.file) && !"\(error)".contains("secret"))
    }

    /// They were tried forever.
    @Test(arguments: ["udp://secret", "srt://:9000", "rtmp://secret:99999/app/secret"])
    func `a URL without host or port, or with an invalid port, is refused`(text: String) throws {
        let entry = try entry(text)
        let error = try #require(throws: ForwardEntryError.self) { try entry.address() }
        guard case .badURL(entry.file, _) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(!"\(error)".contains("secret"))
    }

    @Test func `a file that is missing, or that others can read, is refused`() throws {
        let entry = try entry("udp://127.0.0.1:5000", mode: 0o640)
        let error = try #require(throws: ForwardEntryError.self) { try entry.address() }
        #expect("\(error)".hasSuffix("can be read by other users: chmod 600 \(entry.file)"))
        try FileManager.default.removeItem(atPath: entry.file)
        #expect(throws: ForwardEntryError.noFile(entry.file)) { try entry.address() }
        let folder = try ForwardEntry("stage=\(directory.path)")
        #expect(throws: ForwardEntryError.self) { try folder.address() }
    }
}
