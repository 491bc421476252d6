import Media
import TestMedia
import Testing

@testable import RTSP

/// Variants of RFC 6184 in cameras, one test each.
@Suite struct H264DepacketizerTests {
    private static let sps: [UInt8] = [0x67, 1, 2]
    private static let pps: [UInt8] = [0x68, 3]
    private static let sei: [UInt8] = [0x06, 5, 1, 0, 0x80]
    /// First slices: `first_mb_in_slice` is 0.
    private static let idr: [UInt8] = [0x65, 0x88, 4, 5, 6, 7, 8, 9]
    private static let picture: [UInt8] = [0x41, 0x9A, 1, 2]
    private static let disposable: [UInt8] = [0x01, 0x9E, 3, 4]
    private static let secondSlice: [UInt8] = [0x41, 0x4A, 1, 3]

    /// A sender whose packets are numbered by itself.
    private struct Sender {
        var sequence: UInt16 = 0
        var depacketizer = VideoDepacketizer(.h264)
        var items: [DepacketizedItem] = []
        var window = PacketWindow(waitNanoseconds: 0)

        mutating func finish() { items += depacketizer.finishStream() }

        mutating func send(_ payload: [UInt8], at timestamp: UInt32, marker: Bool = false) {
            let packet = RTPPacket(
                payloadType: 96, marker: marker, sequence: sequence, timestamp: timestamp,
                source: 1, payload: payload)
            sequence &+= 1
            for ordered in window.add(packet, arrivalNanoseconds: Int64(timestamp)) {
                items += depacketizer.add(ordered)
            }
        }

        mutating func lose(_ count: UInt16 = 1) { sequence &+= count }

        /// As many pictures as it takes until the marker is believed.
        mutating func warmUp() {
            for index in 0..<9 as Range<UInt32> {
                send(H264DepacketizerTests.picture, at: index, marker: true)
            }
            items = []
        }

        var units: [[[UInt8]]] {
            items.compactMap { if case .unit(let unit) = $0 { Self.split(unit.data) } else { nil } }
        }

        var holes: [StreamHole] {
            items.compactMap { if case .hole(let hole) = $0 { hole } else { nil } }
        }

        static func split(_ data: [UInt8]) -> [[UInt8]] {
            var units: [[UInt8]] = []
            var place = 0
            while place + 4 <= data.count {
                let size = Int(bigEndian(data, at: place))
                units.append(Array(data[(place + 4)..<(place + 4 + size)]))
                place += 4 + size
            }
            return units
        }
    }

    private static func fragments(_ unit: [UInt8], of size: Int) -> [[UInt8]] {
        let content = Array(unit.dropFirst())
        var result: [[UInt8]] = []
        for start in stride(from: 0, to: content.count, by: size) {
            let end = min(start + size, content.count)
            let flags: UInt8 = (start == 0 ? 0x80 : 0) | (end == content.count ? 0x40 : 0)
            result.append([unit[0] & 0xE0 | 28, flags | unit[0] & 0x1F] + content[start..<end])
        }
        return result
    }

    private static func aggregate(_ units: [[UInt8]]) -> [UInt8] {
        [24] + units.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
    }

    @Test func `single units, aggregates and fragments become the units that were sent`() {
        var own = Sender()
        own.send(Self.aggregate([Self.sps, Self.pps]), at: 0)
        for part in Self.fragments(Self.idr, of: 3) { own.send(part, at: 0) }
        own.send(Self.picture, at: 3_000)
        own.send(Self.secondSlice, at: 3_000)
        own.send(Self.picture, at: 6_000)
        #expect(own.units == [[Self.sps, Self.pps, Self.idr], [Self.picture, Self.secondSlice]])
        #expect(own.holes.isEmpty)
    }

