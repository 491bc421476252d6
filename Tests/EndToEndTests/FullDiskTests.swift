import Foundation
import Glibc
import Operations
import TestMetrics
import Testing

extension EndToEnd {
    /// Recordings on a full disk.
    @Suite(.serialized) struct FullDiskTests {
        @Test(.enabled(if: SmallDisk.canBeMade, "no root here, so no disk of a given size"))
        func `a full disk stops recording until there is room, without a loss`() async throws {
            try await Stage.with { stage in
                let disk = try await SmallDisk(
                    megabytes: 20, on: stage,
                    collector: ["--reserve", "3MB", "--segment", "3s", "--http", "0"])
                let site = try await Watcher(of: disk.collector, on: stage)
                // One megabyte remains.
                try disk.fill(megabytes: 16)
                let agent = try stage.testAgent(
                    "camera", "--size", "640x360", "--video-bitrate", "8M", "--encoder-preset",
                    "ultrafast", "--duration", "12s")
                try await disk.collector.says("the disk is full")
                #expect(try disk.freeBytes >= 2_900_000)
                try await site.eventually("it is not ready") { $0.value("tributary_ready") == 0 }
                let refusal = try await site.get("/readyz")
                #expect(refusal.status == 503)
                #expect(String(decoding: refusal.body, as: UTF8.self).contains("no room"))
                #expect(try await site.get("/healthz").status == 200)
                #expect(
                    try #require(
                        await site.metrics().value("tributary_disk_files_without_room")) > 0)
                try await agent.says("capture ended")
                // It plays up to the point where space ran out.
                let archive = "\(stage.directory.path)/seen"
                try disk.copyArchive(to: archive)
                let seen = try FileManager.default.subpathsOfDirectory(atPath: archive)
                    .filter { $0.hasSuffix(".mp4") }
                #expect(!seen.isEmpty)
                for path in seen where Foreign.hasFFmpeg {
                    let file = URL(filePath: "\(archive)/\(path)")
                    // The newest file may have no fragment if space ran out before its first.
                    guard try Data(contentsOf: file).count(of: "moof") > 0 else { continue }
                    try await Foreign.decode(file, on: stage)
                }

                try disk.empty()
                try await disk.collector.says("there is room again")
                try await site.eventually("it is ready again") { $0.value("tributary_ready") == 1 }
                try await agent.succeeds()
                try FileManager.default.removeItem(atPath: archive)
                try disk.copyArchive(to: archive)
                let verified = try await stage.run(
                    .archive, "verify", "latest", "--archive", archive)
                #expect(verified.status == 0, "\(verified.output)\(verified.complaints)")
                #expect(!verified.output.contains("lost"), "\(verified.output)")
                disk.collector.signal(SIGTERM)
                try await disk.collector.succeeds()
            }
        }

        @Test func `the oldest segments are removed above the limit of bytes`() async throws {
            try await Stage.with { stage in
                let recorder = try await stage.collector("--segment", "1s", "--once")
                let agent = try stage.testAgent("camera", "--duration", "4s")
                try await agent.succeeds()
                try await recorder.succeeds()
                let all = try stage.recordings("camera")
                let protected = try await stage.run(
                    .archive, "protect", "latest", "--archive", stage.archive)
                #expect(protected.status == 0)
                let newest = try FileManager.default.attributesOfItem(
                    atPath: #require(all.last).path)
                let limit = try #require(newest[.size] as? Int) + 1
                let limits = ["--keep-bytes", "\(limit)"]

                // A protected session is kept.
                let careful = try await stage.collector(limits[0], limits[1])
                careful.signal(SIGTERM)
                try await careful.succeeds()
                #expect(try stage.recordings("camera") == all)

                let free = try await stage.run(
                    .archive, "protect", "latest", "--off", "--archive", stage.archive)
                #expect(free.status == 0)
                let cleaner = try await stage.collector(limits[0], limits[1])
                try await eventually("only the newest segment is left") {
                    try stage.recordings("camera") == all.suffix(1)
                }
                cleaner.signal(SIGTERM)
                try await cleaner.succeeds()
                let verified = try await stage.run(
                    .archive, "verify", "latest", "--archive", stage.archive)
                #expect(verified.status == 0, "\(verified.output)")
            }
        }
    }
}

/// A collector whose archive is on a disk of a few megabytes, in its own mount namespace.
private struct SmallDisk {
    static var canBeMade: Bool { geteuid() == 0 }

    let collector: Running
    /// The archive's path in the collector's namespace.
    private let archive: String

    init(megabytes: Int, on stage: Stage, collector arguments: [String]) async throws {
        let mountPoint = stage.archive
        try FileManager.default.createDirectory(
            atPath: mountPoint, withIntermediateDirectories: true)
        let script =
            "mount -t tmpfs -o size=\(megabytes)m tmpfs '\(mountPoint)' && exec \"$@\""
        collector = try stage.start(
            at: URL(filePath: "/usr/bin/unshare"),
            [
                "--mount", "sh", "-c", script, "sh", Executable.collector.url.path, "--listen",
                stage.endpoint, "--archive", mountPoint,
            ] + arguments)
        archive = "/proc/\(collector.processIdentifier)/root\(mountPoint)"
        try await collector.says("listening on")
    }

    var freeBytes: UInt64 {
        get throws {
            var status = statvfs()
            guard statvfs(archive, &status) == 0 else {
                throw StageFailure(description: "cannot ask \(archive): errno \(errno)")
            }
            return UInt64(status.f_bavail) * UInt64(status.f_frsize)
        }
    }

    /// Fills the disk.
    func fill(megabytes: Int) throws {
        try Data(count: megabytes << 20).write(to: URL(filePath: "\(archive)/filler"))
    }

    /// Frees the space again.
    func empty() throws { try FileManager.default.removeItem(atPath: "\(archive)/filler") }

    func copyArchive(to path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: "\(archive)/sessions", toPath: "\(path)/sessions")
    }
}
