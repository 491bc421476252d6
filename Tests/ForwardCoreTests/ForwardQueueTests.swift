import Media
import Testing
import Wire

@testable import ForwardCore

@Suite struct ForwardQueueTests {
    private static let video = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    private static let audio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))

    /// A camera with 25 pictures a second, a keyframe each second, and a message for each picture with its sound.
    private struct Camera {
        var queue = ForwardQueue()
        var number: UInt64 = 0
        var picture = 0
        var session = "a"
        var pictureBytes = 10
        var formats = [ForwardQueueTests.video, ForwardQueueTests.audio]

        mutating func send(_ count: Int) {
            for _ in 0..<count {
                queue.take(message(), media: media, now: Int64(picture) * 40_000_000)
            }
        }

        mutating func lose(_ count: Int) {
            for _ in 0..<count { _ = message() }
        }

        private var media: [UInt8] { [UInt8](repeating: 1, count: pictureBytes + 2) }

        private mutating func message() -> FeedSamples {
            let ticks = Int64(picture) * 3_600
            let runs = [
                FeedSamples.Run(
                    track: .video, firstSequence: 1,
                    samples: [
                        .init(
                            sizeBytes: UInt32(pictureBytes), dts: ticks, pts: ticks,
                            duration: 3_600,
                            flags: picture % 25 == 0 ? .keyframe : [])
                    ]),
                FeedSamples.Run(
                    track: .audio, firstSequence: 1,
                    samples: [
                        .init(
                            sizeBytes: 2, dts: Int64(picture) * 1_920 - 100,
                            pts: Int64(picture) * 1_920 - 100, duration: 1_920, flags: .keyframe)
                    ]),
            ]
            number += 1
            picture += 1
            return FeedSamples(
                session: session, zeroUTCNanoseconds: 0, source: "stage", number: number,
                formats: formats, boundNanoseconds: 0,
                arrivedNanoseconds: Int64(picture) * 40_000_000 + 30_000_000, runs: runs)
        }

        /// Numbers of pictures, and of sound as its negative.
        mutating func taken() -> [Int] {
            var result: [Int] = []
            while let sample = queue.next() {
                result.append(
                    sample.track == .video
                        ? Int(sample.dts / 3_600) : -Int((sample.dts + 100) / 1_920))
            }
            return result
        }
    }

    @Test func `it starts with a keyframe, in decoding order`() {
        var camera = Camera()
        camera.lose(24)
        camera.send(3)
        #expect(camera.taken() == [25, -26, 26])
        // Nothing was too slow.
        #expect(camera.queue.droppedSamples == 0)
    }

    @Test func `after a loss in the feed, it continues with a keyframe`() {
        var camera = Camera()
        camera.send(2)
        camera.lose(1)
        camera.send(23)
        #expect(camera.taken() == [0, -1, 1, 25])
        #expect(camera.queue.feedLosses == 1)
        // Pictures 3 to 24 and their sound, and the sound of picture 25.
        #expect(camera.queue.droppedSamples == 45)
    }

    @Test func `a sample's age counts from its capture`() {
        var camera = Camera()
        camera.send(1)
        let next = camera.queue.next()
        // It arrived 70 ms after its capture, 40 ms after the session's zero by this clock.
        let expected: Int64 = -30_000_000
        #expect(next?.capturedNanoseconds == expected)
    }

    @Test func `it is bounded in time, and starts with a keyframe`() {
        var camera = Camera()
        camera.send(400)
        let taken = camera.taken()
        #expect(taken.first.map { $0 % 25 } == 0 && taken.last == 399)
        #expect(taken.count <= 2 * 225)
        #expect(camera.queue.droppedSamples > 300)
    }

    @Test func `it is bounded in bytes`() {
        var camera = Camera()
        camera.pictureBytes = 1 << 20
        camera.send(20)
        #expect(camera.taken().isEmpty)
        camera.send(6)
        #expect(camera.taken().first == 25)
    }

    @Test func `a new connection starts with the newest keyframe`() {
        var camera = Camera()
        camera.send(60)
        camera.queue.restart()
        #expect(camera.taken().first == 50)
        camera.send(10)
        camera.queue.restart()
        camera.send(10)
        #expect(camera.taken().first == 75)
    }

    @Test func `sound alone needs no keyframe`() {
        var camera = Camera()
        camera.formats = [Self.audio]
        camera.send(2)
        #expect(camera.taken().isEmpty == false)
    }

    @Test func `samples that the destination does not take in time are counted apart from losses`()
    {
        var camera = Camera()
        camera.send(25)
        camera.lose(3)
        camera.send(30)
        #expect(camera.queue.droppedSamples > 0 && camera.queue.lateSamples == 0)
        let lost = camera.queue.droppedSamples
        camera.send(12 * 25)
        #expect(camera.queue.lateSamples > 0)
        #expect(camera.queue.lateSamples == camera.queue.droppedSamples - lost)
    }
}
