import Foundation
import Media
import Testing

@testable import MP4

/// FFmpeg, GStreamer and mediainfo read our files: growing, between the last two writes, and finished.
@Suite(.enabled(if: Tools.hasFFmpeg))
struct ForeignReaderTests {
    /// Encoder settings that stress different parts of the timeline.
    enum Material: String, CaseIterable, CustomTestStringConvertible {
        case plain = "-bf 0 -g 25"
        case reordered = "-bf 3 -g 30"
        case openGroups = "-bf 3 -g 20 -x264-params open-gop=1:scenecut=0:b-adapt=0"
        case nonSquare =
            "-bf 2 -g 15 -vf setsar=4/3 -colorspace bt709 -color_primaries bt709 -color_trc smpte170m"

        var testDescription: String { rawValue }
    }

    /// A clip of three seconds of `material`, encoded.
    private func make(
        _ material: Material, sampleRate: Int = 48_000, in scratch: Scratch
    ) throws -> String {
        let path = scratch.path("source.mp4")
        let command = """
            -v error -f lavfi -i testsrc2=size=320x180:rate=25:duration=3
            -f lavfi -i sine=frequency=440:sample_rate=\(sampleRate):duration=3
            -pix_fmt yuv420p -c:v libx264 -preset veryfast -threads 1 \(material.rawValue)
            -c:a aac -b:a 64k -ac 2 -video_track_timescale 90000 -movie_timescale 720000
            """
        let words = command.split(whereSeparator: \.isWhitespace).map(String.init)
        _ = try Tools.quiet("ffmpeg", words + [path])
        return path
    }

    /// FFmpeg's packets: track, times, flags, checksum.
    private func packets(_ path: String, complaints: String = "warning") throws -> [String] {
        // The checksum of a packet's side data is on a line of its own.
        try Tools.quiet(
            "ffprobe",
            [
                "-v", complaints, "-show_data_hash", "md5", "-show_entries",
                "packet=codec_type,pts_time,dts_time,flags,data_hash", "-of", "csv=p=0", path,
            ]
        ).replacing(",\n,MD5", with: ",MD5").split(separator: "\n").map(String.init).sorted()
    }

    /// Checksums of the decoded streams, with their times.
    private func decoded(_ path: String) throws -> String {
        let text = try Tools.quiet(
            "ffmpeg", ["-v", "warning", "-i", path, "-f", "framemd5", "-"])
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.joined(separator: "\n")
    }

    private func streamHash(_ path: String) throws -> String {
        try Tools.quiet(
            "ffmpeg", ["-v", "warning", "-i", path, "-c", "copy", "-f", "streamhash", "-"])
    }

