import Encoding
import Media
import Testing

@testable import AgentCore
@testable import RTSP

/// The number of missing pictures of a network camera whose pictures are reordered, from a seed.
@Suite struct MissingPicturesTests {
    /// SplitMix64.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private struct Picture {
        /// In presentation order.
        var number: Int
        var isKeyframe = false
        /// No other picture refers to it.
        var isDisposable = false
    }

    /// Pictures in decoding order: groups whose last picture comes first, then the middle of each part.
    private static func stream(depth: Int, groups: Int) -> [Picture] {
        let size = 1 << depth
        func between(_ first: Int, _ last: Int) -> [Picture] {
            guard last - first > 1 else { return [] }
            let middle = (first + last) / 2
            return [Picture(number: middle, isDisposable: last - first == 2)]
                + between(first, middle) + between(middle, last)
        }
        var pictures = [Picture(number: 0, isKeyframe: true)]
        for group in 0..<groups {
            let last = (group + 1) * size
            pictures.append(Picture(number: last, isKeyframe: group % 4 == 3))
            pictures += between(group * size, last)
        }
        return pictures
    }

    /// Lost pictures, by index in decoding order: some alone, some in a row.
    private static func losses(
        within range: Range<Int>, of pictures: [Picture], _ random: inout Numbers
    )
        -> Set<Int>
    {
        var lost: Set<Int> = []
        for index in range {
            switch Int.random(in: 0..<60, using: &random) {
            case 0:
                lost.formUnion(
                    index..<min(range.upperBound, index + Int.random(in: 1...6, using: &random)))
            case 1...3 where pictures[index].isDisposable: lost.insert(index)
            default: break
            }
        }
        return lost
    }

    /// What `NetworkPictures` does with units and holes, without a bitstream: after a loss, pictures are dropped up to the next
    /// keyframe, and so are those that follow it and precede it in presentation order.
    private struct Recorder {
        var progress: NetworkProgress
        let output: CaptureOutput
        var recorded: [Int] = []
        private var isBroken = false
        private var brokenBefore = Int.min

        init(_ output: CaptureOutput, start: Int64) {
            self.output = output
            progress = NetworkProgress(
                .video, durationNanoseconds: nil, intervalNanoseconds: 40_000_000)
            progress.limit.begin(startNanoseconds: start)
        }

        mutating func take(_ items: [UnitTimes.Item], _ pictures: [Picture]) {
            for item in items {
                switch item {
                case .hole(let hole):
                    if !hole.isHarmless { isBroken = true }
                    progress.note(hole)
                case .unit(let timed): take(timed, pictures[Int(timed.unit.firstNumber)])
                }
            }
        }

        private mutating func take(_ timed: UnitTimes.Timed, _ picture: Picture) {
            if isBroken, picture.isKeyframe {
                isBroken = false
                brokenBefore = picture.number
            }
            guard !isBroken, picture.number >= brokenBefore else {
                return progress.dropUndecodable(atNanoseconds: timed.ptsNanoseconds)
            }
            recorded.append(picture.number)
            progress.record(
                EncodedSample(
                    track: .video, ptsNanoseconds: timed.ptsNanoseconds,
                    dtsNanoseconds: timed.dtsNanoseconds,
                    durationNanoseconds: timed.durationNanoseconds,
                    flags: picture.isKeyframe ? .keyframe : [], data: [1]), output)
        }
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func `as many are reported as were sent and not recorded`(seed: UInt64) {
        var random = Numbers(state: seed)
        let depth = Int(seed % 3) + 1
        // Times of pictures that are more than half a second apart in the stream and in their order may be those of their arrival.
        let ticks =
            (depth < 3 ? [3_600, 3_003, 1_501, 9_000] : [3_600, 3_003, 1_501])
            .randomElement(using: &random) ?? 0
        let interval = Int64(ticks) * 1_000_000_000 / 90_000
        let pictures = Self.stream(depth: depth, groups: 48)
        // The distance of pictures is known from the first groups; in the last ones, the next keyframe ends each gap.
        let group = 1 << depth
        let lost = Self.losses(
            within: 2 * group..<pictures.count - 8 * group, of: pictures, &random)
        let start = JumpingClock.start
        let sink = CollectingSink()
        let hub = CaptureHub(sink: sink, clock: JumpingClock())
        var recorder = Recorder(CaptureOutput(hub), start: start - 10 * interval)
        hub.pipelineBegan(1)
        var times = UnitTimes(clockRate: 90_000, reorderDepth: depth)
        var missing: [Int] = []
        for (index, picture) in pictures.enumerated() {
            if lost.contains(index) {
                missing.append(index)
                continue
            }
            let arrival = start + Int64(index + 8) * interval
            if let first = missing.first {
                // Of a picture that precedes a keyframe and follows it in the stream, it is not known which gap it belongs to.
                let isLeading = (pictures[first].number / group + 1) % 4 == 0
                let isHarmless =
                    missing.count == 1 && pictures[first].isDisposable && !isLeading
                    && Bool.random(using: &random)
                let hole = StreamHole(
                    cause: .lost(.packets(first: 7, count: missing.count)),
                    arrivalNanoseconds: arrival, droppedUnits: isHarmless ? 1 : 0,
                    isHarmless: isHarmless)
                recorder.take(times.add(.hole(hole), now: arrival), pictures)
                missing = []
            }
            let unit = AccessUnit(
                timestamp: UInt32(picture.number * ticks), firstNumber: Int64(index),
                lastNumber: Int64(index), firstArrivalNanoseconds: arrival,
                lastArrivalNanoseconds: arrival, data: [1])
            recorder.take(times.add(.unit(unit), now: arrival), pictures)
        }
        recorder.take(times.flush(), pictures)
        #expect(!recorder.progress.isMissing, "seed \(seed)")
        hub.pipelineEnded(1, .stopped, isRetired: false)
        let losses = sink.wait().losses
        let reported = losses.reduce(0) { $0 + $1.samples }
        #expect(reported == pictures.count - recorder.recorded.count, "seed \(seed)")
        for (loss, next) in zip(losses, losses.dropFirst()) {
            let end = loss.startNanoseconds + loss.durationNanoseconds
            #expect(end <= next.startNanoseconds + interval / 2, "seed \(seed)")
        }
    }
}
