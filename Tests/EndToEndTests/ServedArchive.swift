import Foundation

/// A stage's archive served by a viewer, accessed with curl.
struct ServedArchive: Sendable {
    /// The answer.
    struct Answer: Sendable {
        var status: Int
        var body: Data

        /// The body as text.
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// The program.
    let viewer: Running
    /// `http://127.0.0.1:PORT`
    let address: String
    private let stage: Stage

    /// Starts a viewer on a free port.
    /// - Parameter archives: nil: the stage's.
    init(on stage: Stage, archives: [String]? = nil, _ arguments: String...) async throws {
        let places = (archives ?? [stage.archive]).flatMap { ["--archive", $0] }
        try await self.init(
            try stage.start(.viewer, places + ["--listen", "127.0.0.1:0"] + arguments), on: stage)
    }

    /// Starts a viewer of a site that cannot see a directory, as on another machine. Needs root.
    init(on stage: Stage, without hidden: String, _ arguments: String...) async throws {
        let script = #"mount -t tmpfs none "$0" && exec "$@""#
        try await self.init(
            try stage.start(
                at: URL(filePath: "/usr/bin/unshare"),
                ["--mount", "sh", "-c", script, hidden, Executable.viewer.url.path]
                    + ["--listen", "127.0.0.1:0"] + arguments), on: stage)
    }

    private init(_ viewer: Running, on stage: Stage) async throws {
        self.viewer = viewer
        try await viewer.says("watch at ")
        let line = try viewer.complaints.firstMatch(
            of: /watch at (https?:\/\/127\.0\.0\.1:[0-9]+)\//)
        guard let line else {
            throw StageFailure(description: "\(viewer.name) does not say at which port it is")
        }
        address = String(line.1)
        self.stage = stage
    }

    /// Sends a request with curl's options.
    func get(_ path: String, _ options: String...) async throws -> Answer {
        try await ask(path, options)
    }

    /// Sends a request with curl's options.
    func ask(_ path: String, _ options: [String]) async throws -> Answer {
        // The status is on a line behind the body.
        let outcome = try await start(
            path, ["--max-time", "60", "--write-out", "\n%{http_code}"] + options
        ).succeeds()
        let output = outcome.outputData
        guard let end = output.lastIndex(of: UInt8(ascii: "\n")),
            let status = Int(String(decoding: output[(end + 1)...], as: UTF8.self))
        else {
            throw StageFailure(description: "curl says no status of \(path)")
        }
        return Answer(status: status, body: Data(output[..<end]))
    }

    /// Sends JSON as the viewer's page does.
    func post(_ path: String, _ json: String, _ options: String...) async throws -> Answer {
        try await ask(
            path,
            ["--header", "Origin: \(address)", "--header", "Content-Type: application/json"]
                + ["--data", json] + options)
    }

    /// Sends a request with another method as the viewer's page does.
    func send(_ method: String, _ path: String, _ json: String? = nil) async throws -> Answer {
        let body = json.map { ["--header", "Content-Type: application/json", "--data", $0] } ?? []
        return try await ask(
            path, ["--request", method, "--header", "Origin: \(address)"] + body)
    }

    /// The answer, decoded from JSON.
    func json<Value: Decodable & Sendable>(
        _ type: Value.Type, at path: String
    ) async throws -> Value {
        let answer = try await ask(path, [])
        guard answer.status == 200 else {
            throw StageFailure(description: "\(path): \(answer.status), \(answer.text)")
        }
        return try JSONDecoder().decode(type, from: answer.body)
    }

    /// Starts writing an endless answer to a file.
    func follow(_ path: String, into file: URL) throws -> Running {
        try start(path, ["--no-buffer", "--output", file.path])
    }

    /// Repeats the request until the answer satisfies a condition.
    @discardableResult
    func eventually(
        _ what: String, _ path: String, _ options: String..., isSo: (Answer) -> Bool
    ) async throws -> Answer {
        let deadline = ContinuousClock.now + Running.patience
        while true {
            let answer = try await ask(path, options)
            if isSo(answer) { return answer }
            guard ContinuousClock.now < deadline else {
                throw StageFailure(
                    description: "waited too long until \(what): \(answer.status), \(answer.text)")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func start(_ path: String, _ options: [String]) throws -> Running {
        guard let curl = Foreign.curl else {
            throw StageFailure(description: "curl is not installed")
        }
        return try stage.start(
            at: curl,
            ["--silent", "--show-error", "--noproxy", "*"] + options + [address + path])
    }
}
