import CLinux
import Foundation
import Glibc
import Testing

extension EndToEnd {
    /// A maximally hostile archive beside an honest session: every command, the viewer and a collector exit or serve
    /// the honest one.
    @Suite(.serialized, .long) struct StrangeArchiveTests {
        private static let honest = "2026-11-21T22-26-29.924Z"
        private static let model = "2026-11-21T22-26-34.191Z"
        /// Content outside the archive, which no program may print.
        private static let secret = "canary"

        /// The kind of entry that replaces a file or directory.
        private enum Kind: String, CaseIterable {
            case pipe, socket, directory, file, linkToFile, linkToDirectory, linkToItself

            func make(at path: String, outside: String) {
                let result: Int32 =
                    switch self {
                    case .pipe: mkfifo(path, 0o644)
                    case .socket: mknod(path, S_IFSOCK | 0o644, 0)
                    case .directory: mkdir(path, 0o755)
                    case .file: mknod(path, S_IFREG | 0o644, 0)
                    case .linkToFile: symlink("\(outside)/session.json", path)
                    case .linkToDirectory: symlink(outside, path)
                    case .linkToItself: symlink(path, path)
                    }
                precondition(result == 0, "\(self) at \(path): errno \(errno)")
            }
        }

        private static let places = [
            "session.json", "camera1", "camera1/ledger.jsonl",
            "camera1/2026-11-21T22-26-34.191Z.mp4",
            "camera1/2026-11-21T22-26-35.191Z.mp4.json", "notes.json", "marks.json", ".protected",
            ".stored",
        ]

        /// The archive and its surroundings.
        private final class Scene {
            let stage: Stage
            let outside: String
            /// The damaged sessions.
            private(set) var sessions: [String] = []
            private var before: [String: String] = [:]

            init(_ stage: Stage) throws {
                self.stage = stage
                outside = stage.directory.appending(path: "outside").path
                let stored = URL(filePath: #filePath)
                    .deletingLastPathComponent().deletingLastPathComponent()
                    .appending(path: "Upgrade/0.1.0/archive/sessions")
                let files = FileManager.default
                try files.createDirectory(
                    atPath: "\(stage.archive)/sessions", withIntermediateDirectories: true)
                try files.copyItem(
                    atPath: stored.appending(path: honest).path, toPath: path(honest))
                // The target of a followed link: a session with a source of that name.
                try files.copyItem(
                    atPath: stored.appending(path: model).path, toPath: outside)
                try files.moveItem(
                    atPath: "\(outside)/camera1", toPath: "\(outside)/\(secret)")
                try add(stored.appending(path: model).path)
                // With "relatime" (mount(8)), reading updates the access time of a file that was changed after its last
                // access.
                let longAgo = [
                    timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0),
                ]
                for name in try files.subpathsOfDirectory(atPath: outside) {
                    precondition(utimensat(AT_FDCWD, "\(outside)/\(name)", longAgo, 0) == 0)
                }
                before = try state()
            }

            func path(_ session: String) -> String { "\(stage.archive)/sessions/\(session)" }

