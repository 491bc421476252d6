import Foundation

/// A failed wait or setup, with the programs' output.
struct StageFailure: Error, CustomStringConvertible {
    let description: String
}

/// A program's exit.
struct Outcome: Sendable {
    /// The exit status; the signal's number less 256 if a signal ended it.
    var status: Int32
    /// Standard output.
    var outputData: Data
    /// Standard error.
    var complaints: String

    /// Standard output as text.
    var output: String { String(decoding: outputData, as: UTF8.self) }

    /// Lines of standard error.
    var complaintLines: [Substring] { complaints.split(separator: "\n") }
}

/// A running or ended program.
final class Running: Sendable {
    /// Longer than any wait here; it keeps a broken program from hanging the tests.
    static let patience = Duration.seconds(120)

    let name: String
    private let outputFile: URL
    private let complaintsFile: URL
    private let process: Process

    /// Starts `executable` with its output in files in `directory`.
    init(_ executable: URL, _ arguments: [String], in directory: URL) throws {
        name = executable.lastPathComponent
        outputFile = directory.appending(path: "\(name)-\(UUID().uuidString).out")
        complaintsFile = outputFile.deletingPathExtension().appendingPathExtension("err")
        process = Process()
        process.executableURL = executable
        process.arguments = arguments
        // Excludes the tester's own options from the environment.
        var environment = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("TRIBUTARY_")
        }
        // Agents' state stays in the directory too.
        environment["STATE_DIRECTORY"] = directory.appending(path: "state").path
        // For test stores, which accept any.
        environment["AWS_ACCESS_KEY_ID"] = "key"
        environment["AWS_SECRET_ACCESS_KEY"] = "secret"
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        for file in [outputFile, complaintsFile] { try Data().write(to: file) }
        let output = try FileHandle(forWritingTo: outputFile)
        let complaints = try FileHandle(forWritingTo: complaintsFile)
        process.standardOutput = output
        process.standardError = complaints
        // Foundation reads beyond its buffer and leaks descriptors when it starts a program with about 1,360 open ones.
        defer {
            for file in [output, complaints] { try? file.close() }
        }
        try process.run()
    }

    var isRunning: Bool { process.isRunning }
    var processIdentifier: Int32 { process.processIdentifier }

    /// A value of the process's `/proc` status, such as `VmHWM` (peak resident memory), in bytes or unchanged.
    func status(_ name: String) throws -> Int {
        let path = "/proc/\(process.processIdentifier)/status"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix("\(name):") {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count > 1, let number = Int(words[1]) else { break }
            return words.last == "kB" ? number * 1_024 : number
        }
        throw StageFailure(description: "\(path) has no \(name)")
    }

    /// Number of open descriptors.
    func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(process.processIdentifier)/fd"
        ).count
    }

    /// Standard error so far.
    var complaints: String {
        get throws { String(decoding: try Data(contentsOf: complaintsFile), as: UTF8.self) }
    }

    /// Sends a signal.
    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until it has written `text` to standard error `times` times.
    func says(_ text: String, times: Int = 1) async throws {
        try await eventually("\(name) says \"\(text)\"") {
            let said = try complaints.components(separatedBy: text).count - 1
            if said >= times { return true }
            guard isRunning else {
                throw StageFailure(
                    description: "\(name) ended without saying \"\(text)\":\n\(try complaints)")
            }
            return false
        }
    }

    /// Waits for its exit.
    func outcome(within patience: Duration = patience) async throws -> Outcome {
        do {
            try await eventually("\(name) ends", within: patience) { !process.isRunning }
        } catch {
            throw StageFailure(description: "\(error); it said:\n\(try complaints)")
        }
        let isKilled = process.terminationReason == .uncaughtSignal
        return Outcome(
            status: isKilled ? process.terminationStatus - 256 : process.terminationStatus,
            outputData: try Data(contentsOf: outputFile), complaints: try complaints)
    }

    /// Waits for its exit, which must be successful.
    @discardableResult
    func succeeds(within patience: Duration = patience) async throws -> Outcome {
        let outcome = try await outcome(within: patience)
        guard outcome.status == 0 else {
            throw StageFailure(
                description: "\(name) ended with \(outcome.status):\n\(outcome.complaints)")
        }
        return outcome
    }
}

/// Polls until a condition holds.
func eventually(
    _ what: String, within patience: Duration = Running.patience, _ isSo: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + patience
    while !(try isSo()) {
        guard ContinuousClock.now < deadline else {
            throw StageFailure(description: "waited too long until \(what)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
