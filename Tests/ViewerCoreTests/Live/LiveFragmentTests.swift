import MP4
import Media
import Testing
import Wire

@testable import ViewerCore

/// Messages of a feed as fragments of an MP4.
@Suite struct LiveFragmentTests {
    private typealias Sample = FeedSamples.Sample

    /// A fragment, read as a part of a file.
    private func scan(
        _ formats: [TrackFormat], _ fragment: LiveFragment
    ) throws -> (bytes: [UInt8], fragment: ScannedFragment) {
        var camera = LiveCamera()
        camera.formats = formats
        let message = camera.next()
        let bytes = try LiveFormat(message.samples).initialization() + fragment.bytes
        var scanner = try FragmentScanner(MemorySource(bytes))
        let found = try scanner.next()
        let scanned = try #require(found)
        let rest = try scanner.next()
        #expect(rest == nil && scanner.stop == .end)
        return (bytes, scanned)
    }

    /// A message of one run of pictures; its media are zeros.
    private func pictures(_ samples: [Sample]) -> LiveMessage {
        var camera = LiveCamera()
        let run = FeedSamples.Run(track: .video, firstSequence: 1, samples: samples)
        let size = samples.reduce(0) { $0 + Int($1.sizeBytes) }
        return camera.message([run], [UInt8](repeating: 0, count: size))
    }

    private func picture(
        _ dts: Int64, offset: Int64 = 0, duration: Int64 = 3_600, sizeBytes: UInt32 = 10,
        isKeyframe: Bool = false
    ) -> Sample {
        Sample(
            sizeBytes: sizeBytes, dts: dts, pts: dts.clampedAdding(offset), duration: duration,
            flags: isKeyframe ? .keyframe : [])
    }

    @Test func `pictures and sound have their times, sizes and bytes`() throws {
        var camera = LiveCamera()
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        let video = FeedSamples.Run(
            track: .video, firstSequence: 7,
            samples: [
                picture(90_000, sizeBytes: 3, isKeyframe: true), picture(93_600, sizeBytes: 2),
            ])
        let audio = FeedSamples.Run(
            track: .audio, firstSequence: 9,
            samples: [48_000, 48_960, 49_920].map {
                Sample(sizeBytes: 1, dts: $0, pts: $0, duration: 960, flags: .keyframe)
            })
        let message = camera.message([video, audio], [1, 2, 3, 4, 5, 6, 7, 8])
        let fragment = try LiveFragment(message.samples, media: message.media, number: 12)
        let (bytes, scanned) = try scan(camera.formats, fragment)
        #expect(scanned.sequenceNumber == 12)
        #expect(scanned.runs.map(\.track) == [.video, .audio])
        #expect(scanned.runs[0].samples.map(\.dts) == [90_000, 93_600])
        #expect(scanned.runs[0].samples.map(\.pts) == [90_000, 93_600])
        #expect(scanned.runs[0].samples.map(\.duration) == [3_600, 3_600])
        #expect(scanned.runs[0].samples.map(\.isSync) == [true, false])
        #expect(scanned.runs[1].samples.map(\.dts) == [48_000, 48_960, 49_920])
        #expect(scanned.runs[1].samples.allSatisfy { $0.isSync && $0.duration == 960 })
        let media = scanned.runs.flatMap(\.samples).map { sample in
            Array(bytes[Int(sample.offset)..<Int(sample.offset) + Int(sample.sizeBytes)])
        }
        #expect(media == [[1, 2, 3], [4, 5], [6], [7], [8]])
        #expect(fragment.session == LiveCamera.session && fragment.source == "camera")
        #expect(fragment.startNanoseconds == 1_000_000_000)
        #expect(fragment.durationNanoseconds == 80_000_000)
        // Two pictures; the sound ends 20 ms before them.
        #expect(fragment.mainNanoseconds == 1_000_000_000..<1_080_000_000)
        #expect(fragment.boundNanoseconds == 2_000_000)
        #expect(fragment.lagNanoseconds == 500_000_000 - 1_080_000_000)
        #expect(fragment.beginsDecodable)
    }

    @Test func `pictures that change places keep both of their times`() throws {
        let message = pictures([
            picture(0, offset: 7_200, isKeyframe: true), picture(3_600, offset: 10_800),
            picture(7_200, offset: -3_600), picture(10_800, offset: 0),
        ])
        let fragment = try LiveFragment(message.samples, media: message.media, number: 1)
        let (_, scanned) = try scan([LiveCamera.video], fragment)
        #expect(scanned.runs[0].samples.map(\.dts) == [0, 3_600, 7_200, 10_800])
        #expect(scanned.runs[0].samples.map(\.pts) == [7_200, 14_400, 3_600, 10_800])
        // From the third to the end of the second.
        #expect(fragment.mainNanoseconds == 40_000_000..<200_000_000)
        #expect(fragment.startNanoseconds == 40_000_000)
    }