            private func add(_ model: String) throws {
                let files = FileManager.default
                func next() -> String {
                    let number = sessions.count
                    let name = "2026-11-20T10-\(10 + number / 50)-\(10 + number % 50).000Z"
                    sessions.append(name)
                    return path(name)
                }
                // The module's own tests cover every combination.
                for (index, place) in places.enumerated() {
                    for kind in [.pipe, [.linkToFile, .linkToDirectory][index % 2]] as [Kind] {
                        let session = next()
                        try files.copyItem(atPath: model, toPath: session)
                        if files.fileExists(atPath: "\(session)/\(place)") {
                            try files.removeItem(atPath: "\(session)/\(place)")
                        }
                        kind.make(at: "\(session)/\(place)", outside: outside)
                    }
                }
                for kind in Kind.allCases { kind.make(at: next(), outside: outside) }
                Kind.linkToDirectory.make(
                    at: "\(stage.archive)/sessions/.removing-\(honest)", outside: outside)
                // Sparse files larger than the disk.
                for (place, bytes) in [
                    ("session.json", 10 << 30), ("camera1/ledger.jsonl", 10 << 30),
                    ("notes.json", 10 << 30), ("camera1/2026-11-21T22-26-34.191Z.mp4", 1 << 42),
                ] {
                    let session = next()
                    try files.copyItem(atPath: model, toPath: session)
                    let file = "\(session)/\(place)"
                    if !files.fileExists(atPath: file) {
                        Kind.file.make(at: file, outside: outside)
                    }
                    precondition(truncate(file, bytes) == 0)
                }
                // Foreign text of the maximum length.
                for (place, text) in try hostileTexts(model) {
                    let session = next()
                    try files.copyItem(atPath: model, toPath: session)
                    try text.write(to: URL(filePath: "\(session)/\(place)"))
                }
                let zeros = next()
                try files.copyItem(atPath: model, toPath: zeros)
                precondition(truncate("\(zeros)/camera1/ledger.jsonl", 200 << 20) == 0)
                // The same name in other letters, and names that are none.
                let other = next()
                try files.copyItem(atPath: model, toPath: other)
                let name = URL(filePath: other).lastPathComponent
                try files.copyItem(atPath: model, toPath: path(name.lowercased()))
                for name in ["\u{2026}", "a b", "-x", "x\ny", String(repeating: "x", count: 255)] {
                    Kind.directory.make(at: path(name), outside: outside)
                    Kind.pipe.make(at: "\(other)/\(name)", outside: outside)
                }
                let bytes: [CChar] = [-1, -2, 0]
                let folder = open("\(other)/camera1", O_RDONLY | O_DIRECTORY)
                defer { close(folder) }
                precondition(mkdirat(folder, bytes, 0o755) == 0)
            }

