import Foundation
import Media
import Testing

extension EndToEnd {
    /// The test pattern shows whether a recording's times are right.
    @Suite(.serialized, .alone, .twoCameras)
    struct TwoCameraTests {
        private let cameras: TwoCameras

        init() throws {
            cameras = try #require(TwoCameras.current)
        }

        private func file(_ name: String) throws -> URL {
            try #require(cameras.files[name])
        }

        @Test(
            .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"), arguments: TwoCameras.names)
        func `every picture is there with its capture time`(_ name: String) async throws {
            let codes = try await PictureCodes(of: file(name), on: cameras.stage)
            #expect(codes.codes.count == TwoCameras.pictures)
            #expect(codes.captureNanoseconds.count == TwoCameras.pictures)
            #expect(Set(codes.captureNanoseconds).count == TwoCameras.pictures)
        }

        @Test(
            .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"), arguments: TwoCameras.names)
        func `pictures are as far apart as they were captured`(_ name: String) async throws {
            let codes = try await PictureCodes(of: file(name), on: cameras.stage)
            let steps = zip(codes.codes, codes.codes.dropFirst()).map { earlier, later in
                abs(
                    (later.captureNanoseconds ?? 0) - (earlier.captureNanoseconds ?? 0)
                        - (later.presentationNanoseconds - earlier.presentationNanoseconds))
            }
            #expect(try #require(steps.max()) <= 1_000_000)
            let offsets = codes.offsetsNanoseconds
            #expect(try #require(offsets.max()) - (try #require(offsets.min())) <= 1_000_000)
        }

        @Test(
            .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"), arguments: TwoCameras.names)
        func `beeps begin at whole seconds of the pictures' clock`(_ name: String) async throws {
            let codes = try await PictureCodes(of: file(name), on: cameras.stage)
            let beeps = try await Beeps(of: file(name), on: cameras.stage)
            let offset = try #require(codes.offsetsNanoseconds.first)
            #expect((9...10).contains(beeps.startsNanoseconds.count))
            for start in beeps.startsNanoseconds {
                let phase = (start + offset) % 1_000_000_000
                #expect(
                    min(phase, 1_000_000_000 - phase) <= 1_000_000,
                    "\(phase) ns past a whole second")
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `files of one name start together`() async throws {
            let files = try TwoCameras.names.map(file)
            #expect(Set(files.map(\.lastPathComponent)).count == 1)
            var offsets: [Int64] = []
            for file in files {
                let codes = try await PictureCodes(of: file, on: cameras.stage)
                offsets.append(try #require(codes.offsetsNanoseconds.first))
            }
            // Both agents read the same clock, so both files have the same zero.
            #expect(abs(offsets[0] - offsets[1]) <= 1_000_000)
        }

        @Test(
            .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"),
            arguments: [[], ["-copyts"]])
        func `side by side in FFmpeg, equal times show equal codes`(
            _ options: [String]
        ) async throws {
            let files = try TwoCameras.names.map(file)
            let pairs = try await SideBySide.codes(
                files, options, size: TwoCameras.size, on: cameras.stage)
            #expect(pairs.count >= TwoCameras.pictures - 30)
            SideBySide.expectEqualCodes(pairs, picturesPerSecond: 30)
        }

        @Test func `verify --sync finds both cameras in sync, audio and video`() async throws {
            let outcome = try await cameras.stage.run(
                .archive, "verify", "--archive", cameras.stage.archive, "--sync", "--max-error",
                "1ms")
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.complaints)")
        }

        @Test(arguments: TwoCameras.names)
        func `a finished file is an ordinary MP4`(_ name: String) throws {
            let boxes = try TopLevelBoxes(of: file(name))
            #expect(boxes.areOrdinary, "\(boxes.types)")
        }
    }
}
