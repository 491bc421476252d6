import TestMedia
import Testing

@testable import Media

/// Packet times without a container: inputs and expected results.
@Suite struct PacketTimelineTests {
    private typealias Timeline = PacketTimeline<Int>

    private static let second: Int64 = 1_000_000_000
    private static let frame: Int64 = 40_000_000

    private static func track(mayReorder: Bool, step: Int64 = 1) -> Timeline.Track {
        Timeline.Track(
            mayReorder: mayReorder, storesPresentationTimes: true, storesDecodingTimes: true,
            order: mayReorder ? .unknown : .decoding, usualDuration: 0, step: step)
    }

    private static func rules(ahead: Bool = true) -> InputClock<Int>.Rules {
        .init(
            mayJumpAhead: ahead, storesDecodingTimes: true,
            wrapNanoseconds: (Int64(1) << 33) * 100_000 / 9)
    }

    /// Video at 25 fps and sound in packets of 20 ms, interleaved, from `start` on.
    private static func part(
        _ timeline: inout Timeline, from start: Int64, frames: Int
    ) throws -> [Timeline.Timed] {
        var all: [Timeline.Timed] = []
        for index in 0..<Int64(frames) {
            let time = start + index * frame
            all += try timeline.add(
                Int(index), track: 0, pts: time, dts: time, duration: frame, bytes: [UInt8]().span)
            for sound in [time, time + frame / 2] {
                all += try timeline.add(
                    Int(index), track: 1, pts: sound, dts: sound, duration: frame / 2,
                    bytes: [UInt8]().span)
            }
        }
        return all
    }

    private static func joined(
        _ starts: [Int64], frames: Int = 50
    ) throws -> (times: [Timeline.Timed], joints: [ClockJoint]) {
        var timeline = Timeline(
            tracks: [track(mayReorder: false), track(mayReorder: false)], clock: rules())
        var times: [Timeline.Timed] = []
        for start in starts { times += try part(&timeline, from: start, frames: frames) }
        times += try timeline.finish()
        return (times, timeline.joints)
    }

    @Test(arguments: [0, 1000 * second, -2 * second, 3600 * second])
    func `joined streams keep their durations at any clocks`(jump: Int64) throws {
        let first = 10 * Self.second
        let (times, joints) = try Self.joined([first, first + 2 * Self.second + jump])
        #expect(joints.count == (jump == 0 ? 0 : 1))
        for track in 0...1 {
            let own = times.filter { $0.track == track }.map(\.pts)
            let step = track == 0 ? Self.frame : Self.frame / 2
            #expect(own == (0..<Int64(own.count)).map { first + $0 * step })
        }
    }

    @Test func `a camera that is started again and again has a joint each time`() throws {
        let (times, joints) = try Self.joined([0, 0, 0, 0])
        #expect(joints.map(\.atNanoseconds) == [2, 4, 6].map { $0 * Self.second })
        #expect(joints.allSatisfy { $0.jumpNanoseconds == -2 * Self.second })
        #expect(times.filter { $0.track == 0 }.map(\.pts).max() == 8 * Self.second - Self.frame)
    }

    @Test func `a clock that wraps around has not jumped`() throws {
        var rules = Self.rules()
        rules.wrapNanoseconds = 100 * Self.second
        var timeline = Timeline(
            tracks: [Self.track(mayReorder: false), Self.track(mayReorder: false)], clock: rules)
        var times = try Self.part(&timeline, from: 98 * Self.second, frames: 50)
        times += try Self.part(&timeline, from: 0, frames: 50)
        times += try timeline.finish()
        #expect(timeline.joints.isEmpty)
        let pictures = times.filter { $0.track == 0 }.map(\.pts)
        #expect(pictures == (0..<100).map { 98 * Self.second + $0 * Self.frame })
    }