            private func hostileTexts(_ model: String) throws -> [(place: String, text: Data)] {
                let ledger = try Data(
                    contentsOf: URL(filePath: "\(model)/camera1/ledger.jsonl"))
                let description = String(
                    decoding: try Data(contentsOf: URL(filePath: "\(model)/session.json")),
                    as: UTF8.self)
                let spools = Array(repeating: #"{"spool":"","through":0}"#, count: 500_000)
                let marks = (0..<200_000).map {
                    #"{"id":"\#(String(1_000_000_000_000_000 + $0))","atNanoseconds":1,"text":""}"#
                }
                let tags = Array(repeating: #""x""#, count: 200_000)
                return [
                    // One line without an end.
                    (
                        "camera1/ledger.jsonl",
                        Data(repeating: UInt8(ascii: "x"), count: 200 << 20)
                    ),
                    ("camera1/ledger.jsonl", Data(repeating: UInt8(ascii: "\n"), count: 64 << 20)),
                    (
                        "camera1/ledger.jsonl",
                        Data(Array(repeating: "x\n", count: 4 << 20).joined().utf8)
                    ),
                    // Lines of ours, again and again.
                    ("camera1/ledger.jsonl", Data((0..<5_000).flatMap { _ in ledger })),
                    (
                        "session.json",
                        Data(
                            description.replacing(
                                #""tracks""#,
                                with: #""spools":[\#(spools.joined(separator: ","))],"tracks""#
                            ).utf8)
                    ),
                    ("marks.json", Data(#"{"marks":[\#(marks.joined(separator: ","))]}"#.utf8)),
                    ("notes.json", Data(#"{"tags":[\#(tags.joined(separator: ","))]}"#.utf8)),
                ]
            }

            /// Content, and when it was read and changed last, of everything outside.
            private func state() throws -> [String: String] {
                var found: [String: String] = [:]
                let files = FileManager.default
                let names = try files.subpathsOfDirectory(atPath: outside).sorted()
                for name in names {
                    let path = "\(outside)/\(name)"
                    var status = stat()
                    precondition(lstat(path, &status) == 0)
                    // This test's own listing reads directories.
                    let read = status.st_mode & S_IFMT == S_IFREG ? status.st_atim.tv_sec : 0
                    found[name] =
                        "\(status.st_ino) \(status.st_size) \(read) \(status.st_mtim) \(status.st_ctim)"
                }
                return found
            }

            func expectOutsideUnchanged(sourceLocation: SourceLocation = #_sourceLocation) throws {
                #expect(try state() == before, sourceLocation: sourceLocation)
            }

            /// Runs a command, which must exit by itself, at most with a one-line error.
            @discardableResult
            func run(
                _ words: [String], sourceLocation: SourceLocation = #_sourceLocation
            ) async throws -> Outcome {
                let outcome = try await stage.start(
                    .archive, words + ["--archive", stage.archive]
                ).outcome()
                #expect(
                    [0, 1].contains(outcome.status), "\(words): \(outcome.status)",
                    sourceLocation: sourceLocation)
                #expect(
                    !outcome.output.contains(secret) && !outcome.complaints.contains(secret),
                    "\(words)", sourceLocation: sourceLocation)
                return outcome
            }
        }

        @Test func `every command ends, and leaves everything outside unchanged`() async throws {
            try await Stage.with { stage in
                let scene = try Scene(stage)
                let out = stage.directory.appending(path: "out").path
                for words in [["ls"], ["ls", "--json"], ["index"], ["ls"], ["verify"]] {
                    let outcome = try await scene.run(words)
                    #expect(outcome.complaints.contains("not read as a session") || words != ["ls"])
                    if words[0] == "ls" { #expect(outcome.output.contains(Self.honest)) }
                }
                for session in scene.sessions {
                    for words in [
                        ["show"], ["verify"], ["export", "-o", "\(out).mp4", "--overwrite"],
                        ["extract", "--source", "camera1", "-o", "\(out).h264", "--overwrite"],
                        ["replay", "--to", "\(out).ts", "--overwrite"], ["note", "--tag", "x"],
                        ["mark", "x", "--at", "0:01"], ["retime", "--dry-run"], ["rm"],
                    ] {
                        try await scene.run([words[0], session] + words.dropFirst())
                    }
                }
                let honest = try await scene.run(["verify", Self.honest])
                #expect(honest.status == 0)
                try scene.expectOutsideUnchanged()
            }
        }

        @Test(.enabled(if: Foreign.curl != nil, "curl asks"))
        func `the viewer serves the intact session beside requests for others`() async throws {
            try await Stage.with { stage in
                let scene = try Scene(stage)
                let served = try await ServedArchive(on: stage)
                let honest = "/api/v1/sessions/\(Self.honest)"
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for session in scene.sessions {
                        let path = "/api/v1/sessions/\(session)"
                        group.addTask {
                            for part in [
                                "", "/segments", "/coverage", "/marks", "/sources/camera1/gaps",
                                "/sources/camera1/media.mp4", "/sources/camera1/picture.jpg?at=0.5",
                            ] {
                                let answer = try await served.get(path + part)
                                #expect(
                                    answer.status < 500 || answer.status == 503, "\(path + part)")
                                #expect(!answer.text.contains(Self.secret))
                            }
                        }
                    }
                    for _ in 0..<8 {
                        let list = try await served.get("/api/v1/sessions")
                        #expect(list.status == 200 && list.text.contains(Self.honest))
                        #expect(!list.text.contains(Self.secret))
                        let media = try await served.get("\(honest)/sources/camera1/media.mp4")
                        #expect(media.status == 200 && media.body.count > 10_000)
                    }
                    try await group.waitForAll()
                }
                served.viewer.signal(SIGTERM)
                try await served.viewer.succeeds()
                try scene.expectOutsideUnchanged()
            }
        }

        @Test func `a collector records there, and leaves everything outside unchanged`()
            async throws
        {
            try await Stage.with { stage in
                let scene = try Scene(stage)
                // In any continued session, the source's path leads outside.
                for session in scene.sessions {
                    let path = scene.path(session)
                    let type = try FileManager.default.attributesOfItem(atPath: path)[.type]
                    guard type as? FileAttributeType == .typeDirectory else { continue }
                    symlink(scene.outside, "\(path)/bad")
                }
                let collector = try await stage.collector(
                    "--keep-bytes", "100GB", "--idle-timeout", "0s")
                let bad = try stage.testAgent("bad", "--duration", "3s", "--linger", "3s")
                let good = try stage.testAgent("good", "--duration", "3s")
                try await good.succeeds()
                // Its samples cannot be written, so it keeps them.
                bad.signal(SIGKILL)
                collector.signal(SIGINT)
                _ = try await collector.outcome()
                #expect(try !stage.recordings("good").isEmpty)
                let verified = try await scene.run(["verify", Self.honest])
                #expect(verified.status == 0)
                try scene.expectOutsideUnchanged()
            }
        }
    }
}