    @Test(arguments: Material.allCases)
    func `FFmpeg finds the same packets at the same times in every phase`(
        _ material: Material
    ) throws {
        let scratch = try Scratch()
        let original = try make(material, in: scratch)
        let recorder = try Recorder(try Clip(contentsOf: original))
        let growing = try scratch.write(recorder.bytes, to: "growing.mp4")
        let halfway = try scratch.write(recorder.halfFinished(), to: "halfway.mp4")
        let finished = try scratch.write(recorder.finished(), to: "finished.mp4")

        let expected = try packets(original)
        #expect(try packets(finished) == expected)
        // Before the end, priming is not signalled to players, so that flag is omitted.
        let unflagged = expected.map(Self.withoutDiscard).sorted()
        #expect(try packets(growing).map(Self.withoutDiscard).sorted() == unflagged)
        // Between the two writes FFmpeg warns of the second moov and skips it.
        #expect(
            try packets(halfway, complaints: "error").map(Self.withoutDiscard).sorted()
                == unflagged)
        #expect(try streamHash(finished) == streamHash(original))
        #expect(try streamHash(growing) == streamHash(original))
        #expect(try decoded(finished) == decoded(original))
    }

    private static func withoutDiscard(_ packet: String) -> String {
        packet.replacing("KD", with: "K_").replacing("_D", with: "__")
    }

    @Test
    func `FFmpeg plays the complete fragments of a growing file at any length`() throws {
        let scratch = try Scratch()
        let clip = try Clip(contentsOf: try make(.reordered, in: scratch))
        let recorder = try Recorder(clip)
        let valid = Int(recorder.boundaries[2])
        let whole = try packets(
            try scratch.write(Array(recorder.bytes[..<valid]), to: "valid.mp4"))
        #expect(whole.count > 80)
        for cut in [1, 8, 60, 100, 400, 800, 940, 950, 2_000, 20_000] as [Int64] {
            let bytes = try recorder.growing(to: recorder.boundaries[2] + cut)
            let found = try packets(try scratch.write(bytes, to: "cut.mp4"))
            #expect(found == whole, "\(cut) bytes of the next fragment")
        }
        // The final moov grows too; until it is complete and the placeholder has become mdat, readers ignore it.
        let all = try packets(try scratch.write(recorder.bytes, to: "all.mp4"))
        let half = try recorder.halfFinished()
        for missing in [1, 500, half.count - recorder.bytes.count - 9] {
            let path = try scratch.write(half.dropLast(missing), to: "cut.mp4")
            #expect(try packets(path, complaints: "error") == all, "\(missing) bytes missing")
        }
    }

    @Test
    func `the pixel aspect ratio and colours are also in the container`() throws {
        let scratch = try Scratch()
        let clip = try Clip(contentsOf: try make(.nonSquare, in: scratch))
        let tree = try BoxTree(of: MemorySource(try Recorder(clip).finished()))
        var node = tree.boxes.first { $0.type == "moov" }
        for type: FourCC in ["trak", "mdia", "minf", "stbl", "stsd", "avc1"] {
            node = node?.children.first { $0.type == type }
        }
        let boxes = try #require(node).children
        #expect(
            boxes.first { $0.type == "pasp" }?.fields == [
                BoxField("hSpacing", .unsigned(4)), BoxField("vSpacing", .unsigned(3)),
            ])
        #expect(
            boxes.first { $0.type == "colr" }?.fields == [
                BoxField("colour_type", .text("nclx")), BoxField("colour_primaries", .unsigned(1)),
                BoxField("transfer_characteristics", .unsigned(6)),
                BoxField("matrix_coefficients", .unsigned(1)),
                BoxField("full_range_flag", .unsigned(0)),
            ])
    }

    @Test
    func `a sample rate of 44,100 Hz keeps its exact times`() throws {
        let scratch = try Scratch()
        let original = try make(.reordered, sampleRate: 44_100, in: scratch)
        let recorder = try Recorder(try Clip(contentsOf: original))
        let finished = try scratch.write(recorder.finished(), to: "finished.mp4")
        #expect(try packets(finished) == packets(original))
        #expect(try decoded(finished) == decoded(original))
    }

    @Test
    func `tracks that begin late start at their times`() throws {
        let scratch = try Scratch()
        var clip = try Clip(contentsOf: try make(.reordered, in: scratch))
        for track in clip.tracks.indices {
            let seconds: Int64 = clip.tracks[track].format.kind == .video ? 2 : 3
            let ticks = seconds * Int64(clip.tracks[track].format.timescale.ticksPerSecond)
            for index in clip.tracks[track].samples.indices {
                clip.tracks[track].samples[index].dts += ticks
                clip.tracks[track].samples[index].pts += ticks
            }
        }
        let recorder = try Recorder(clip)
        for bytes in [recorder.bytes, try recorder.finished()] {
            let path = try scratch.write(bytes, to: "late.mp4")
            for (selector, start) in [("v", "2.000000"), ("a", "3.000000")] {
                let times = try Tools.quiet(
                    "ffprobe",
                    [
                        "-v", "warning", "-select_streams", selector, "-show_entries",
                        "packet=pts_time", "-of", "csv=p=0", path,
                    ]
                ).split(whereSeparator: { $0 == "\n" || $0 == "," })
                #expect(times.contains(Substring(start)), "\(selector): \(times.prefix(4))")
            }
        }
    }

    /// The same clip, delayed by milliseconds.
    private func late(_ clip: Clip, milliseconds: Int64) -> Clip {
        var clip = clip
        for track in clip.tracks.indices {
            let ticks =
                milliseconds * Int64(clip.tracks[track].format.timescale.ticksPerSecond) / 1_000
            for index in clip.tracks[track].samples.indices {
                clip.tracks[track].samples[index].dts += ticks
                clip.tracks[track].samples[index].pts += ticks
            }
        }
        return clip
    }

    @Test(arguments: [true, false])
    func `FFmpeg starts a file at its origin, not at its first picture`(
        _ hasAudio: Bool
    ) throws {
        let scratch = try Scratch()
        var clip = try Clip(contentsOf: try make(.reordered, in: scratch))
        if !hasAudio { clip.tracks.removeAll { $0.format.kind == .audio } }
        for (milliseconds, start) in [(0, "0.000000"), (144, "0.000000"), (960, "0.000000")] {
            let recorder = try Recorder(
                late(clip, milliseconds: Int64(milliseconds)),
                timecode: Timecode(startNanoseconds: 0, framesPerSecond: 25))
            let path = try scratch.write(recorder.finished(), to: "late.mp4")
            let times = try Tools.run(
                "ffprobe",
                [
                    "-v", "error", "-show_entries",
                    "stream=codec_type,start_time:format=start_time",
                    "-of", "compact", path,
                ])
            #expect(times.complaints.isEmpty)
            let lines = times.output.split(separator: "\n")
            #expect(lines.last == "format|start_time=\(start)")
            let place = "0.\(String(1_000 + milliseconds).dropFirst())000"
            #expect(lines.contains("stream|codec_type=video|start_time=\(place)"), "\(lines)")
            // It plays in silence, and has the same pictures.
            #expect(try decoded(path).split(separator: "\n").count >= 75)
            try Self.playInGStreamer(path, hasAudio: hasAudio)
        }
    }

    private static func playInGStreamer(_ path: String, hasAudio: Bool) throws {
        guard Tools.hasGStreamer else { return }
        let sound = hasAudio ? ["d.", "!", "queue", "!", "audio/x-raw", "!", "fakesink"] : []
        let result = try Tools.run(
            "gst-launch-1.0",
            ["filesrc", "location=\(path)", "!", "decodebin", "name=d"]
                + ["d.", "!", "queue", "!", "video/x-raw", "!", "fakesink"] + sound)
        #expect(result.status == 0, "\(result.output)\(result.complaints)")
        #expect(!(result.output + result.complaints).contains("WARN"))
        #expect(!(result.output + result.complaints).contains("ERROR"))
    }

    @Test
    func `a file that starts within an open group hides the pictures it cannot show`() throws {
        let scratch = try Scratch()
        var clip = try Clip(contentsOf: try make(.openGroups, in: scratch))
        // Starts at the second keyframe, whose leading pictures refer to earlier ones.
        for index in clip.tracks.indices where clip.tracks[index].format.kind == .video {
            let samples = clip.tracks[index].samples
            let keyframe = try #require(
                samples.indices.dropFirst().first { samples[$0].isSync })
            let start = samples[keyframe].pts
            clip.tracks[index].samples.removeFirst(keyframe)
            for sample in clip.tracks[index].samples.indices {
                clip.tracks[index].samples[sample].dts -= start
                clip.tracks[index].samples[sample].pts -= start
            }
            #expect(clip.tracks[index].samples.contains { $0.pts < 0 })
        }
        let path = try scratch.write(try Recorder(clip).finished(), to: "open.mp4")
        // The decoder may report the missing references of hidden pictures.
        let frames = try Tools.run(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of",
                "csv=p=0", path,
            ]
        ).output.split(whereSeparator: { $0 == "\n" || $0 == "," })
        #expect(frames.first == "0.000000")
        #expect(frames.count > 50)
    }

    @Test(.enabled(if: Tools.hasGStreamer), arguments: Material.allCases)
    func `GStreamer demultiplexes every phase without a warning`(_ material: Material) throws {
        let scratch = try Scratch()
        let recorder = try Recorder(try Clip(contentsOf: try make(material, in: scratch)))
        for bytes in [recorder.bytes, try recorder.halfFinished(), try recorder.finished()] {
            let path = try scratch.write(bytes, to: "file.mp4")
            let result = try Tools.run(
                "gst-launch-1.0",
                ["filesrc", "location=\(path)", "!", "qtdemux", "name=d"]
                    + ["d.video_0", "!", "queue", "!", "h264parse", "!", "fakesink"]
                    + ["d.audio_0", "!", "queue", "!", "aacparse", "!", "fakesink"])
            #expect(result.status == 0, "\(result.output)\(result.complaints)")
            #expect(!(result.output + result.complaints).contains("WARN"))
            #expect(!(result.output + result.complaints).contains("ERROR"))
        }
    }

    @Test(.enabled(if: Tools.hasMediaInfo))
    func `mediainfo finds one video and one audio track of the right length`() throws {
        let scratch = try Scratch()
        let recorder = try Recorder(try Clip(contentsOf: try make(.nonSquare, in: scratch)))
        let path = try scratch.write(recorder.finished(), to: "file.mp4")
        let video = try Tools.quiet(
            "mediainfo",
            [
                "--Inform=Video;%Format%/%Width%x%Height%/%Duration%/%FrameCount%/%PixelAspectRatio%",
                path,
            ])
        #expect(video.contains("AVC/320x180/3000/75/1.333"), "\(video)")
        let audio = try Tools.quiet(
            "mediainfo", ["--Inform=Audio;%Format%/%SamplingRate%/%Channel(s)%", path])
        #expect(audio.contains("AAC/48000/2"), "\(audio)")
        let all = try Tools.quiet("mediainfo", ["-f", path])
        #expect(!all.contains("IsTruncated"), "\(all)")
        #expect(!all.contains("Conformance errors"), "\(all)")
    }
}
