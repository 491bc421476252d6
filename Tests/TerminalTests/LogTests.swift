import ArgumentParser
import Foundation
import JSON
import Logging
import Testing

@testable import Terminal

@Suite struct LogTests {
    /// 2026-11-20T09:40:01.123456789Z
    private static let moment: Int64 = 1_795_167_601_123_456_789

    private func entry(
        _ message: String, _ metadata: [String: String] = [:], level: Logger.Level = .info
    ) -> LogEntry {
        LogEntry(level, message, metadata: metadata, nanoseconds: Self.moment)
    }

    private func object(_ line: String) throws -> [String: String] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
    }

    @Test func `a text line has the time, the level, the source and the metadata`() {
        let line = entry(
            "recording", ["source": "stage", "session": "now", "b": "2", "a": "1"], level: .warning)
        #expect(line.text == "09:40:01.123 warning stage: recording (a=1, b=2)")
        #expect(entry("done").text == "09:40:01.123 info    done")
    }

    @Test func `a JSON line is one object, with the zone of its time`() throws {
        let line = entry("it's \"fine\"", ["source": "stage", "session": "now", "agent": "box7"])
        #expect(
            line.json
                == #"{"time":"2026-11-20T09:40:01.123456Z","level":"info","message":"it's \"fine\"","#
                + #""agent":"box7","session":"now","source":"stage"}"#)
        let read = try object(line.json)
        #expect(read["message"] == "it's \"fine\"" && read["source"] == "stage")
    }

    @Test func `no text of a peer breaks an object or a line`() throws {
        let odd =
            "a\nb\r\t\u{0}\u{1B}[31m\u{7F}\u{9B}2J\u{2028}\u{202E}\\\"}{ käse 漢字 \u{1F4F7}"
        let line = entry(odd, ["na\nme": odd, "time": "x", "level": "y", "message": "z"]).json
        #expect(!line.unicodeScalars.contains { $0.breaksLine })
        #expect(line.contains(#"a\nb\r\t\u0000\u001b[31m\u007f\u009b2J\u2028\u202e\\\"}{ käse 漢字"#))
        let read = try object(line)
        #expect(read["message"] == odd)
        #expect(read["na\nme"] == odd)
        // The names behind a line cannot replace its own fields.
        #expect(read["level"] == "info" && read["level_"] == "y")
        #expect(read["time_"] == "x" && read["message_"] == "z")
        let text = entry(odd, ["source": "a\nb", "x": "\u{1B}"]).text
        #expect(!text.unicodeScalars.contains { $0.breaksLine })
        #expect(text.hasPrefix("09:40:01.123 info    a\\u{a}b: a\\u{a}b"))
    }

    @Test(
        arguments: [
            (.trace, 7), (.debug, 7), (.info, 6), (.notice, 5), (.warning, 4), (.error, 3),
            (.critical, 2),
        ] as [(Logger.Level, Int)])
    func `levels are the journal's priorities`(level: Logger.Level, priority: Int) throws {
        let pipe = Pipe()
        let console = Console(
            descriptor: pipe.fileHandleForWriting.fileDescriptor, format: .text, isJournal: true)
        console.write(entry("one\ntwo", level: level))
        try pipe.fileHandleForWriting.close()
        let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
        let name = level.rawValue + String(repeating: " ", count: max(0, 7 - level.rawValue.count))
        #expect(
            String(decoding: said, as: UTF8.self)
                == "<\(priority)>09:40:01.123 \(name) one\\u{a}two\n")
    }

    @Test func `a console of objects has no other lines, and no progress`() throws {
        let pipe = Pipe()
        let console = Console(
            descriptor: pipe.fileHandleForWriting.fileDescriptor, format: .json, isJournal: false)
        #expect(!console.isTerminal)
        var logger = Logger(label: "test") { _ in LineLogHandler(console: console) }
        logger[metadataKey: "source"] = "stage"
        logger.warning("late", metadata: ["address": "10.0.0.7"])
        logger.debug("details")
        console.progress("1 %")
        console.line("program: it failed", level: .error)
        try pipe.fileHandleForWriting.close()
        let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
        let lines = try String(decoding: said, as: UTF8.self).split(separator: "\n")
            .map { try object(String($0)) }
        #expect(lines.map { $0["level"] } == ["warning", "error"])
        #expect(lines.map { $0["message"] } == ["late", "program: it failed"])
        #expect(lines[0]["source"] == "stage" && lines[0]["address"] == "10.0.0.7")
    }

    @Test func `the journal is recognised by device and inode of the stream`() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        var status = stat()
        try #require(fstat(descriptor, &status) == 0)
        let stream = try #require(JournalStream("\(status.st_dev):\(status.st_ino)"))
        #expect(stream.isDescriptor(descriptor))
        // Standard error was redirected since the variable was set.
        #expect(!stream.isDescriptor(Pipe().fileHandleForWriting.fileDescriptor))
        let other = try #require(JournalStream("\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!other.isDescriptor(descriptor) && !stream.isDescriptor(-1))
        for text in ["", "1", "1:", ":2", "1:2:3", "a:b", "-1:2", "1:2 "] {
            #expect(JournalStream(text) == nil, "\(text)")
        }
    }

    @Test(
        arguments: [
            ([], nil), (["--log-format", "json"], .json), (["--log-format=json", "-v"], .json),
            (["--log-format", "json", "--log-format=text"], .text),
            (["--log-format", "xml"], nil), (["--", "--log-format=json"], nil),
            (["--log-format"], nil),
        ] as [([String], LogFormat?)])
    func `the format is determined before the options are parsed`(
        words: [String], format: LogFormat?
    ) {
        #expect(LogFormat.chosen(by: words) == format)
    }

    @Test func `the group of options is the same in each program`() throws {
        #expect(try LogOptions.parse([]).format.logFormat == .text)
        let options = try LogOptions.parse(["--log-format", "json", "-v"])
        #expect(options.format.logFormat == .json && options.verbose)
        #expect(throws: (any Error).self) { try LogOptions.parse(["--log-format", "xml"]) }
    }
}
