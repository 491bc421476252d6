import Archive
import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// The messages of the archive's commands are correct.
    @Suite(.serialized, .enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
    struct ArchiveWordsTests {
        private static let clip =
            "-f lavfi -i testsrc2=s=320x180:r=25:d=3 -f lavfi -i sine=f=440:r=48000:d=3 "
            + "\(MediaFiles.h264) -bf 2 \(MediaFiles.aac)"
        private static let session = "2026-01-05T10-00-00.000Z"

        /// An archive with one session of one source, `film`, in three segments.
        private struct Scene {
            let stage: Stage
            let clip: String

            /// Runs `tributary` on the archive, in the stage's directory.
            func callAsFunction(_ words: String...) async throws -> Outcome {
                try await stage.start(.archive, words + ["--archive", stage.archive]).outcome()
            }

            /// The output of a command that succeeds.
            func says(_ words: String...) async throws -> String {
                let outcome = try await stage.start(
                    .archive, words + ["--archive", stage.archive]
                ).succeeds()
                #expect(outcome.complaints.isEmpty)
                return outcome.output
            }

            func path(_ name: String) -> String { stage.directory.appending(path: name).path }
        }

        private func with(_ body: (Scene) async throws -> Void) async throws {
            let media = try MediaFiles()
            let clip = try media.make("film.mp4", Self.clip)
            try await Stage.with { stage in
                let scene = Scene(stage: stage, clip: clip)
                _ = try await scene.says(
                    "import", clip, "--segment", "1s", "--at", "2026-01-05T10:00:00Z")
                try await body(scene)
            }
        }

        @Test func `an export verifies as an export, under any extension`() async throws {
            try await with { scene in
                for name in ["out.mp4", "out.mov"] {
                    _ = try await scene.says("export", "latest", "-o", scene.path(name))
                    let text = try await scene.says("verify", scene.path(name))
                    #expect(text.contains("\(name): export or foreign file, "), "\(text)")
                    #expect(text.contains("75 pictures + "), "\(text)")
                }
                // By its bare name, typed in its directory.
                let bare = try await scene.stage.start(
                    at: URL(filePath: "/usr/bin/env"),
                    [
                        "-C", scene.stage.directory.path, Executable.archive.url.path, "verify",
                        "out.mov",
                    ]
                ).succeeds()
                #expect(bare.output.hasPrefix("ok      out.mov: export or foreign file"))
                try Data("no media".utf8).write(to: URL(filePath: scene.path("bad.mp4")))
                let bad = try await scene("verify", scene.path("bad.mp4"))
                #expect(bad.status == 1)
                let line = bad.output.split(separator: "\n").first ?? ""
                #expect(line.hasPrefix("DAMAGED") && line.hasSuffix("unreadable, 8 B"), "\(line)")
            }
        }

        @Test func `an argument of the wrong kind is named as what it is`() async throws {
            try await with { scene in
                let folder = scene.stage.directory.path
                for (words, text) in [
                    (["import", folder], "is a directory: give the files to import"),
                    (["export", scene.clip, "-o", "x.mp4"], "is not a recorded segment"),
                    (["show", scene.clip], "is a file: give a session"),
                    (["verify", folder], "nor an archive"),
                    (["export", scene.stage.archive, "-o", "x.mp4"], "give one of its sessions"),
                    (["show", "premiere"], "by ID, name or tag"),
                ] {
                    let outcome = try await scene.stage.start(
                        .archive, words + ["--archive", scene.stage.archive]
                    ).outcome()
                    #expect(outcome.status == 1)
                    #expect(outcome.complaintLines.count == 1)
                    #expect(outcome.complaints.contains(text), "\(outcome.complaints)")
                }
            }
        }

        @Test func `a start before the session's beginning is refused`() async throws {
            try await with { scene in
                let out = scene.path("out.mp4")
                let outcome = try await scene("export", "latest", "--start=-5s", "-o", out)
                #expect(outcome.status == 1)
                #expect(
                    outcome.complaints
                        == "tributary: --start -0:05.000 is before the start of the session at 0:00.000\n"
                )
                #expect(!FileManager.default.fileExists(atPath: out))
                _ = try await scene.says("export", "latest", "--start=0", "-o", out)
            }
        }

        @Test func `a snapshot is a JPEG, and replaces a file only with the option`() async throws {
            try await with { scene in
                let bitmap = try await scene("agent", "door", "snapshot", scene.path("now.bmp"))
                #expect(bitmap.status == 64)
                #expect(bitmap.complaints.contains("is not a JPEG file name"))
                let there = scene.path("now.jpg")
                try Data("mine".utf8).write(to: URL(filePath: there))
                let again = try await scene("agent", "door", "snapshot", there)
                #expect(again.status == 1)
                #expect(again.complaints.contains("already exists: use --overwrite to replace it"))
                // No collector runs, so this refusal is right.
                let asked = try await scene("agent", "door", "snapshot", there, "--overwrite")
                #expect(asked.complaints.contains("no collector"), "\(asked.complaints)")
                #expect(try Data(contentsOf: URL(filePath: there)) == Data("mine".utf8))
            }
        }

        @Test func `a replay replaces a file only with the option`() async throws {
            try await with { scene in
                let out = scene.path("out.ts")
                _ = try await scene.says("replay", "latest", "--to", out)
                let size = try Data(contentsOf: URL(filePath: out)).count
                try Data("mine".utf8).write(to: URL(filePath: out))
                let again = try await scene("replay", "latest", "--to", out)
                #expect(again.status == 1)
                #expect(again.complaints.contains("already exists: use --overwrite to replace it"))
                #expect(try Data(contentsOf: URL(filePath: out)) == Data("mine".utf8))
                _ = try await scene.says("replay", "latest", "--to", out, "--overwrite")
                #expect(try Data(contentsOf: URL(filePath: out)).count == size)
                let pipe = try await scene("replay", "latest", "--to", "-", "--overwrite")
                #expect(pipe.status == 64 && pipe.complaints.contains("--overwrite needs a file"))
            }
        }

        @Test func `a name has one line, and a note may have several`() async throws {
            try await with { scene in
                let outcome = try await scene("note", "latest", "--name", "one\ntwo")
                #expect(outcome.status == 64 && outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("use one line"))
                let json = try await scene.says(
                    "note", "latest", "--name", #"a "b" \n c"#, "--note", "one\ntwo", "--json")
                let notes = try #require(
                    JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
                #expect(notes["name"] as? String == #"a "b" \n c"#)
                #expect(notes["note"] as? String == "one\ntwo")
            }
        }

        @Test func `an instant outside a session is called that`() async throws {
            try await with { scene in
                let within = try await scene.says("mark", "latest", "goal", "--at", "1.5")
                #expect(!within.contains("note:"))
                let late = try await scene.says("mark", "latest", "late", "--at", "99:00")
                #expect(
                    late.contains("note: 1:39:00.000 is after the end of the session (0:03."),
                    "\(late)")
                let early = try await scene.says("mark", "latest", "early", "--at", "-1:00")
                #expect(
                    early.contains("note: -1:00.000 is before the start of the session (0:00.000)"),
                    "\(early)")
                let json = try await scene.says("mark", "latest", "x", "--at", "-2s", "--json")
                _ = try JSONSerialization.jsonObject(with: Data(json.utf8))
                // Times before zero are negative.
                for word in [["--start", "-1"], ["--start=-1"]] {
                    let outcome = try await scene.stage.start(
                        .archive,
                        ["export", "latest", "-o", scene.path("x.mp4"), "--archive"]
                            + [scene.stage.archive] + word
                    ).outcome()
                    #expect(outcome.status == 1)
                    #expect(
                        outcome.complaints.contains(
                            "--start -0:01.000 is before the start of the session at 0:00.000"),
                        "\(outcome.complaints)")
                }
            }
        }

        @Test func `sessions are found by name and tag, in every command`() async throws {
            try await with { scene in
                _ = try await scene.says(
                    "import", scene.clip, "--at", "2026-01-06T10:00:00Z", "--source", "film")
                _ = try await scene.says(
                    "note", Self.session, "--name", "Premiere", "--tag", "blue")
                _ = try await scene.says("note", "latest", "--tag", "blue", "--tag", "late")
                for words in [
                    ["show", "Premiere"], ["verify", "Premiere"], ["ls", "Premiere"],
                    ["export", "Premiere", "-o", scene.path("a.mp4")],
                    ["extract", "Premiere", "-o", scene.path("a.h264")],
                    ["replay", "Premiere", "--to", scene.path("a.ts")],
                    ["retime", "Premiere", "--dry-run"], ["note", "Premiere"],
                    ["protect", "Premiere"], ["protect", "Premiere", "--off"],
                    ["rm", "Premiere", "--dry-run"],
                ] {
                    let outcome = try await scene.stage.start(
                        .archive, words + ["--archive", scene.stage.archive]
                    ).outcome()
                    #expect(outcome.status == 0, "\(words): \(outcome.complaints)")
                }
                #expect(
                    try await scene.says("ls", "late").contains("2026-01-06T10-00-00.000Z.mp4"))
                let both = try await scene("show", "blue")
                #expect(both.status == 1)
                #expect(both.complaints.contains("2 sessions have the name or tag 'blue'"))
                #expect(
                    try await scene.says("verify", "blue").components(separatedBy: ": intact;")
                        .count == 3)
                let table = try await scene.says("ls")
                #expect(
                    table.contains("TAGS") && table.contains("\(Self.session) \"Premiere\"  blue "))
                #expect(
                    try await scene.says("ls", "--tag", "late", "--names")
                        == "2026-01-06T10-00-00.000Z\n")
                #expect(
                    try await scene.says("ls", "--tag", "late", "--tag", "green", "--names") == "")
            }
        }

        @Test func `an archive's directory stands for its sessions`() async throws {
            try await with { scene in
                let archive = scene.stage.archive
                for words in [["ls", archive], ["show", archive], ["verify", archive]] {
                    let outcome = try await scene.stage.start(.archive, words).succeeds()
                    #expect(outcome.output.contains(Self.session))
                }
                let directory = "\(archive)/sessions/\(Self.session)"
                for words in [["ls", directory], ["show", directory], ["verify", directory]] {
                    let outcome = try await scene.stage.start(.archive, words).succeeds()
                    #expect(outcome.output.contains("2026-01-05T10-00-01.000Z.mp4"))
                }
            }
        }

        @Test func `ls prints the start and the end of each segment`() async throws {
            try await with { scene in
                let text = try await scene.says("ls", "latest")
                #expect(text.contains("BEGINS (UTC)"))
                #expect(
                    text.contains(
                        "film    2026-01-05 10:00:01.000  2026-01-05 10:00:02."), "\(text)")
                let json = try await scene.says(
                    "ls", "latest", "--json", "--from", "2026-01-05T11:00:01.1+01:00", "--until",
                    "2026-01-05 10:00:01.9Z")
                let rows = try #require(
                    JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
                #expect(rows.map { $0["start"] as? String } == ["2026-01-05T10:00:01.000Z"])
                #expect(rows.first?["startSeconds"] as? Double == 1)
                #expect(try #require(rows.first?["endSeconds"] as? Double) >= 2)
                let refused = try await scene("ls", "--from", "13s")
                #expect(refused.status == 64)
                #expect(refused.complaints.contains("write a date, or a date and a time"))
                #expect(!refused.complaints.contains("90s"))
            }
        }

        @Test func `show prints labels and formats, and omits unknown values`() async throws {
            try await with { scene in
                _ = try await scene.says(
                    "note", "latest", "--name", "Premiere", "--tag", "blue", "--note", "one\ntwo")
                _ = try await scene.says("protect", "latest")
                let text = try await scene.says("show", "latest")
                for line in [
                    "name      Premiere\ntags      blue\nnote      one\n          two\n",
                    "state     finished, protected\n", "–  video 320×180 H.264, audio 48000 Hz",
                    ": – (not measured: a replay or an import)", "nothing missing",
                ] {
                    #expect(text.contains(line), "\(line) is not in \(text)")
                }
                #expect(!text.contains("0.000 ms"))
            }
        }

        @Test func `show prints gaps in time of day, and omits empty ones`() async throws {
            try await with { scene in
                let layout = ArchiveLayout(root: scene.stage.archive)
                var lines = try FileSystem.read(layout.ledger(Self.session, "film"), limit: 1 << 20)
                for (start, duration) in [(500, 7_100), (800, 0), (900, 0), (910, 0)]
                    as [(Int64, UInt64)]
                {
                    var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
                    if start == 910 { gap.text = "its clock was never set" }
                    gap.cause = "command"
                    gap.startNanoseconds = start * 1_000_000
                    gap.durationNanoseconds = duration * 1_000_000
                    lines += Ledger.line(gap)
                }
                try FileSystem.replace(layout.ledger(Self.session, "film"), with: lines)
                let text = try await scene.says("show", "latest")
                #expect(
                    text.contains("missing: from 0.500 s, 10:00:00.500 UTC, for 7.100 s (command)"),
                    "\(text)")
                #expect(text.contains("missing: 2 gaps of less than a millisecond"), "\(text)")
                #expect(
                    text.contains(
                        "missing: 1 gap of less than a millisecond, no samples lost (command) its clock was never set"
                    ),
                    "\(text)")
                #expect(!text.contains("for 0.000 s"))
                let verdict = try await scene.says("verify", "latest")
                #expect(
                    verdict.contains(
                        "no captured samples missing; 7.1 s were not captured (show)"),
                    "\(verdict)")
                // Samples in a box's memory at its end are uncounted.
                var loss = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
                loss.cause = "restart"
                loss.startNanoseconds = 950_000_000
                loss.durationNanoseconds = 0
                try FileSystem.replace(
                    layout.ledger(Self.session, "film"), with: lines + Ledger.line(loss))
                let unsure = try await scene.says("verify", "latest")
                #expect(
                    unsure.contains("7.1 s are missing and explained; 1 loss of unknown size"),
                    "\(unsure)")
                let json = try await scene.says("show", "latest", "--json")
                #expect(json.contains("\"missingSeconds\" : 7.1"))
                #expect(json.contains("\"start\" : \"2026-01-05T10:00:00.500Z\""))
            }
        }

        @Test func `without a running collector, no session is recording`() async throws {
            try await with { scene in
                let layout = ArchiveLayout(root: scene.stage.archive)
                var manifest = try SessionManifest.read(layout.manifest(Self.session))
                manifest.state = .recording
                try FileSystem.replace(layout.manifest(Self.session), with: manifest.encoded())
                let said = "recording (no collector is running)"
                #expect(try await scene.says("show", "latest").contains("state     \(said)"))
                _ = try await scene.says("index")
                #expect(try await scene.says("ls").contains(said))
                let lock = try #require(try ArchiveLock.take(layout))
                let text = try await scene.says("show", "latest")
                #expect(text.contains("state     recording\n"))
                let listed = try await scene.says("ls")
                #expect(!listed.contains(said))
                withExtendedLifetime(lock) {}
            }
        }
    }
}
