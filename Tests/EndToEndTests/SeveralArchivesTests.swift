import Archive
import Foundation
import Media
import TestMedia
import TestRecordings
import Testing

extension EndToEnd {
    /// One recording in two archives, as two collectors would have made it, read as one by the real programs.
    @Suite(.serialized, .enabled(if: MediaFiles.canBeMade, "FFmpeg judges what is exported"))
    struct SeveralArchivesTests {
        private static let source = "camera"

        /// Every picture and packet that FFmpeg decodes, with its time and its digest; FFmpeg has nothing to say of the file.
        /// - Parameter level: from which on messages are of interest.
        private static func decoded(
            _ path: String, on stage: Stage, level: String = "warning"
        ) async throws -> [String] {
            let judged = try await stage.start(
                at: URL(filePath: "/usr/bin/env"),
                ["ffmpeg", "-nostdin", "-v", level, "-xerror", "-i", path, "-map", "0"]
                    + ["-f", "framemd5", "-"]
            ).succeeds()
            #expect(judged.complaints == "")
            return judged.output.split(separator: "\n").filter { !$0.hasPrefix("#") }
                .map(String.init)
        }

        /// A recording of six seconds, and where its halves are.
        private struct Parts {
            var session: String
            var whole: String
            var east: String
            var west: String
            /// Of its records.
            var spool: SpoolID
            var numbers: ClosedRange<UInt64>

            var options: [String] { ["--archive", east, "--archive", west] }
        }

        private static func record(on stage: Stage) async throws -> Parts {
            let collector = try await stage.collector("--once", "--segment", "2s")
            let agent = try stage.testAgent(source, "--duration", "6s")
            try await agent.succeeds()
            try await collector.succeeds()
            let layout = ArchiveLayout(root: stage.archive)
            let session = try #require(try layout.sessionNames().first)
            var last: UInt64 = 1
            var spool: SpoolID?
            for path in try layout.segmentPaths(session, source) {
                for (own, ranges) in FileVerifier.verify(path).sequences {
                    spool = own
                    last = max(last, ranges.map(\.upperBound).max() ?? 1)
                }
            }
            return Parts(
                session: session, whole: stage.archive,
                east: stage.directory.appending(path: "east").path,
                west: stage.directory.appending(path: "west").path,
                spool: try #require(spool), numbers: 1...last)
        }

        /// The first archive has the records before the middle and some behind it, the second one those behind the middle.
        private static func split(_ parts: Parts, overlap: UInt64) throws {
            let middle = parts.numbers.upperBound / 2
            let whole = ArchiveLayout(root: parts.whole)
            try SplitRecording(collector: "east", term: 1).copy(
                parts.session, from: whole, to: ArchiveLayout(root: parts.east)
            ) { $1 <= middle + overlap }
            var west = SplitRecording(collector: "west", term: 2)
            west.leavesOutLines = { $0.kind == .gap }
            try west.copy(parts.session, from: whole, to: ArchiveLayout(root: parts.west)) {
                $1 > middle
            }
            // Its agent has reported the records that the other collector acknowledged.
            var held = LedgerEntry(kind: .held, at: UTCTime(nanoseconds: 0))
            held.collector = "east"
            held.spool = parts.spool.description
            held.firstSequence = 1
            held.lastSequence = middle
            let ledger = ArchiveLayout(root: parts.west).ledger(parts.session, source)
            let lines = try FileSystem.read(ledger, limit: 1 << 24)
            try FileSystem.replace(ledger, with: lines + Ledger.line(held))
        }

        @Test func `ls, show, verify and export cross from one archive to the other`() async throws
        {
            try await Stage.with { stage in
                let parts = try await Self.record(on: stage)
                try Self.split(parts, overlap: 20)
                func archive(_ words: String...) async throws -> Outcome {
                    try await stage.start(.archive, words + parts.options).succeeds()
                }
                #expect(try await archive("ls", "--names").output == "\(parts.session)\n")
                #expect(
                    try await archive("ls", "latest", "--names").output.split(separator: "\n").count
                        == 3)
                let verified = try await archive("verify", "latest", "--json").output
                let report = try JSONDecoder().decode(Verified.self, from: Data(verified.utf8))
                #expect(report.isIntact)
                #expect(report.sessions.first?.sources.first?.copies == 20)
                let shown = try await archive("show", "latest").output
                #expect(shown.contains("archives  east"))
                #expect(shown.contains("20 records are copies in another archive"))
                let joined = stage.directory.appending(path: "joined.mp4").path
                let whole = stage.directory.appending(path: "whole.mp4").path
                _ = try await archive("export", "latest", "-o", joined)
                try await stage.start(
                    .archive, ["export", "latest", "-o", whole, "--archive", parts.whole]
                ).succeeds()
                let pictures = try await Self.decoded(joined, on: stage)
                #expect(pictures.count > 150)
                let same = try await Self.decoded(whole, on: stage)
                #expect(pictures == same)
                // A clip that begins a little before the joint, and one behind it: the keyframe is in the other archive.
                for start in ["2.9", "3.05"] {
                    let clip = stage.directory.appending(path: "clip\(start).mp4").path
                    let same = stage.directory.appending(path: "same\(start).mp4").path
                    let range = ["--start", start, "--duration", "1.2s"]
                    try await stage.start(
                        .archive, ["export", "latest", "-o", clip] + range + parts.options
                    ).succeeds()
                    try await stage.start(
                        .archive,
                        ["export", "latest", "-o", same, "--archive", parts.whole] + range
                    ).succeeds()
                    let (one, two) = try await (
                        Self.decoded(clip, on: stage), Self.decoded(same, on: stage)
                    )
                    #expect(one == two)
                }
            }
        }