    @Test func `a picture's duration is the distance to the next one`() throws {
        let message = pictures([
            picture(0, duration: 1, isKeyframe: true), picture(3_600, duration: 90_000),
            picture(10_800, duration: 0),
        ])
        let fragment = try LiveFragment(message.samples, media: message.media, number: 1)
        let (_, scanned) = try scan([LiveCamera.video], fragment)
        #expect(scanned.runs[0].samples.map(\.dts) == [0, 3_600, 10_800])
        #expect(scanned.runs[0].samples.map(\.duration) == [3_600, 7_200, 1])
    }

    @Test func `decoding begins with a picture's keyframe, or with any sound of a source without`()
        throws
    {
        var camera = LiveCamera()
        let key = camera.next()
        let other = camera.next()
        #expect(try LiveFragment(key.samples, media: key.media, number: 1).beginsDecodable)
        #expect(try !LiveFragment(other.samples, media: other.media, number: 2).beginsDecodable)
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        let beside = camera.sound()
        let sound = try LiveFragment(beside.samples, media: beside.media, number: 3)
        #expect(!sound.beginsDecodable && sound.mainNanoseconds == nil)
        camera.formats = [LiveCamera.audio]
        let alone = camera.sound()
        let only = try LiveFragment(alone.samples, media: alone.media, number: 4)
        #expect(only.beginsDecodable && only.mainNanoseconds == 80_000_000..<120_000_000)
    }

    @Test func `samples before the session's zero are not shown`() {
        for message in [
            pictures([picture(-1)]), pictures([picture(.min)]),
            pictures([picture(-3_600, isKeyframe: true), picture(0)]),
        ] {
            #expect(throws: LiveError.beforeZero) {
                try LiveFragment(message.samples, media: message.media, number: 1)
            }
        }
    }

    @Test func `media of another size than the samples are refused`() {
        let message = pictures([picture(0), picture(3_600)])
        for count in [0, 1, 19, 21, 1_000] {
            #expect(throws: LiveError.malformed) {
                try LiveFragment(
                    message.samples, media: [UInt8](repeating: 0, count: count), number: 1)
            }
        }
    }

    @Test func `numbers that no fragment can have are refused`() {
        for message in [
            // Longer than 32 bits count, to the next one and to its own end.
            pictures([picture(0), picture(1 << 33)]), pictures([picture(0, duration: 1 << 33)]),
            pictures([picture(0, duration: .max)]),
            // Presented later, or earlier, than 32 bits count.
            pictures([picture(0, offset: 1 << 32)]), pictures([picture(0, offset: -(1 << 32))]),
            pictures([picture(0, offset: .max)]), pictures([picture(1 << 53, offset: .min)]),
        ] {
            #expect(throws: LiveError.malformed) {
                try LiveFragment(message.samples, media: message.media, number: 1)
            }
        }
    }

    /// A publisher may send any numbers; none may end the viewer.
    @Test func `no numbers overflow`() {
        let numbers: [Int64] = [0, 1, 3_600, 1 << 32, 1 << 53, 1 << 61, .max]
        for dts in numbers {
            for next in numbers + [-1, .min] {
                for duration in numbers + [-1, .min] {
                    for offset in [0, -1, 1, Int64(Int32.max), Int64(Int32.min)] {
                        var message = pictures([
                            picture(dts, offset: offset, duration: duration),
                            picture(next, offset: offset, duration: duration),
                        ])
                        message.samples.arrivedNanoseconds = duration
                        message.samples.boundNanoseconds = .max
                        do throws(LiveError) {
                            let fragment = try LiveFragment(
                                message.samples, media: message.media, number: .max)
                            #expect(fragment.durationNanoseconds >= 0)
                        } catch {
                            #expect(error == .malformed || error == .beforeZero)
                        }
                    }
                }
            }
        }
    }

    @Test func `a run of a track that the source has not is refused`() {
        var camera = LiveCamera()
        let message = camera.sound()
        #expect(throws: LiveError.self) {
            try LiveFragment(message.samples, media: message.media, number: 1)
        }
    }

    @Test func `an initialization section describes all tracks, and names their codecs`() throws {
        var camera = LiveCamera()
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        let format = LiveFormat(camera.next().samples)
        #expect(format.codecs == "avc1.42c00a,mp4a.40.2")
        let layout = try RecordingLayout(of: MemorySource(try format.initialization()))
        #expect(!layout.isFinished && layout.fragments.isEmpty)
        #expect(layout.initialMovie.tracks.map(\.kind) == [.video, .audio])
        #expect(layout.initialMovie.tracks.compactMap(\.format) == camera.formats)
        #expect(layout.initialMovie.tracks.map(\.timescale.ticksPerSecond) == [90_000, 48_000])
    }

    @Test func `a format that no file can have is refused`() {
        var camera = LiveCamera()
        camera.formats = [
            .video(
                .h264(
                    sequenceParameterSets: [[0x67]], pictureParameterSets: [[0x68]], width: 16,
                    height: 16))
        ]
        let format = LiveFormat(camera.next().samples)
        #expect(throws: LiveError.malformed) { try format.initialization() }
    }
}
