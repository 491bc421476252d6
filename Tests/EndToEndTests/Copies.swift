import Foundation
import TestMedia
import Testing

/// A clip copied access unit for access unit.
enum Clip: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// Real footage with sound, if installed.
    case street
    /// B-frames; none refers across a keyframe.
    case closedGOP
    /// B-frames; those before a keyframe refer across it.
    case openGOP

    var testDescription: String { rawValue }

    /// Generated clips, and the footage if installed.
    static var here: [Clip] { MediaFiles.footage == nil ? made : allCases }
    static let made: [Clip] = [.closedGOP, .openGOP]

    /// Seven seconds, a keyframe per second, three B-frames in a row.
    fileprivate func make(in media: borrowing MediaFiles) throws -> URL {
        let openGOP: Int
        switch self {
        case .street:
            return URL(filePath: try #require(MediaFiles.footage))
        case .closedGOP: openGOP = 0
        case .openGOP: openGOP = 1
        }
        return URL(
            filePath: try media.make(
                "\(rawValue).mp4",
                "-f lavfi -i testsrc2=s=320x180:r=25:d=7 -f lavfi -i sine=f=440:r=48000:d=7"
                    + " -c:v libx264 -preset veryfast -threads 1 -bf 3 -g 25 -pix_fmt yuv420p"
                    + " -x264-params open-gop=\(openGOP) -c:a aac"))
    }
}

/// Clips and their recordings with `--encoder copy`.
struct Copies: Sendable {
    @TaskLocal static var current: Copies?

    /// The stage of the originals and whole files; segments are on another.
    var stage: Stage
    var originals: [Clip: URL] = [:]
    /// One file per clip.
    var whole: [Clip: URL] = [:]
    /// In segments of two seconds, oldest first; generated clips only.
    var segments: [Clip: [URL]] = [:]
    /// The collectors' archives.
    var archives: [String] = []

    /// Records all clips concurrently, in real time.
    fileprivate static func record(on stage: Stage, and other: Stage) async throws -> Copies {
        let media = try MediaFiles()
        let collectors = [
            try await stage.collector("--once"),
            try await other.collector("--once", "--segment", "2s"),
        ]
        var copies = Copies(stage: stage, archives: [stage.archive, other.archive])
        var agents: [Running] = []
        func play(_ clip: Clip, _ path: String, on stage: Stage) throws {
            agents.append(
                try stage.agent(clip.rawValue, "--video", "file:\(path)", "--encoder", "copy"))
        }
        for clip in Clip.here {
            let made = try clip.make(in: media)
            let original = stage.directory.appending(path: "\(clip).mp4")
            try FileManager.default.copyItem(at: made, to: original)
            copies.originals[clip] = original
        }
        for (clip, original) in copies.originals {
            try play(clip, original.path, on: stage)
            if Clip.made.contains(clip) { try play(clip, original.path, on: other) }
        }
        for program in agents + collectors { try await program.succeeds() }
        for clip in Clip.here { copies.whole[clip] = try stage.recording(clip.rawValue) }
        for clip in Clip.made { copies.segments[clip] = try other.recordings(clip.rawValue) }
        return copies
    }
}

/// Records the clips once, for all tests of a suite.
struct CopiesTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        try await Stage.with { stage in
            try await Stage.with { other in
                let copies = try await Copies.record(on: stage, and: other)
                try await Copies.$current.withValue(copies) { try await body() }
            }
        }
    }
}

extension Trait where Self == CopiesTrait {
    /// Sets ``Copies/current`` in every test of the suite.
    static var copies: Self { Self() }
}
