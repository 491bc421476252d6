import Foundation
import Logging
import Synchronization
import Testing
import TestRecordings
import Threads

@testable import ViewerCore

/// Processes that the test ends.
private final class FakeProcesses: Sendable {
    struct Started: Sendable {
        var source: String
        var end = Threads.Semaphore(value: 0)
        var signals: [Int32] = []
    }

    private let state = Mutex<[Started]>([])
    private let line: String

    init(line: String) { self.line = line }

    var started: [Started] { state.withLock { $0 } }

    func make(_ entry: ForwardEntry) -> ForwardService.Process {
        let (index, end) = state.withLock { all -> (Int, Threads.Semaphore) in
            let new = Started(source: entry.source)
            all.append(new)
            return (all.count - 1, new.end)
        }
        return ForwardService.Process { [line] hear in
            hear(line)
            hear("no JSON")
            end.wait()
            return "status 1"
        } stop: { [self] signal in
            state.withLock { $0[index].signals.append(signal) }
            end.signal()
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ForwardServiceTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private static let line =
        #"{"source": "a", "state": "sending", "lateSeconds": 0.5, "sentSamples": 7, "sentBytes": 70, "droppedSamples": 2, "#
        + #""feedLosses": 0, "connections": 1, "new": true}"#

    private func eventually(_ isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func `each entry has a process, which is started again after its pause`() async throws {
        let processes = FakeProcesses(line: Self.line)
        let pauses = Mutex<[Int64]>([])
        let service = ForwardService(
            try ForwardEntry.list(["a=/a", "b=/b"]), logger: logger, now: { 0 },
            wait: { _, pause in pauses.withLock { $0.append(pause) } }, make: { processes.make($0) }
        )
        service.start()
        try await eventually { service.statuses.allSatisfy { $0.state == .sending } }
        #expect(Set(processes.started.map(\.source)) == ["a", "b"])
        let first = try #require(processes.started.first { $0.source == "a" })
        first.end.signal()
        try await eventually { service.statuses[0].counts.sentSamples == 14 }
        #expect(service.statuses[0].starts == 2 && service.statuses[1].starts == 1)
        #expect(service.statuses[0].counts.droppedSamples == 4)
        #expect(pauses.withLock { $0 } == [2_000_000_000])
        service.stop()
        #expect(processes.started.map(\.signals).filter { $0 == [SIGTERM] }.count == 2)
        #expect(processes.started.count == 3)
    }

    @Test func `the end does not wait for a pause`() async throws {
        let processes = FakeProcesses(line: Self.line)
        let service = ForwardService(
            try ForwardEntry.list(["a=/a"]), logger: logger, make: { processes.make($0) })
        service.start()
        try await eventually { processes.started.count == 1 }
        processes.started[0].end.signal()
        try await eventually { service.statuses[0].state == .ended }
        service.stop()
        #expect(processes.started.count == 1)
    }

    /// A program of the shell in place of `tributary`.
    private func program(_ script: String) throws -> (ForwardProgram, TemporaryDirectory) {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/tributary"
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
        chmod(path, 0o700)
        return (try ForwardProgram(path: path, options: ["--archive=/r"]), directory)
    }

    /// A process that another test starts at the same time may hold the script open for writing for a moment (ETXTBSY).
    private func run(
        _ program: ForwardProgram, _ entry: String, _ line: (String) -> Void
    ) throws -> String {
        let process = ForwardProcess(program, try ForwardEntry(entry))
        var reason = process.run(line)
        for _ in 0..<100 where reason.hasSuffix("Text file busy") {
            usleep(10_000)
            reason = process.run(line)
        }
        return reason
    }

    @Test func `a process gets its arguments, and no variable or descriptor of the viewer`() throws
    {
        setenv("TRIBUTARY_INSECURE", "yes", 1)
        defer { unsetenv("TRIBUTARY_INSECURE") }
        let (program, directory) = try program(
            #"echo "$@"; env | grep -c TRIBUTARY_; ls -l /proc/self/fd | grep -c socket:"#)
        defer { withExtendedLifetime(directory) {} }
        let lines = Mutex<[String]>([])
        let reason = try run(program, "stage=/x y.url") { line in
            lines.withLock { $0.append(line) }
        }
        #expect(
            lines.withLock { $0 } == [
                "forward stage --url-file=/x y.url --json --archive=/r", "0",
                // Standard error; standard output is a pipe here. Tests at the same time may have opened files.
                "1",
            ])
        #expect(reason == "the process ended with status 0")
    }

    @Test(arguments: [
        ("echo 12:00 warning >&2; exit 3", "the process ended with status 3"),
        ("kill -9 $$", "the process ended with signal 9"),
        ("echo 'tributary: no file: give one' >&2; exit 1", "no file: give one"),
    ])
    func `the reason of an end is the error message, or the status`(
        script: String, reason: String
    ) throws {
        let (program, directory) = try program(script)
        defer { withExtendedLifetime(directory) {} }
        #expect(try run(program, "stage=/x") { _ in } == reason)
    }

    @Test func `the end of a process is detected while another one holds its output`() throws {
        let (program, directory) = try program(
            "sleep 20 & echo 'tributary: no file: give one' >&2; exit 1")
        defer { withExtendedLifetime(directory) {} }
        let began = ContinuousClock.now
        let reason = ForwardProcess(program, try ForwardEntry("stage=/x")).run { _ in }
        #expect(reason == "no file: give one")
        #expect(ContinuousClock.now - began < .seconds(15))
    }

    @Test func `a process that is stopped before its start is not started`() throws {
        let (program, directory) = try program("echo started")
        defer { withExtendedLifetime(directory) {} }
        let process = ForwardProcess(program, try ForwardEntry("stage=/x"))
        process.stop(SIGTERM)
        let lines = Mutex(0)
        _ = process.run { _ in lines.withLock { $0 += 1 } }
        #expect(lines.withLock { $0 } == 0)
    }

    @Test func `an absent program is refused with a remedy`() {
        let error = #expect(throws: ViewerError.self) {
            try ForwardProgram(path: "/nowhere/tributary", options: [])
        }
        #expect(
            "\(error.map { "\($0)" } ?? "")".hasSuffix(
                "install the program tributary beside the viewer"))
    }
}