        @Test
        func
            `what an archive that is away holds is neither recorded nor lost, until it is given up`()
            async throws
        {
            try await Stage.with { stage in
                let parts = try await Self.record(on: stage)
                try Self.split(parts, overlap: 0)
                func archive(_ words: [String], _ places: [String]) async throws -> String {
                    try await stage.start(
                        .archive, words + places.flatMap { ["--archive", $0] }
                    ).succeeds().output
                }
                let middle = parts.numbers.upperBound / 2
                let west = [parts.west]
                let held = "held by east: \(middle) records (1 to \(middle))"
                #expect(try await archive(["show", "latest"], west).contains(held))
                let verdict = try await archive(["verify"], west)
                #expect(verdict.contains("intact"))
                #expect(verdict.contains("\(middle) records are held by east"))
                let lost = try await archive(["lost", "east"], west)
                #expect(lost.contains("\(middle) records are lost with east"))
                let shown = try await archive(["show", "latest"], west)
                #expect(!shown.contains("held by"))
                #expect(shown.contains("missing: at most \(middle) samples"))
                #expect(shown.contains("(collector-lost)"))
                #expect(try await archive(["verify"], west).contains("intact"))
                // East is back, and has them.
                let both = try await archive(["show", "latest"], [parts.east, parts.west])
                #expect(!both.contains("held by") && !both.contains("collector-lost"))
                _ = try await archive(["lost", "east", "--undo"], west)
                #expect(try await archive(["show", "latest"], west).contains(held))
            }
        }

        @Test
        func `commands read the other archives, and end with status 1`() async throws {
            try await Stage.with { stage in
                let parts = try await Self.record(on: stage)
                try Self.split(parts, overlap: 0)
                let file = stage.directory.appending(path: "part.mp4").path
                let picture = stage.directory.appending(path: "part.jpg").path
                let stream = stage.directory.appending(path: "part.ts").path
                let readers = [
                    ["ls"], ["show", "latest"], ["verify", "latest"], ["verify"],
                    ["export", "latest", "--overwrite", "-o", file],
                    ["extract", "latest", "--at", "5s", "--overwrite", "-o", picture],
                    ["replay", "latest", "--overwrite", "--to", stream], ["note", "latest"],
                    ["mark", "latest"],
                ]
                func expect(_ places: [String], says line: String) async throws {
                    for words in readers {
                        let outcome = try await stage.start(
                            .archive, words + places.flatMap { ["--archive", $0] }
                        ).outcome()
                        #expect(outcome.status == 1, "\(words) \(places): \(outcome.output)")
                        let complaints = outcome.complaintLines
                        #expect(
                            complaints.count == 1 && complaints[0].contains(line),
                            "\(words): \(outcome.complaints)")
                        #expect(!outcome.output.contains("intact"))
                        if ["show", "export", "replay"].contains(words[0]) {
                            #expect(!outcome.output.isEmpty, "\(words)")
                        }
                    }
                }
                let away = stage.directory.appending(path: "away").path
                try await expect([away, parts.west], says: "no archive at \(away): it is left out")
                let manifest = ArchiveLayout(root: parts.east).manifest(parts.session)
                try FileSystem.replace(manifest, with: Array("{".utf8))
                try await expect([parts.east, parts.west], says: manifest)
            }
        }

