import Archive
import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    @Suite(
        .serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg and ffprobe make and read the clips"),
        .copies)
    struct CopyTests {
        private let copies: Copies

        init() throws {
            copies = try #require(Copies.current)
        }

        @Test(arguments: Clip.here)
        func `a copied clip's payloads are the clip's, byte for byte`(_ clip: Clip) async throws {
            let original = try await Foreign.streamHash(
                try #require(copies.originals[clip]), on: copies.stage)
            let copy = try await Foreign.streamHash(
                try #require(copies.whole[clip]), on: copies.stage)
            #expect(original.split(separator: "\n").count == 2)
            #expect(copy == original)
        }

        @Test(arguments: Clip.here)
        func `a copied clip's packets have the clip's times in both tracks`(
            _ clip: Clip
        ) async throws {
            let original = try await Foreign.probe(
                try #require(copies.originals[clip]), on: copies.stage)
            let copy = try await Foreign.probe(
                try #require(copies.whole[clip]), on: copies.stage)
            // One zero for both tracks, so an offset between them is detected.
            let shift =
                try copy.firstPictureNanoseconds - original.firstPictureNanoseconds
            for kind in TrackKind.allCases {
                let expected = try original.packets(kind)
                let found = try copy.packets(kind)
                try #require(found.count == expected.count)
                let worst = zip(expected, found).map { expected, found in
                    max(
                        abs(found.ptsNanoseconds - shift - expected.ptsNanoseconds),
                        abs(found.dtsNanoseconds - shift - expected.dtsNanoseconds))
                }.max()
                #expect(try #require(worst) <= 1_000_000, "\(kind)")
            }
        }

        @Test(
            .enabled(
                if: MediaFiles.footage != nil, "no footage in ../shared/media beside the repository"
            ))
        func `the footage is recorded with all its 377 pictures`() async throws {
            let probe = try await Foreign.probe(
                try #require(copies.whole[.street]), on: copies.stage)
            #expect(try probe.packets(.video).count == 377)
            #expect(try probe.stream(.video).codecName == "h264")
            #expect(try probe.stream(.audio).codecName == "aac")
        }

        @Test(arguments: Clip.here)
        func `FFmpeg decodes a copied clip without a warning`(_ clip: Clip) async throws {
            try await Foreign.decode(try #require(copies.whole[clip]), on: copies.stage)
        }

        @Test(
            .enabled(if: Foreign.hasGStreamer, "gst-launch-1.0 is not installed"),
            arguments: Clip.here)
        func `GStreamer demultiplexes both tracks of a copied clip`(_ clip: Clip) async throws {
            let file = try #require(copies.whole[clip])
            _ = try await Foreign.quiet(
                "gst-launch-1.0",
                [
                    "-q", "filesrc", "location=\(file.path)", "!", "qtdemux", "name=demuxer",
                    "demuxer.video_0", "!", "queue", "!", "h264parse", "!", "fakesink",
                    "demuxer.audio_0", "!", "queue", "!", "aacparse", "!", "fakesink",
                ], on: copies.stage)
        }

        @Test(
            .enabled(if: Foreign.hasMediaInfo, "mediainfo is not installed"),
            arguments: Clip.here)
        func `mediainfo finds one track of H.264 and one of AAC`(_ clip: Clip) async throws {
            let file = try #require(copies.whole[clip])
            let report = try await Foreign.quiet(
                "mediainfo",
                [
                    "--Inform=General;%Format% %VideoCount% %AudioCount%"
                        + " %Video_Format_List% %Audio_Format_List%", file.path,
                ], on: copies.stage)
            let text = String(decoding: report, as: UTF8.self)
            #expect(
                text.trimmingCharacters(in: .whitespacesAndNewlines)
                    == "MPEG-4 1 1 AVC AAC LC")
        }

        @Test(arguments: Clip.here)
        func `a finished file is an ordinary MP4`(_ clip: Clip) throws {
            let boxes = try TopLevelBoxes(of: try #require(copies.whole[clip]))
            #expect(boxes.areOrdinary, "\(boxes.types)")
        }

        @Test(arguments: Clip.made)
        func `segments begin at keyframes, and together hold every packet once`(
            _ clip: Clip
        ) async throws {
            let segments = try #require(copies.segments[clip])
            var probes: [Probe] = []
            for segment in segments {
                probes.append(try await Foreign.probe(segment, on: copies.stage))
                #expect(try TopLevelBoxes(of: segment).areOrdinary)
            }
            let whole = try await Foreign.probe(
                try #require(copies.whole[clip]), on: copies.stage)
            for kind in TrackKind.allCases {
                let digests = try probes.flatMap { try $0.packets(kind).map(\.digest) }
                #expect(try digests == whole.packets(kind).map(\.digest), "\(kind)")
            }
            #expect(try probes.allSatisfy { try $0.packets(.video).first?.isKeyframe == true })
        }

        @Test(arguments: Clip.made)
        func `files are cut at the first keyframe at or after a multiple of two seconds`(
            _ clip: Clip
        ) async throws {
            let segments = try #require(copies.segments[clip])
            var origins: [Int64] = []
            for segment in segments {
                let origin = try #require(FileVerifier.verify(segment.path).report.originSeconds)
                origins.append(Int64(origin * 1_000_000_000))
                let keyframes = try await Foreign.probe(segment, on: copies.stage)
                    .packets(.video).filter(\.isKeyframe).map { $0.ptsNanoseconds }
                // Times are rounded to ticks, so a keyframe next to the boundary may be on either side.
                #expect(try #require(keyframes.first) >= -1_000_000)
                #expect(keyframes.allSatisfy { $0 <= 2_001_000_000 })
            }
            // Seven seconds: four segments, or three if the last boundary has no keyframe after it.
            #expect((3...4).contains(segments.count))
            #expect(origins == segments.indices.map { Int64($0) * 2_000_000_000 })
        }

        @Test(arguments: Clip.made)
        func `segments follow each other on the session's timeline`(
            _ clip: Clip
        ) async throws {
            let whole = try await Foreign.probe(
                try #require(copies.whole[clip]), on: copies.stage)
            for kind in TrackKind.allCases {
                var times: [Int64] = []
                for (index, segment) in try #require(copies.segments[clip]).enumerated() {
                    times += try await Foreign.probe(segment, on: copies.stage).packets(kind)
                        .map { $0.ptsNanoseconds + Int64(index) * 2_000_000_000 }
                }
                let expected = try whole.packets(kind).map(\.ptsNanoseconds)
                try #require(times.count == expected.count)
                // Two sessions have different zeros, at a constant distance.
                let shifts = zip(times, expected).map { $0 - $1 }
                let spread = try #require(shifts.max()) - (try #require(shifts.min()))
                #expect(spread <= 1_000_000, "\(kind)")
            }
        }

        @Test func `FFmpeg decodes each segment without a warning`() async throws {
            for segment in try #require(copies.segments[.closedGOP]) {
                try await Foreign.decode(segment, on: copies.stage)
            }
        }

        @Test func `verify finds both archives sound`() async throws {
            for archive in copies.archives {
                let outcome = try await copies.stage.run(
                    .archive, "verify", "--archive", archive)
                #expect(outcome.status == 0, "\(outcome.output)")
                #expect(outcome.output.contains("nothing missing"))
            }
        }
    }
}
