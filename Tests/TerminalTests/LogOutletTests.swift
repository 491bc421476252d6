import Foundation
import Glibc
import Testing

@testable import Terminal

/// A log whose reader stops.
@Suite struct LogOutletTests {
    private static let omission: @Sendable (UInt64) -> String = { "\($0) omitted\n" }

    private func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    /// Reads until the other end is closed.
    private func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &block, block.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += block.prefix(count)
        }
    }

    @Test func `lines are written at once while the reader reads`() throws {
        let (reader, writer) = try pipe()
        defer { close(reader) }
        let outlet = LogOutlet(writer)
        for number in 0..<10 { outlet.write("line \(number)\n", omission: Self.omission) }
        close(writer)
        #expect(readAll(reader) == (0..<10).map { "line \($0)\n" }.joined())
    }

    @Test func `a stopped reader delays nobody, and gets the kept lines in order`() throws {
        let (reader, writer) = try pipe()
        defer { close(reader) }
        let outlet = LogOutlet(writer)
        let line = String(repeating: "x", count: 99)
        // More than the pipe and the queue hold. This would never return if it waited for the reader.
        let count = 10_000
        for number in 0..<count { outlet.write("\(number) \(line)\n", omission: Self.omission) }
        outlet.write("progress", isTransient: true, omission: Self.omission)
        let closing = Thread {
            outlet.flush()
            close(writer)
        }
        closing.start()
        let lines = readAll(reader).split(separator: "\n")
        let last = try #require(lines.last)
        let kept = lines.count - 1
        #expect(last == "\(count - kept) omitted")
        #expect(kept > 1_000 && kept < count)
        for (number, text) in lines.dropLast().enumerated() {
            #expect(text == "\(number) \(line)")
        }
    }

    /// The pipe is full within a character of two bytes.
    @Test func `a line that is accepted in part is complete`() throws {
        let (reader, writer) = try pipe()
        defer { close(reader) }
        let outlet = LogOutlet(writer)
        let line = "x" + String(repeating: "ä", count: 100_000) + "\n"
        outlet.write(line, omission: Self.omission)
        let closing = Thread {
            outlet.flush()
            close(writer)
        }
        closing.start()
        #expect(readAll(reader) == line)
    }

    @Test func `the end does not wait for a stopped reader`() throws {
        let (reader, writer) = try pipe()
        let outlet = LogOutlet(writer)
        let line = String(repeating: "x", count: 4_095) + "\n"
        for _ in 0..<64 { outlet.write(line, omission: Self.omission) }
        outlet.flush()
        // Ends the outlet's thread: its write fails.
        signal(SIGPIPE, SIG_IGN)
        close(reader)
        outlet.flush()
        close(writer)
    }

    @Test func `a file gets every line`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(
            "log-outlet-\(UInt64.random(in: 0 ... .max))"
        ).path
        let descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { unlink(path) }
        let outlet = LogOutlet(descriptor)
        for number in 0..<100 { outlet.write("\(number)\n", omission: Self.omission) }
        outlet.flush()
        close(descriptor)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == (0..<100).map { "\($0)\n" }.joined())
    }
}