        @Test func `a stray directory does not end the check of all sessions`() async throws {
            try await Stage.with { stage in
                let parts = try await Self.record(on: stage)
                try Self.split(parts, overlap: 0)
                // Before all sessions in the list.
                try FileSystem.makeDirectories(ArchiveLayout(root: parts.east).session("0-stray"))
                let outcome = try await stage.start(.archive, ["verify"] + parts.options).outcome()
                #expect(outcome.status == 1)
                #expect(outcome.output.contains("session 0-stray: DAMAGED"))
                #expect(outcome.output.contains("session \(parts.session): intact"))
            }
        }

        @Test func `a partly unreadable session does not make others incomplete`() async throws {
            try await Stage.with { stage in
                let parts = try await Self.record(on: stage)
                try Self.split(parts, overlap: 0)
                // Behind the other session in the list.
                for layout in [parts.east, parts.west].map({ ArchiveLayout(root: $0) }) {
                    try FileManager.default.copyItem(
                        atPath: layout.session(parts.session), toPath: layout.session("other"))
                    var manifest = try SessionManifest.read(layout.manifest("other"))
                    manifest.session = "other"
                    try FileSystem.replace(layout.manifest("other"), with: manifest.encoded())
                }
                try FileSystem.replace(
                    ArchiveLayout(root: parts.east).manifest(parts.session), with: Array("{".utf8))
                for sessions in [[], [parts.session, "other"]] {
                    let outcome = try await stage.start(
                        .archive, ["verify"] + sessions + parts.options
                    ).outcome()
                    #expect(outcome.status == 1)
                    #expect(outcome.output.contains("session \(parts.session): DAMAGED"))
                    #expect(outcome.output.contains("session other: intact"), "\(outcome.output)")
                }
            }
        }

        private struct Verified: Decodable {
            struct Session: Decodable {
                struct Source: Decodable {
                    var copies: UInt64?
                    var recordedSamples: UInt64
                }
                var sources: [Source]
            }
            var isIntact: Bool
            var sessions: [Session]
        }

        @Test func `the viewer plays one recording of two archives`() async throws {
            try await Stage.with { stage in
                let parts = try await Self.record(on: stage)
                try Self.split(parts, overlap: 20)
                let one = try await ServedArchive(on: stage)
                let two = try await ServedArchive(on: stage, archives: [parts.east, parts.west])
                let media = "/api/v1/sessions/\(parts.session)/sources/\(Self.source)"
                func file(_ served: ServedArchive, _ path: String, _ name: String) async throws
                    -> String
                {
                    let answer = try await served.get(path)
                    #expect(answer.status == 200, "\(path): \(answer.text.prefix(200))")
                    let file = stage.directory.appending(path: name)
                    try answer.body.write(to: file)
                    return file.path
                }
                let whole = try await file(one, "\(media)/media.mp4", "one.mp4")
                let joined = try await file(two, "\(media)/media.mp4", "two.mp4")
                let (both, alone) = try await (
                    Self.decoded(joined, on: stage), Self.decoded(whole, on: stage)
                )
                #expect(both == alone)
                // The picture at the joint.
                for at in ["2.95", "3.05"] {
                    let picture = "\(media)/picture.jpg?at=\(at)&width=160"
                    let (joint, alone) = try await (two.get(picture), one.get(picture))
                    #expect(joint.status == 200)
                    #expect(joint.body == alone.body)
                }
                let coverage = "/api/v1/sessions/\(parts.session)/coverage"
                struct Lane: Decodable, Equatable {
                    struct Span: Decodable, Equatable {
                        var startSeconds: Double
                        var endSeconds: Double
                    }
                    struct Gap: Decodable, Equatable { var cause: String }
                    var recorded: [Span]
                    var missing: [Gap]
                }
                let lanes = try await two.json([Lane].self, at: coverage)
                let own = try await one.json([Lane].self, at: coverage)
                #expect(lanes == own)
                let playlist = "/hls/\(parts.session)/\(Self.source)/index.m3u8"
                let playlists = try await (
                    // FFmpeg mentions the beginning of each file of every such playlist.
                    Self.decoded("\(two.address)\(playlist)", on: stage, level: "error"),
                    Self.decoded("\(one.address)\(playlist)", on: stage, level: "error")
                )
                #expect(playlists.0 == playlists.1)
            }
        }
    }
}
