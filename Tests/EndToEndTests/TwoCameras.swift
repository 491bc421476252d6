import Foundation
import Testing

/// A reference recording: test pictures of 1280×720 at 30 per second and test sound, ten seconds of two cameras.
struct TwoCameras: Sendable {
    @TaskLocal static var current: TwoCameras?

    static let names = ["stage", "door"]
    static let size = (width: 1280, height: 720)
    static let pictures = 300

    var stage: Stage
    var files: [String: URL]

    fileprivate static func record(on stage: Stage) async throws -> TwoCameras {
        let collector = try await stage.collector("--once")
        let agents = try names.map { name in
            try stage.agent(
                name, "--video", "test", "--audio", "test", "--size",
                "\(size.width)x\(size.height)", "--fps", "30", "--duration", "10s",
                // A machine busy with tests may keep an encoder waiting.
                "--late", "keep")
        }
        for program in agents + [collector] { try await program.succeeds() }
        var files: [String: URL] = [:]
        for name in names { files[name] = try stage.recording(name) }
        return TwoCameras(stage: stage, files: files)
    }
}

/// Records two cameras once, for all tests of a suite.
struct TwoCamerasTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        try await Stage.with { stage in
            let cameras = try await TwoCameras.record(on: stage)
            try await TwoCameras.$current.withValue(cameras) { try await body() }
        }
    }
}

extension Trait where Self == TwoCamerasTrait {
    /// Sets ``TwoCameras/current`` in every test of the suite.
    static var twoCameras: Self { Self() }
}
