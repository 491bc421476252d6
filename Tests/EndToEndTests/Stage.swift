import Foundation
import Synchronization

/// A directory with an archive and an endpoint, and the programs that run there.
final class Stage: Sendable {
    let directory: URL
    private let running = Mutex<[Running]>([])

    /// The collector's endpoint by default.
    var endpoint: String { "ipc://\(directory.path)/collector" }
    var archive: String { directory.appending(path: "archive").path }

    private init() throws {
        directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-e2e-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// Creates a stage and removes it with its running programs.
    static func with<Result>(_ body: (Stage) async throws -> Result) async throws -> Result {
        let stage = try Stage()
        defer { stage.clear() }
        return try await body(stage)
    }

    private func clear() {
        for program in running.withLock({ $0 }) where program.isRunning {
            program.signal(SIGKILL)
        }
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            print("left behind \(directory.path): \(error)")
        }
    }

    // MARK: Programs

    /// Starts one of this package's programs.
    func start(_ program: Executable, _ arguments: [String]) throws -> Running {
        try start(at: program.url, arguments)
    }

    /// Starts a program by its path.
    func start(at executable: URL, _ arguments: [String]) throws -> Running {
        let started = try Running(executable, arguments, in: directory)
        running.withLock { $0.append(started) }
        return started
    }

    /// Runs one of this package's programs until it exits.
    func run(_ program: Executable, _ arguments: String...) async throws -> Outcome {
        try await start(program, arguments).outcome()
    }

    /// Starts a collector that listens and records here.
    func collector(_ arguments: String...) async throws -> Running {
        try await collector(arguments)
    }

    /// Starts a collector that listens and records here.
    func collector(_ arguments: [String]) async throws -> Running {
        let collector = try start(
            .collector, ["--listen", endpoint, "--archive", archive] + arguments)
        try await collector.says("listening on")
        return collector
    }

    /// Starts an agent that sends to this stage's collector, by default with its spool here.
    func agent(_ source: String, _ arguments: String...) throws -> Running {
        try start(
            .agent,
            ["--collector", endpoint, "--source", source] + spoolArguments(arguments) + arguments)
    }

    /// The agents' spool directory.
    var spool: String { directory.appending(path: "spool").path }

    private func spoolArguments(_ others: [String]) -> [String] {
        (others.contains("--spool") ? [] : ["--spool", spool])
            // A machine busy with tests may need longer than a box.
            + (others.contains("--linger") ? [] : ["--linger", "60s"])
    }

    /// Starts an agent with a small test pattern and test sound. Pictures wait for a busy machine, up to five seconds.
    func testAgent(_ source: String, _ arguments: String...) throws -> Running {
        try start(
            .agent,
            [
                "--collector", endpoint, "--source", source, "--video", "test", "--audio", "test",
                "--size", "320x180", "--keyframe-interval", "1s",
            ] + (arguments.contains("--late") ? [] : ["--late", "keep"])
                + spoolArguments(arguments) + arguments)
    }

    // MARK: Recordings

    /// The sessions' directories, oldest first.
    var sessions: [URL] {
        get throws { try contents(of: URL(filePath: archive).appending(path: "sessions")) }
    }

    /// A source's files in every session, oldest first.
    func recordings(_ source: String) throws -> [URL] {
        try sessions.map { $0.appending(path: source) }
            .filter { FileManager.default.fileExists(atPath: $0.path) }
            .flatMap { try contents(of: $0) }
            .filter { $0.pathExtension == "mp4" }
    }

    /// A source's only file.
    func recording(_ source: String) throws -> URL {
        let files = try recordings(source)
        guard let file = files.first, files.count == 1 else {
            throw StageFailure(description: "\(source) has \(files.count) files, not one")
        }
        return file
    }

    /// Waits until a source's first file has this many fragments.
    func holds(_ fragments: Int, of source: String) async throws -> URL {
        try await eventually("\(source)'s file holds \(fragments) fragments") {
            guard FileManager.default.fileExists(atPath: archive + "/sessions"),
                let file = try recordings(source).first
            else { return false }
            return try Data(contentsOf: file).count(of: "moof") >= fragments
        }
        return try recordings(source)[0]
    }

    /// Waits until a source's files on disk grow.
    func grows(_ source: String) async throws {
        func size() throws -> Int {
            guard FileManager.default.fileExists(atPath: archive + "/sessions") else { return 0 }
            return try recordings(source).reduce(0) { try $0 + Data(contentsOf: $1).count }
        }
        let before = try size()
        try await eventually("\(source)'s recording grows") { try size() > before }
    }

    /// A copy of the archive's current state.
    func copyArchive(_ name: String) throws -> URL {
        let copy = directory.appending(path: name)
        // Only `sessions`: sockets cannot be copied.
        try FileManager.default.copyItem(
            at: URL(filePath: archive).appending(path: "sessions"), to: copy)
        return copy
    }

    /// Copies the archive's current state to another stage, without its sockets.
    func copyArchive(to other: Stage) throws {
        try FileManager.default.createDirectory(
            atPath: other.archive, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: archive + "/sessions", toPath: other.archive + "/sessions")
    }

    private func contents(of directory: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: directory, includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }
    }
}

/// One of this package's programs.
enum Executable: String, Sendable {
    case agent = "tributary-agent"
    case collector = "tributary-collector"
    case archive = "tributary"
    case viewer = "tributary-viewer"

    /// The programs' directory: `TRIBUTARY_BIN`, or the tests' own.
    private static let directory =
        ProcessInfo.processInfo.environment["TRIBUTARY_BIN"].map { URL(filePath: $0) }
        ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent()

    var url: URL { Self.directory.appending(path: rawValue) }
}

extension Data {
    /// Number of occurrences of an ASCII word.
    func count(of word: String) -> Int {
        var count = 0
        var rest = startIndex..<endIndex
        while let found = range(of: Data(word.utf8), in: rest) {
            count += 1
            rest = found.upperBound..<endIndex
        }
        return count
    }
}
