import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// Collectors killed while recording and restarted.
    @Suite(.serialized, .long, .enabled(if: Foreign.hasFFmpeg, "ffmpeg makes and reads the clips"))
    struct RecoveryTests {
        /// Twelve seconds with B-frames and sound, with keyframes two seconds apart, so that most restarts fall between
        /// two.
        private func clip(_ media: borrowing MediaFiles) throws -> URL {
            URL(
                filePath: try media.make(
                    "long.mp4",
                    "-f lavfi -i testsrc2=s=320x180:r=25:d=12 -f lavfi -i sine=f=440:r=48000:d=12"
                        + " -c:v libx264 -preset veryfast -threads 1 -bf 3 -g 50 -pix_fmt yuv420p"
                        + " -c:a aac"))
        }

        @Test(arguments: ["600s", "3s"])
        func `killed again and again, it records one session with every sample once`(
            segment: String
        ) async throws {
            try await Stage.with { stage in
                let media = try MediaFiles()
                let clip = try clip(media)
                let names = ["door", "stage"]
                var collector = try await stage.collector("--segment", segment)
                let agents = try names.map {
                    try stage.agent($0, "--video", "file:\(clip.path)", "--encoder", "copy")
                }
                for (round, pause) in [300, 1_100, 1_900, 700].enumerated() {
                    try await stage.grows(names[round % 2])
                    try await Task.sleep(for: .milliseconds(pause))
                    collector.signal(SIGKILL)
                    _ = try await collector.outcome()
                    try await expectPlayable(try stage.copyArchive("killed-\(round)"), on: stage)
                    let isLast = round == 3
                    collector = try await stage.collector(
                        ["--segment", segment] + (isLast ? ["--once"] : []))
                }
                for program in agents + [collector] { try await program.succeeds() }

                #expect(try stage.sessions.count == 1)
                try await expectAudio(stage)
                for name in names {
                    #expect(try Numbers(of: name, on: stage).missing == [])
                    let files = try stage.recordings(name)
                    #expect(try files.allSatisfy { try TopLevelBoxes(of: $0).areOrdinary })
                    if segment == "600s" { try await expectCopy(files, of: clip, on: stage) }
                    #expect(
                        try await pictures(files, on: stage)
                            == Foreign.probe(clip, on: stage).packets(.video).map(\.digest))
                }
            }
        }

        /// The digests of the pictures of a source's files, in order.
        private func pictures(_ files: [URL], on stage: Stage) async throws -> [String] {
            var digests: [String] = []
            for file in files {
                digests += try await Foreign.probe(file, on: stage).packets(.video).map(\.digest)
            }
            return digests
        }

        /// One file whose bytes and times are the clip's.
        private func expectCopy(_ files: [URL], of clip: URL, on stage: Stage) async throws {
            let file = try #require(files.first)
            #expect(files.count == 1)
            #expect(
                try await Foreign.streamHash(file, on: stage)
                    == Foreign.streamHash(clip, on: stage))
            let original = try await Foreign.probe(clip, on: stage)
            let copy = try await Foreign.probe(file, on: stage)
            let shift = try copy.firstPictureNanoseconds - original.firstPictureNanoseconds
            for kind in TrackKind.allCases {
                let errors = zip(try original.packets(kind), try copy.packets(kind)).map {
                    abs($1.ptsNanoseconds - shift - $0.ptsNanoseconds)
                }
                // Each collector estimates the agent's clock again.
                #expect(try #require(errors.max()) <= 5_000_000, "\(kind)")
            }
        }

        @Test func `the segments of a session that a kill has interrupted are on one grid`()
            async throws
        {
            try await Stage.with { stage in
                let media = try MediaFiles()
                let clip = try clip(media)
                let collector = try await stage.collector("--segment", "3s")
                let agent = try stage.agent(
                    "camera", "--video", "file:\(clip.path)", "--encoder", "copy")
                try await eventually("a second segment is there") {
                    try stage.sessions.isEmpty ? false : stage.recordings("camera").count == 2
                }
                collector.signal(SIGKILL)
                _ = try await collector.outcome()
                // Another segment length applies to the next session.
                let next = try await stage.collector("--once", "--segment", "600s")
                for program in [agent, next] { try await program.succeeds() }
                // Keyframes every 2 s, segments every 3 s from zero.
                #expect(try stage.recordings("camera").count == 4)
                try await expectAudio(stage)
            }
        }

        @Test func `a second collector cannot use the same archive`() async throws {
            try await Stage.with { stage in
                _ = try await stage.collector()
                let second = try await stage.run(
                    .collector, "--listen", "\(stage.endpoint)-2", "--archive", stage.archive)
                #expect(second.status == 1)
                #expect(second.complaintLines.count == 1)
                #expect(second.complaints.contains("another collector is recording into"))
            }
        }

        @Test func `a damaged file is set aside, and the session continues`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--segment", "600s")
                let agents = try ["one", "two"].map {
                    try stage.testAgent($0, "--video-bitrate", "8M", "--size", "640x360")
                }
                let file = try await stage.holds(14, of: "one")
                collector.signal(SIGKILL)
                _ = try await collector.outcome()
                var bytes = try Data(contentsOf: file)
                let second = try #require(bytes.ranges(of: Data("moof".utf8)).dropFirst().first)
                bytes[second.lowerBound + 40] ^= 0xFF
                try bytes.write(to: file)

                let next = try await stage.collector("--once")
                try await next.says("left unchanged")
                try await Task.sleep(for: .seconds(2))
                for agent in agents { agent.signal(SIGINT) }
                for program in agents + [next] { try await program.succeeds() }
                #expect(try stage.sessions.count == 1)
                #expect(try stage.recordings("one").count == 2)
                #expect(try stage.recordings("two").count == 1)
                #expect(try Data(contentsOf: file) == bytes)
                let verdict = try await stage.run(.archive, "verify", "--archive", stage.archive)
                #expect(verdict.status == 1)
                let ledger = file.deletingLastPathComponent().appending(path: "ledger.jsonl")
                let lines = try String(contentsOf: ledger, encoding: .utf8)
                #expect(lines.contains("\"kind\":\"damaged\""))
            }
        }

        @Test func `a collector that restarts after every goodbye acknowledges and ends`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera", "--duration", "2s")
                _ = try await stage.holds(1, of: "camera")
                // When stopped, it receives everything and logs nothing.
                try await agent.says("capture ended")
                collector.signal(SIGKILL)
                _ = try await collector.outcome()
                let next = try await stage.collector("--once")
                for program in [agent, next] { try await program.succeeds() }
                #expect(try stage.sessions.count == 1)
                try await expectAudio(stage)
                let manifest = try String(
                    contentsOf: stage.sessions[0].appending(path: "session.json"), encoding: .utf8)
                #expect(manifest.contains("\"reason\" : \"complete\""))
            }
        }
    }
}

/// Every file of a copied archive decodes without warnings; files without samples are skipped.
private func expectPlayable(_ archive: URL, on stage: Stage) async throws {
    let files =
        FileManager.default.enumerator(at: archive, includingPropertiesForKeys: nil)?
        .compactMap { $0 as? URL }.filter { $0.pathExtension == "mp4" } ?? []
    for file in files where try Data(contentsOf: file).count(of: "moof") > 0 {
        try await Foreign.decode(file, on: stage)
    }
}
