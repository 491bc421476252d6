import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// Twenty seconds exported from the middle of ten segments, read by other software.
    @Suite(.serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg makes and reads the clips"))
    struct CutTests {
        /// Between two pictures at 25 a second; 8 behind a keyframe.
        private static let start = 10.33
        /// Start of the picture shown then.
        private static let shown = 10.32
        private static let seconds = 20.0
        private static let picture = 0.04
        private static let clip =
            "-f lavfi -i testsrc2=s=320x180:r=25:d=40"
            // A tone that never repeats.
            + " -f lavfi -i aevalsrc=0.3*sin(2*PI*(300+40*t)*t):s=48000:d=40"
            + " \(MediaFiles.h264) -bf 2 -c:a aac -b:a 96k -aac_pns 0"

        /// Times as players show them, from the edit list's start.
        private static let pipeline =
            "filesrc location=FILE ! qtdemux name=d d.video_0 ! queue ! h264parse ! avdec_h264 !"
            + " identity single-segment=true ! fakesink name=pictures sync=false"
            + " d.audio_0 ! queue ! aacparse ! avdec_aac !"
            + " identity single-segment=true ! fakesink name=sound sync=false"

        /// Imports the clip as ten segments and exports the part.
        private func cut(on stage: Stage, _ media: borrowing MediaFiles) async throws -> (
            clip: String, cut: String
        ) {
            let clip = try media.make("clip.mp4", Self.clip)
            let cut = stage.directory.appending(path: "cut.mp4").path
            let place = ["--archive", stage.archive]
            try await stage.start(.archive, ["import", clip, "--segment", "4s"] + place).succeeds()
            #expect(try stage.recordings("clip").count == 10)
            try await stage.start(
                .archive,
                [
                    "export", "latest", "--start", "\(Self.start)s", "--duration",
                    "\(Self.seconds)s", "-o", cut,
                ] + place
            ).succeeds()
            return (clip, cut)
        }

        @Test func `FFmpeg reads exactly the requested pictures and audio`() async throws {
            let media = try MediaFiles()
            try await Stage.with { stage in
                let (clip, cut) = try await cut(on: stage, media)
                func hash(_ path: String, _ words: String) throws -> String {
                    String(
                        decoding: try media.run(
                            ["-i", path] + words.split(separator: " ").map(String.init)
                                + ["-f", "streamhash", "-"]), as: UTF8.self)
                }
                func sound(_ path: String, _ words: [String]) throws -> Data {
                    try media.run(["-i", path] + words + ["-map", "0:a", "-f", "s16le", "-"])
                }
                #expect(
                    try hash(cut, "-map 0:v -vf setpts=N/25/TB")
                        == hash(
                            clip,
                            "-map 0:v -vf trim=start=\(Self.shown):end=\(Self.start + Self.seconds),setpts=N/25/TB"
                        ))
                let wanted = try sound(
                    clip, ["-af", "atrim=start=\(Self.start):duration=\(Self.seconds)"])
                let heard = try sound(cut, [])
                #expect(abs(heard.count - wanted.count) <= 4_096)
                let shorter = min(heard.count, wanted.count)
                #expect(heard.prefix(shorter) == wanted.prefix(shorter))
                // Sound begins at T, and so does the picture shown then.
                let streams = try await Foreign.probe(URL(filePath: cut), on: stage).streams
                let begins = Dictionary(
                    streams.map { ($0.codecType, Double($0.startTime) ?? -1) }
                ) { first, _ in first }
                #expect(abs(try #require(begins["audio"])) < 0.001)
                #expect(abs(try #require(begins["video"])) < 0.001)
            }
        }

        @Test(.enabled(if: Foreign.hasGStreamer, "gst-launch-1.0 is not installed"))
        func `GStreamer plays it from the cut, with audio in sync`() async throws {
            let media = try MediaFiles()
            try await Stage.with { stage in
                let (_, cut) = try await cut(on: stage, media)
                // On a busy machine its console output omits buffers; its log is complete.
                let log = stage.directory.appending(path: "gst.log")
                let words =
                    ["GST_DEBUG=basesink:6", "GST_DEBUG_NO_COLOR=1", "GST_DEBUG_FILE=\(log.path)"]
                    + ["gst-launch-1.0", "-q"]
                    + Self.pipeline.replacing("FILE", with: cut).split(separator: " ").map(
                        String.init)
                _ = try await Foreign.quiet("env", words, on: stage)
                var times: [String: [Double]] = [:]
                for line in try String(contentsOf: log, encoding: .utf8).split(separator: "\n") {
                    guard
                        let match = line.firstMatch(
                            of: /get_sync_times:<(pictures|sound)> got times start: 0:00:([0-9.]+)/),
                        let time = Double(match.output.2)
                    else { continue }
                    times[String(match.output.1), default: []].append(time)
                }
                let pictures = try #require(times["pictures"])
                let sound = try #require(times["sound"])
                // Sound begins at T, and so does the picture shown then.
                #expect(pictures[0] < 0.001, "\(pictures[0])")
                #expect(sound[0] < 0.001, "\(sound[0])")
                // Its demuxer (1.22) ends a movie by decoding times: the hidden duration in front is missing at the
                // end.
                #expect(pictures[pictures.count - 1] > Self.seconds - 0.5)
                #expect(sound[sound.count - 1] > Self.seconds - 0.2)
            }
        }

        /// The final message of the page below.
        private struct Played: Decodable {
            var event: String
            var duration: Double
            var currentTime: Double
            var width: Int
            var pictures: Int
            var corrupted: Int
            var soundBytes: Int
            var error: String?
        }

        /// Plays the cut beside it at four times the speed and logs the result on the console.
        private static let page = """
            <!doctype html><video id=v src="cut.mp4"></video><script>
            const v = document.getElementById('v'); v.playbackRate = 4
            const tell = event => console.log('PLAYED ' + JSON.stringify({
                event, duration: v.duration || 0, currentTime: v.currentTime, width: v.videoWidth,
                pictures: v.getVideoPlaybackQuality().totalVideoFrames,
                corrupted: v.getVideoPlaybackQuality().corruptedVideoFrames,
                soundBytes: v.webkitAudioDecodedByteCount, error: v.error && v.error.message
            }).replaceAll('"', "'") + ' END')
            v.onended = () => tell('ended'); v.onerror = () => tell('error')
            v.play().catch(problem => tell('' + problem))
            </script>
            """

        @Test(.enabled(if: Foreign.chromium != nil, "Chromium is not installed"))
        func `Chromium plays it to its end, with audio`() async throws {
            let browser = try #require(Foreign.chromium)
            let media = try MediaFiles()
            try await Stage.with { stage in
                _ = try await cut(on: stage, media)
                let page = stage.directory.appending(path: "page.html")
                try Data(Self.page.utf8).write(to: page)
                let running = try stage.start(
                    at: browser,
                    [
                        "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio",
                        "--user-data-dir=\(stage.directory.appending(path: "browser").path)",
                        "--autoplay-policy=no-user-gesture-required", "--enable-logging=stderr",
                        page.absoluteString,
                    ])
                try await running.says(" END")
                let said = try #require(try running.complaints.firstMatch(of: /PLAYED (.*?) END/))
                running.signal(SIGTERM)
                _ = try await running.outcome()
                let played = try JSONDecoder().decode(
                    Played.self, from: Data(said.output.1.replacing("'", with: "\"").utf8))
                #expect(played.event == "ended" && played.error == nil)
                // Chromium applies an edit list's start but not its end, and shows pictures that are only for decoding.
                let later = played.duration - Self.seconds
                #expect((-0.05..<4.5 * Self.picture).contains(later), "\(later)")
                #expect(abs(played.currentTime - played.duration) < 0.05)
                #expect(played.width == 320 && played.corrupted == 0)
                // A busy machine drops some at four times the speed.
                #expect(played.pictures > 250)
                #expect(played.soundBytes > 200_000)
            }
        }
    }
}
