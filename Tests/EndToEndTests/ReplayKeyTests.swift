import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// An interactive replay.
    @Suite(
        .serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg makes the clip"),
        .enabled(if: PseudoTerminal.canBeMade, "setsid gives programs a terminal"))
    struct ReplayKeyTests {
        @Test func `on a terminal, keys step, pause, resume and end`() async throws {
            try await Stage.with { stage in
                let media = try MediaFiles()
                let clip = try media.make(
                    "clip.mp4", "-f lavfi -i testsrc2=s=320x180:r=25:d=60 \(MediaFiles.h264) -g 25")
                let place = ["--archive", stage.archive]
                try await stage.start(.archive, ["import", clip] + place).succeeds()
                let out = stage.directory.appending(path: "out.ts")
                let terminal = try PseudoTerminal(
                    Executable.archive.url,
                    ["replay", "latest", "--to", out.path, "--speed", "1", "--paused"] + place,
                    in: stage.directory)
                // Playback starts paused; a step is one picture.
                try await terminal.shows("that it waits") { !$0.isEmpty && !$0.contains("▶") }
                terminal.type("s")
                try await terminal.shows("the first picture") { $0.contains("⏸ 0:00.000") }
                terminal.type("ss")
                try await terminal.shows("the third picture") { $0.contains("⏸ 0:00.080") }
                #expect(terminal.lastLine.contains("space resume, s step, q stop"))
                terminal.type(" ")
                // On a busy machine, whole seconds may pass between two looks.
                try await terminal.shows("that it plays") {
                    $0.contains("▶ 0:") && !$0.contains("▶ 0:00") && $0.contains("space pause")
                }
                terminal.type(" ")
                try await terminal.shows("a pause") { $0.contains("⏸") }
                let paused = terminal.lastLine
                try await Task.sleep(for: .milliseconds(500))
                #expect(terminal.lastLine == paused)
                terminal.type("q")
                #expect(try await terminal.status() == 0)
                // The replayed part is a complete file.
                let packets = try await Foreign.probe(out, on: stage).packets(.video)
                #expect((25..<1_500).contains(packets.count), "\(packets.count)")
            }
        }
    }
}