    @Test func `after a correct marker, pictures are output at their marker`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.picture, at: 100, marker: true)
        #expect(own.units == [[Self.picture]])
    }

    @Test func `a last picture whose end nothing shows is a loss`() {
        var own = Sender()
        own.send(Self.picture, at: 0)
        own.send(Self.picture, at: 3_000)
        own.finish()
        #expect(own.units == [[Self.picture]])
        #expect(own.holes.map(\.droppedUnits) == [1])
    }

    @Test func `a last picture that lacks a packet is a loss`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.picture, at: 100, marker: true)
        own.send(Self.picture, at: 3_000)
        own.lose()
        own.send(Self.secondSlice, at: 3_000)
        own.finish()
        #expect(own.units == [[Self.picture]])
        #expect(own.holes.map(\.missingPackets) == [1])
        #expect(own.holes.map(\.droppedUnits) == [1])
    }

    @Test func `a picture that has arrived in part at the end is not a loss`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.picture, at: 100, marker: true)
        own.send(Self.picture, at: 3_000)
        own.finish()
        #expect(own.units == [[Self.picture]])
        #expect(own.holes.isEmpty)
    }

    @Test func `a marker bit on parameter sets and SEI does not end an access unit`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.sps, at: 100, marker: true)
        own.send(Self.pps, at: 100, marker: true)
        own.send(Self.sei, at: 100, marker: true)
        own.send(Self.idr, at: 100, marker: true)
        #expect(own.units == [[Self.sps, Self.pps, Self.sei, Self.idr]])
    }

    @Test func `a marker bit on every slice does not divide pictures`() {
        var own = Sender()
        for timestamp in 0..<20 as Range<UInt32> {
            own.send(Self.picture, at: timestamp, marker: true)
            own.send(Self.secondSlice, at: timestamp, marker: true)
        }
        own.send(Self.picture, at: 20)
        #expect(own.units == [[[UInt8]]](repeating: [Self.picture, Self.secondSlice], count: 20))
        #expect(own.holes.isEmpty)
    }

    @Test func `a marker bit on every slice of later keyframes costs only the first of them`() {
        var own = Sender()
        own.warmUp()
        for keyframe in 0..<3 as Range<UInt32> {
            let timestamp = 100 + 10 * keyframe
            own.send(Self.idr, at: timestamp, marker: true)
            own.send(Self.secondSlice, at: timestamp, marker: true)
            own.send(Self.secondSlice, at: timestamp, marker: true)
            own.send(Self.picture, at: timestamp + 1, marker: true)
        }
        own.send(Self.picture, at: 200)
        let whole = [[Self.idr, Self.secondSlice, Self.secondSlice], [Self.picture]]
        #expect(own.units == [[Self.idr], [Self.picture]] + whole + whole)
        #expect(own.holes.count == 1)
        #expect(own.holes.first?.isHarmless == false)
    }

    @Test(arguments: [true, false])
    func `units before a picture are added to it at any timestamp`(isMarked: Bool) {
        var own = Sender()
        let ahead = [Self.sps, Self.pps, Self.sei]
        for index in 1...20 as ClosedRange<UInt32> {
            // Parameter sets have the timestamp of the picture before, and messages their own.
            own.send(Self.sps, at: (index - 1) * 100)
            own.send(Self.pps, at: (index - 1) * 100)
            own.send(Self.sei, at: index * 100 - 50, marker: isMarked)
            own.send(Self.picture, at: index * 100, marker: isMarked)
        }
        own.send(Self.picture, at: 3_000, marker: isMarked)
        own.send(Self.picture, at: 3_100, marker: isMarked)
        #expect(
            own.units.prefix(20) == ArraySlice(Array(repeating: ahead + [Self.picture], count: 20)))
        #expect(own.holes.isEmpty)
        for case .unit(let unit) in own.items.dropFirst().prefix(19) {
            #expect(unit.timestamp % 100 == 0)
            #expect(unit.firstArrivalNanoseconds == Int64(unit.timestamp))
            #expect(unit.lastNumber - unit.firstNumber == 3)
        }
    }

    @Test func `a message between two slices stays between them`() {
        var own = Sender()
        own.send(Self.picture, at: 0)
        own.send(Self.sei, at: 0)
        own.send(Self.secondSlice, at: 0)
        own.send(Self.picture, at: 1)
        #expect(own.units == [[Self.picture, Self.sei, Self.secondSlice]])
    }

    @Test func `filler between pictures is dropped without a loss`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.picture, at: 100, marker: true)
        own.send([0x0C, 0xFF, 0x80], at: 100)
        own.send([0x0A], at: 150)
        own.send(Self.picture, at: 200, marker: true)
        #expect(own.units == [[Self.picture], [Self.picture]])
        #expect(own.holes.isEmpty)
    }

    @Test func `a loss between preceding units and their picture is one loss`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.sps, at: 50)
        own.lose()
        own.send(Self.picture, at: 100, marker: true)
        #expect(own.units == [[Self.picture]])
        #expect(own.holes.map(\.missingPackets) == [1])
        #expect(own.holes.map(\.droppedUnits) == [0])
    }

    @Test func `a marker that was wrong does not complete a picture before a loss`() {
        var own = Sender()
        for timestamp in 0..<3 as Range<UInt32> {
            own.send(Self.picture, at: timestamp, marker: true)
            own.send(Self.secondSlice, at: timestamp, marker: true)
        }
        own.send(Self.picture, at: 3, marker: true)
        own.lose()
        own.send(Self.picture, at: 4, marker: true)
        own.send(Self.picture, at: 5, marker: true)
        #expect(own.units.count == 4)
        #expect(own.holes.map(\.droppedUnits) == [1])
    }

    @Test func `a camera without marker bits is read by its timestamps`() {
        var own = Sender()
        for timestamp in 0..<20 as Range<UInt32> { own.send(Self.picture, at: timestamp) }
        #expect(own.units.count == 19)
    }

    @Test func `two marked pictures with one timestamp are separate units`() {
        var own = Sender()
        own.send(Self.idr, at: 0, marker: true)
        own.send(Self.picture, at: 0, marker: true)
        own.send(Self.picture, at: 1, marker: true)
        #expect(own.units == [[Self.idr], [Self.picture]])
    }

    // MARK: One timestamp, no marker

    private static let frames = H264Writer.Sequence()
    private static let fields = H264Writer.Sequence(rows: 4, hasFields: true)

    /// Slices of a picture that repeats another one.
    private static func repeated(
        _ number: UInt32, order: UInt32? = nil, in sequence: H264Writer.Sequence = frames,
        isReference: Bool = true, isBottomField: Bool? = nil, slices: UInt32 = 1
    ) -> [[UInt8]] {
        H264Writer.Picture(
            .repeated, number: number, order: order ?? 2 * number, isReference: isReference,
            isBottomField: isBottomField
        ).slices(sequence, count: slices)
    }

    private static func sets(_ sequence: H264Writer.Sequence) -> [[UInt8]] {
        [sequence.nalUnit, H264Writer.pictureSet()]
    }

    @Test(arguments: [1, 2] as [UInt32])
    func `two unmarked pictures with one timestamp are separate units`(slices: UInt32) {
        var own = Sender()
        let pictures = (0..<6 as Range<UInt32>).map { Self.repeated($0, slices: slices) }
        for set in Self.sets(Self.frames) { own.send(set, at: 0) }
        for (index, picture) in pictures.enumerated() {
            for slice in picture { own.send(slice, at: UInt32(index / 2)) }
        }
        own.send(Self.picture, at: 9)
        #expect(own.units == [Self.sets(Self.frames) + pictures[0]] + pictures.dropFirst())
        #expect(own.holes.isEmpty)
        var numbers: [ClosedRange<Int64>] = []
        for case .unit(let unit) in own.items { numbers.append(unit.firstNumber...unit.lastNumber) }
        let each = Int64(slices)
        let first: Int64 = 65_536
        #expect(numbers.first == first...(first + 1 + each))
        for (before, after) in zip(numbers, numbers.dropFirst()) {
            #expect(after.lowerBound == before.upperBound + 1)
            #expect(after.count == Int(each))
        }
    }

    @Test func `a delimiter and parameter sets belong to the next picture`() {
        var own = Sender()
        let before = [H264Writer.delimiter] + Self.sets(Self.frames)
        for number in 0..<2 as Range<UInt32> {
            for unit in before + Self.repeated(number) { own.send(unit, at: 0) }
        }
        own.send(Self.picture, at: 1)
        #expect(own.units == [before + Self.repeated(0), before + Self.repeated(1)])
    }

    @Test func `two fragmented pictures with one timestamp have their own packet numbers`() {
        var own = Sender()
        let long = H264Writer.Picture(.intra, number: 1, order: 2).slices(Self.frames)[0]
        for set in Self.sets(Self.frames) { own.send(set, at: 0) }
        own.send(Self.repeated(0)[0], at: 0)
        let parts = Self.fragments(long, of: 300)
        for part in parts { own.send(part, at: 0) }
        own.send(Self.picture, at: 1)
        #expect(own.units == [Self.sets(Self.frames) + Self.repeated(0), [long]])
        var numbers: [[Int64]] = []
        for case .unit(let unit) in own.items {
            numbers.append([unit.firstNumber - 65_536, unit.lastNumber - 65_536])
        }
        #expect(numbers == [[0, 2], [3, Int64(2 + parts.count)]])
    }

    @Test(arguments: [true, false])
    func `two fields of a frame with one timestamp are one unit`(isDelimited: Bool) {
        var own = Sender()
        var sent: [[[UInt8]]] = []
        for number in 0..<4 as Range<UInt32> {
            var frame: [[UInt8]] = number == 0 ? Self.sets(Self.fields) : []
            for isBottom in [false, true] {
                if isDelimited { frame.append(H264Writer.delimiter) }
                // The second field of a reference frame may be none.
                frame += Self.repeated(
                    number, order: 2 * number + (isBottom ? 1 : 0), in: Self.fields,
                    isReference: !isBottom || number % 2 == 0, isBottomField: isBottom)
            }
            for unit in frame { own.send(unit, at: number) }
            sent.append(frame)
        }
        own.send(Self.picture, at: 9)
        #expect(own.units == sent)
        #expect(own.holes.isEmpty)
    }

    @Test func `two frames of fields with one timestamp are separate units`() {
        var own = Sender()
        for set in Self.sets(Self.fields) { own.send(set, at: 0) }
        var sent: [[[UInt8]]] = []
        for number in 0..<2 as Range<UInt32> {
            let frame = [false, true].flatMap {
                Self.repeated(
                    number, order: 2 * number + ($0 ? 1 : 0), in: Self.fields, isBottomField: $0)
            }
            for slice in frame { own.send(slice, at: 0) }
            sent.append(frame)
        }
        own.send(Self.picture, at: 1)
        #expect(own.units == [Self.sets(Self.fields) + sent[0], sent[1]])
    }

    @Test func `a repeated slice, and pictures whose sets are unknown, are not divided`() {
        var own = Sender()
        for number in 0..<2 as Range<UInt32> { own.send(Self.repeated(number)[0], at: 0) }
        for set in Self.sets(Self.frames) { own.send(set, at: 1) }
        for _ in 0..<2 { own.send(Self.repeated(3)[0], at: 1) }
        own.send(Self.picture, at: 2)
        #expect(
            own.units == [
                Self.repeated(0) + Self.repeated(1),
                Self.sets(Self.frames) + Self.repeated(3) + Self.repeated(3),
            ])
    }

    @Test func `after a loss within a timestamp its pictures are not divided`() {
        var own = Sender()
        for set in Self.sets(Self.frames) { own.send(set, at: 0) }
        own.send(Self.repeated(0)[0], at: 0)
        own.lose()
        own.send(Self.repeated(2)[0], at: 0)
        own.send(Self.repeated(3)[0], at: 1)
        own.send(Self.picture, at: 2)
        #expect(own.units == [Self.repeated(3)])
        #expect(own.holes.map(\.missingPackets) == [1])
        #expect(own.holes.map(\.droppedUnits) == [1])
    }

    @Test func `a fragmented unit that changes its type keeps that of its beginning`() {
        var own = Sender()
        var parts = Self.fragments(Self.idr, of: 3)
        parts[1][1] = parts[1][1] & 0xE0 | 1
        for part in parts { own.send(part, at: 0) }
        own.send(Self.picture, at: 1)
        #expect(own.units == [[Self.idr]])
    }

    @Test func `empty fragments and empty packets are ignored`() {
        var own = Sender()
        let parts = Self.fragments(Self.idr, of: 4)
        own.send(parts[0], at: 0)
        own.send([parts[0][0], 5], at: 0)
        own.send(parts[1], at: 0)
        own.send([parts[0][0], 0x45], at: 0)
        own.send([], at: 0)
        own.send(Self.picture, at: 1)
        #expect(own.units == [[Self.idr]])
        #expect(own.holes.isEmpty)
    }

    @Test func `a fragmented unit without an end bit ends where the next unit begins`() {
        var own = Sender()
        var parts = Self.fragments(Self.idr, of: 4)
        parts[1][1] &= ~0x40
        for part in parts { own.send(part, at: 0) }
        own.send(Self.secondSlice, at: 0)
        own.send(Self.picture, at: 1)
        #expect(own.units == [[Self.idr, Self.secondSlice]])
    }

    @Test func `units with start codes in one packet are separated`() {
        var own = Sender()
        own.send([0, 0, 0, 1] + Self.sps + [0, 0, 1] + Self.pps + [0, 0, 0, 1] + Self.idr, at: 0)
        own.send(Self.picture, at: 1)
        #expect(own.units == [[Self.sps, Self.pps, Self.idr]])
    }

    // MARK: Losses

    @Test func `a picture of which a packet is missing is not given`() {
        var own = Sender()
        own.send(Self.idr, at: 0)
        let parts = Self.fragments(Self.picture + [8, 8, 8, 8], of: 3)
        own.send(parts[0], at: 1)
        own.lose()
        own.send(parts[2], at: 1)
        own.send(Self.picture, at: 2)
        own.send(Self.picture, at: 3)
        #expect(own.units == [[Self.idr], [Self.picture]])
        #expect(own.holes.count == 1)
        #expect(own.holes[0].missingPackets == 1 && own.holes[0].droppedUnits == 1)
        #expect(!own.holes[0].isHarmless)
    }

    @Test func `a loss in a picture that is not a reference drops only this picture`() {
        var own = Sender()
        own.send(Self.idr, at: 0)
        own.send(Self.disposable, at: 1)
        own.lose()
        own.send([0x01, 0x4E, 3, 4], at: 1)
        own.send(Self.picture, at: 2)
        own.send(Self.picture, at: 3)
        #expect(own.units == [[Self.idr], [Self.picture]])
        #expect(own.holes.map(\.isHarmless) == [true])
    }

    @Test func `packets lost between two pictures are a hole between them`() {
        var own = Sender()
        own.warmUp()
        own.send(Self.picture, at: 100, marker: true)
        own.lose(2)
        own.send(Self.picture, at: 102, marker: true)
        #expect(own.units.count == 2)
        #expect(own.holes.map(\.missingPackets) == [2])
        guard case .hole = own.items[1] else {
            Issue.record("the hole is not between the pictures")
            return
        }
        #expect(own.holes[0].droppedUnits == 0 && !own.holes[0].isHarmless)
    }

    @Test func `a picture whose first packets are missing is not given`() {
        var own = Sender()
        own.warmUp()
        let parts = Self.fragments(Self.idr, of: 3)
        own.lose()
        for part in parts.dropFirst() { own.send(part, at: 100) }
        own.send(Self.picture, at: 101, marker: true)
        #expect(own.units == [[Self.picture]])
        #expect(own.holes.map(\.missingPackets) == [1, 0])
        #expect(own.holes.map(\.droppedUnits).reduce(0, +) == 1)
    }

    @Test func `two losses in one picture are both counted`() {
        var own = Sender()
        own.send(Self.idr, at: 0)
        own.lose()
        own.send(Self.secondSlice, at: 0)
        own.lose(3)
        own.send(Self.secondSlice, at: 0)
        own.send(Self.picture, at: 1)
        #expect(own.holes.map(\.missingPackets).reduce(0, +) == 4)
        #expect(own.holes.map(\.droppedUnits).reduce(0, +) == 1)
    }

    @Test(
        arguments: [
            [24, 0, 200, 1], [24, 0], [28], [29, 0, 0, 0], [25, 0, 0, 0, 1, 1],
        ] as [[UInt8]])
    func `a payload that contradicts its format drops only its picture`(payload: [UInt8]) {
        var own = Sender()
        own.send(Self.idr, at: 0)
        own.send(payload, at: 0)
        own.send(Self.picture, at: 1)
        own.send(Self.picture, at: 2)
        #expect(own.units == [[Self.picture]])
        #expect(own.holes.count == 1)
        guard case .malformed = own.holes.first?.cause else {
            Issue.record("\(own.holes)")
            return
        }
    }

    @Test func `a unit that never ends is given up at its limit`() {
        var own = Sender()
        own.send(Self.picture, at: 0)
        own.send([0x7C, 0x85, 0x88], at: 1)
        let part = [0x7C, 0x05] + [UInt8](repeating: 7, count: 60_000)
        for _ in 0..<300 { own.send(part, at: 1) }
        own.send(Self.picture, at: 2)
        own.send(Self.picture, at: 3)
        #expect(own.units == [[Self.picture], [Self.picture]])
        #expect(own.holes.count == 1)
    }
}