    @Test func `a jump of one track alone is refused`() throws {
        var timeline = Timeline(
            tracks: [Self.track(mayReorder: false), Self.track(mayReorder: false)],
            clock: Self.rules())
        _ = try Self.part(&timeline, from: 10 * Self.second, frames: 50)
        #expect(throws: TimelineError.self) {
            for index in 0..<Int64(400) {
                _ = try timeline.add(
                    0, track: 0, pts: index * Self.frame, dts: index * Self.frame,
                    duration: Self.frame, bytes: [UInt8]().span)
                let sound = 12 * Self.second + index * Self.frame
                _ = try timeline.add(
                    0, track: 1, pts: sound, dts: sound, duration: Self.frame,
                    bytes: [UInt8]().span)
            }
        }
    }

    /// Presentation times in decoding order, and a container's or library's decoding times, in frames.
    private static let reordered: [(name: String, pts: [Int64], dts: [Int64]?)] = [
        ("none stored", [0, 3, 1, 2, 6, 4, 5], nil),
        ("a pyramid", [0, 4, 2, 1, 3, 8, 6, 5, 7], nil),
        ("decoded as late as presented", [0, 3, 1, 2, 6, 4, 5], [0, 3, 3, 3, 6, 6, 6]),
        ("negative composition times", [0, 1, 2, 3, 4], [2, 3, 4, 5, 6]),
        ("all at once", [0, 3, 1, 2], [0, 0, 0, 0]),
    ]

    @Test(arguments: reordered.map(\.name))
    func `presentation times stay, and decoding times grow and precede them`(
        name: String
    ) throws {
        let row = try #require(Self.reordered.first { $0.name == name })
        var times = DecodingTimes<Int>(mayReorder: true, step: 1_000)
        var out: [DecodingTimes<Int>.Timed] = []
        for (index, pts) in row.pts.enumerated() {
            out += times.add(
                .init(
                    index, pts: pts * Self.frame, dts: row.dts.map { $0[index] * Self.frame },
                    duration: Self.frame))
        }
        out += times.finish()
        #expect(out.map(\.packet) == Array(row.pts.indices))
        #expect(out.map(\.pts) == row.pts.map { $0 * Self.frame })
        let dts = try out.map { try #require($0.dts) }
        #expect(zip(dts, dts.dropFirst()).allSatisfy { $0 + 1_000 <= $1 })
        #expect(zip(dts, out).allSatisfy { $0 <= $1.pts })
    }

    @Test func `pictures without times are presented in the order of their counts`() {
        var order = PresentationOrder<Int>()
        // I P B B of two sequences, and a hole in the numbering.
        let counts: [Int64] = [0, 6, 2, 4, 0, 6, 2, 4]
        let slots: [Int64] = [0, 1, 2, 3, 4, 6, 7, 8]
        var out: [(packet: Int, pts: Int64)] = []
        for (index, count) in counts.enumerated() {
            out += order.add(
                index, slot: slots[index],
                order: PictureOrder(beginsSequence: count == 0, count: count))
        }
        out += order.finish()
        #expect(out.map(\.packet) == Array(0..<8))
        #expect(out.map(\.pts) == [0, 3, 1, 2, 4, 8, 6, 7])
    }

    /// Presentation times and picture orders of groups of pictures, in decoding order: whether the times are refused.
    private static let stamped: [(name: String, pts: [Int64], order: [UInt32], isRefused: Bool)] = [
        (
            "reordered as the pictures are", [0, 3, 1, 2, 6, 4, 5, 9, 7, 8],
            [0, 3, 1, 2, 6, 4, 5, 9, 7, 8], false
        ),
        ("copied from decoding times", Array(0..<10), [0, 3, 1, 2, 6, 4, 5, 9, 7, 8], true),
        ("not reordered", Array(0..<10), Array(0..<10), false),
        ("counts that are reset", Array(0..<10), [4, 5, 6, 7, 0, 1, 2, 3, 0, 1], false),
        ("two alternating counts", Array(0..<10), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1], false),
    ]

    @Test(arguments: stamped.map(\.name))
    func `presentation times that are decoding times are refused`(name: String) throws {
        let row = try #require(Self.stamped.first { $0.name == name })
        let sequence = H264Writer.Sequence()
        let configuration = FLVFile.record([sequence.nalUnit], [H264Writer.pictureSet()])
        var track = Self.track(mayReorder: true)
        track.order = .counted(try PictureOrderCounter(.h264, configuration: configuration))
        var timeline = Timeline(tracks: [track], clock: Self.rules())
        let isRefused: Bool
        do throws(TimelineError) {
            for (number, pts) in row.pts.enumerated() {
                let picture = H264Writer.Picture(
                    number == 0 ? .idr(id: 0) : .repeated, number: UInt32(number % 16),
                    order: row.order[number] * 2, luma: 16)
                let bytes = picture.slices(sequence).flatMap { unit in
                    withUnsafeBytes(of: UInt32(unit.count).bigEndian, Array.init) + unit
                }
                _ = try timeline.add(
                    number, track: 0, pts: pts * Self.frame,
                    dts: (Int64(number) - 2) * Self.frame, duration: Self.frame, bytes: bytes.span)
            }
            isRefused = false
        } catch {
            #expect(error == .decodingOrder(track: 0))
            isRefused = true
        }
        #expect(isRefused == row.isRefused)
    }
}

@Suite struct PixelShapeTests {
    @Test func `a new size keeps the shape of a picture`() {
        let wide = SampleAspectRatio(2, to: 1)
        let size = PictureSize(width: 320, height: 180)
        let half = PictureSize(width: 160, height: 90)
        #expect(SampleAspectRatio.keepingShape(wide, of: size, at: half) == wide)
        #expect(
            SampleAspectRatio.keepingShape(
                wide, of: size, at: PictureSize(width: 320, height: 90)) == nil)
        #expect(
            SampleAspectRatio.keepingShape(
                nil, of: PictureSize(width: 1280, height: 720),
                at: PictureSize(width: 426, height: 240)) == nil)
        #expect(wide.squared(size, longest: 16_384) == PictureSize(width: 640, height: 180))
        #expect(
            SampleAspectRatio(1, to: 2).squared(size, longest: 16_384)
                == PictureSize(width: 320, height: 360))
        #expect(SampleAspectRatio(60_000, to: 1).squared(size, longest: 16_384) == size)
    }

    @Test func `a ratio is reduced to the stream's range`() {
        #expect(SampleAspectRatio(reducing: 64, 32) == SampleAspectRatio(2, to: 1))
        #expect(SampleAspectRatio(reducing: 0, 1) == nil)
        #expect(SampleAspectRatio(reducing: 200_001, 100_000)?.horizontal == 50_000)
    }
}
