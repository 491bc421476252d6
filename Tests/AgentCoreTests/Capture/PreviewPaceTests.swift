import Media
import Testing

@testable import AgentCore

/// Size and rate of a preview of a source's pictures.
@Suite struct PreviewPaceTests {
    private func shape(_ width: Int, _ height: Int) -> PictureShape {
        PictureShape(
            size: PictureSize(width: width, height: height), sampleAspectRatio: nil, colour: nil,
            rate: FrameRate(30), hasConstantRate: true, orientation: .upright)
    }

    @Test(arguments: [
        (1280, 720, 640, 360), (3840, 2160, 640, 360), (720, 1280, 360, 640), (640, 480, 640, 480),
        (320, 180, 320, 180), (641, 361, 640, 360), (321, 181, 320, 180), (1920, 1078, 640, 360),
        (1440, 1080, 640, 480), (8192, 16, 640, 2), (16_384, 2, 640, 2), (1, 1, 2, 2),
    ])
    func `a preview fits into 640x640, has even sides, and is never larger than its source`(
        width: Int, height: Int, small: Int, low: Int
    ) {
        let size = shape(width, height).size(within: CaptureSettings.smallBox)
        #expect(size == PictureSize(width: small, height: low))
    }

    @Test func `a box that is given bounds both sides`() {
        let box = PictureSize(width: 480, height: 200)
        #expect(shape(1280, 720).size(within: box) == PictureSize(width: 356, height: 200))
        #expect(shape(720, 1280).size(within: box) == PictureSize(width: 112, height: 200))
        #expect(shape(1280, 320).size(within: box) == PictureSize(width: 480, height: 120))
    }

    @Test(arguments: [
        (FrameRate(30), FrameRate(15)),
        (FrameRate(30_000, per: 1001), FrameRate(15_000, per: 1001)),
        (FrameRate(25), FrameRate(25, per: 2)), (FrameRate(60), FrameRate(15)),
        (FrameRate(16), FrameRate(8)), (FrameRate(15), FrameRate(15)),
        (FrameRate(10), FrameRate(10)),
        (FrameRate(1, per: 2), FrameRate(1, per: 2)), (FrameRate(1000), FrameRate(1000, per: 67)),
    ])
    func `the rate is at most 15, and a whole fraction of the source's`(
        source: FrameRate, preview: FrameRate
    ) {
        #expect(PreviewPace.rate(of: source) == preview)
        // Every picture that is selected lasts until the next one.
        let duration = source.nanoseconds(ofPicture: 1)
        var pace = PreviewPace()
        var selected: [(time: Int64, duration: Int64)] = []
        for number in 0..<400 {
            let time = source.nanoseconds(ofPicture: Int64(number))
            if let long = pace.admits(atNanoseconds: time, durationNanoseconds: duration) {
                selected.append((time, long))
            }
        }
        let expected = preview.pictures(inNanoseconds: source.nanoseconds(ofPicture: 400))
        #expect(abs(Int64(selected.count) - expected) <= 1)
        for (picture, next) in zip(selected, selected.dropFirst()) {
            #expect(abs(picture.time + picture.duration - next.time) < 1_000)
        }
    }

    @Test func `a camera's irregular times do not make the preview irregular`() {
        var generator = SystemRandomNumberGenerator()
        var pace = PreviewPace()
        var numbers: [Int64] = []
        for number in Int64(0)..<600 {
            let time =
                number * 33_333_333 + Int64.random(in: -7_000_000...7_000_000, using: &generator)
            let admitted = pace.admits(atNanoseconds: time, durationNanoseconds: 33_333_333)
            if admitted != nil { numbers.append(number) }
        }
        #expect(numbers == (0..<300).map { 2 * $0 })
    }

    @Test func `the picture after a gap is selected, and the rest follow it`() {
        var pace = PreviewPace()
        func selected(_ numbers: some Sequence<Int64>) -> [Int64] {
            numbers.filter {
                pace.admits(
                    atNanoseconds: $0 * 33_333_333, durationNanoseconds: 33_333_333) != nil
            }
        }
        #expect(selected(0...4) == [0, 2, 4])
        pace.restart()
        #expect(selected(7...11) == [7, 9, 11])
        // Without a report of the gap, too.
        #expect(selected(100...104) == [100, 102, 104])
    }

    @Test func `a camera of variable rate keeps up to 15 pictures per second`() {
        var random: UInt64 = 3
        var pace = PreviewPace()
        var time: Int64 = 0
        var last: Int64 = 0
        var selected: [Int64] = []
        var passed: Int64 = 0
        for _ in 0..<2_000 {
            // A network camera states the distance to the picture before.
            let admitted = pace.admits(atNanoseconds: time, durationNanoseconds: time - last)
            if admitted != nil {
                selected.append(time)
            } else {
                passed = max(passed, time - (selected.last ?? 0))
            }
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            last = time
            time += [5, 10, 40, 40, 200, 500][Int(random >> 33 % 6)] * 1_000_000
        }
        // No picture is left out more than two intervals after the last selected one.
        #expect(passed < 2 * 1_000_000_000 / 15)
        #expect(Int64(selected.count) <= time / (1_000_000_000 / 15) + 1)
        for (one, other) in zip(selected, selected.dropFirst()) {
            #expect(other - one >= 30_000_000)
        }
    }
}
