import Foundation
import SyncCheck
import Testing

extension EndToEnd.TwoCameraTests {
    /// `tributary retime` on a real recording, checked with `tributary verify` and FFmpeg.
    @Suite(.serialized) struct RetimeTests {
        private let cameras: TwoCameras

        init() throws {
            cameras = try #require(TwoCameras.current)
        }

        private func contents(_ stage: Stage) throws -> [String: Data] {
            try Dictionary(
                uniqueKeysWithValues: ["door", "stage"].map {
                    ($0, try Data(contentsOf: try stage.recording($0)))
                })
        }

        /// The digests of all presented pictures and all sound.
        private func decoded(_ stage: Stage) async throws -> [String] {
            guard Foreign.hasFFmpeg else { return [] }
            var digests: [String] = []
            for name in ["door", "stage"] {
                let file = try stage.recording(name)
                let pictures = try await Foreign.ffmpeg(
                    file, "-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "-1", "-f",
                    "framehash", "-", on: stage)
                digests += String(decoding: pictures, as: UTF8.self).split(separator: "\n")
                    .filter { !$0.hasPrefix("#") }
                    .compactMap { $0.split(separator: ",").last.map(String.init) }
                let sound = try await Foreign.ffmpeg(
                    file, "-map", "0:a", "-f", "hash", "-", on: stage)
                digests.append(String(decoding: sound, as: UTF8.self))
            }
            return digests
        }

        @Test func `a retimed recording is intact, plays, and can be restored`() async throws {
            try await Stage.with { stage in
                try cameras.stage.copyArchive(to: stage)
                let before = try contents(stage)
                let shownBefore = try await decoded(stage)
                func tributary(_ words: String...) async throws -> String {
                    try await stage.start(.archive, words + ["--archive", stage.archive])
                        .succeeds().output
                }
                let dry = try await tributary("retime", "latest", "--dry-run")
                #expect(dry.contains("would be retimed") && dry.contains("nothing was changed"))
                #expect(try contents(stage) == before)
                #expect(try await tributary("retime", "latest").contains("retimed"))
                let after = try contents(stage)
                #expect(try await tributary("verify").contains(": intact;"))
                let shown = try await tributary("show", "latest")
                #expect(shown.contains("skew") && shown.contains("error bound now"))
                for (name, data) in after {
                    let file = try stage.recording(name)
                    #expect(data.count > before[name]?.count ?? .max)
                    #expect(
                        try TopLevelBoxes(of: file).types == ["ftyp", "mdat", "moov"])
                }
                let shownAfter = try await decoded(stage)
                #expect(shownAfter == shownBefore)
                #expect(try await tributary("retime", "latest").contains("already retimed"))
                #expect(try contents(stage) == after)
                #expect(try await tributary("retime", "latest", "--undo").contains("restored"))
                #expect(try contents(stage) == before)
            }
        }

        @Test func `only the first of several archives is retimed, others are read`() async throws {
            try await Stage.with { stage in
                try cameras.stage.copyArchive(to: stage)
                let west = stage.directory.appending(path: "west")
                try FileManager.default.copyItem(at: URL(filePath: stage.archive), to: west)
                let first = try contents(stage)
                let options = ["--archive", stage.archive, "--archive", west.path]
                let outcome = try await stage.start(
                    .archive, ["retime", "latest", "--json"] + options
                ).outcome()
                #expect(outcome.status == 0, "\(outcome.complaints)")
                let answer = try JSONDecoder().decode(AnyJSON.self, from: outcome.outputData)
                #expect(try JSONSchema().flaws(answer, as: "tributary retime") == [])
                // Nothing tells the other collector's clock.
                #expect(outcome.output.contains("has no clocks.jsonl"), "\(outcome.output)")
                #expect(try contents(stage) != first)
                for (name, data) in first {
                    let path = try stage.recording(name).path.replacing(
                        stage.archive, with: west.path)
                    #expect(try Data(contentsOf: URL(filePath: path)) == data)
                }
                try await stage.start(.archive, ["retime", "latest", "--undo"] + options)
                    .succeeds()
                #expect(try contents(stage) == first)
                // An archive that is away is left out.
                let away = stage.directory.appending(path: "away").path
                let without = try await stage.run(
                    .archive, "retime", "latest", "--dry-run", "--archive", stage.archive,
                    "--archive", away)
                #expect(without.status == 1 && without.output.contains("would be retimed"))
                #expect(without.complaints.contains("no archive at \(away): it is left out"))
                let bucket = try await stage.run(
                    .archive, "retime", "latest", "--archive", stage.archive, "--archive",
                    "s3://site/west", "--store-endpoint", "http://127.0.0.1:9")
                #expect(bucket.status == 1)
                #expect(bucket.complaints.contains("is an object store"))
            }
        }

        @Test func `verify --sync holds a retimed recording to its new bounds`() async throws {
            try await Stage.with { stage in
                try cameras.stage.copyArchive(to: stage)
                func bounds() throws -> [ClosedRange<Int64>] {
                    try TwoCameras.names.map { name in
                        let path = try stage.recording(name).path
                        return try #require(try RecordedBounds(readingFile: path).range)
                    }
                }
                let before = try bounds()
                try await stage.start(
                    .archive, ["retime", "latest", "--archive", stage.archive]
                ).succeeds()
                for (live, later) in zip(before, try bounds()) {
                    #expect(later.lowerBound < live.upperBound)
                    #expect(later.upperBound < live.upperBound)
                }
                let outcome = try await stage.run(
                    .archive, "verify", "--archive", stage.archive, "--sync", "--max-error", "1ms")
                #expect(outcome.status == 0, "\(outcome.output)\(outcome.complaints)")
            }
        }

        @Test func `an unknown session is refused in one line`() async throws {
            let outcome = try await cameras.stage.run(
                .archive, "retime", "2020-01-01T00-00-00.000Z", "--archive", cameras.stage.archive)
            #expect(outcome.status == 1)
            #expect(outcome.complaintLines.count == 1)
        }
    }
}
