import Testing

@testable import RTSP

@Suite struct PacketTests {
    private func packet(
        _ sequence: UInt16, at timestamp: UInt32 = 0, source: UInt32 = 1
    ) -> RTPPacket {
        RTPPacket(
            payloadType: 96, marker: false, sequence: sequence, timestamp: timestamp,
            source: source, payload: [1])
    }

    @Test func `a packet is the same when written and read again`() throws {
        let own = RTPPacket(
            payloadType: 97, marker: true, sequence: 65_535, timestamp: 0xFEDC_BA98, source: 7,
            payload: [1, 2, 3])
        #expect(try RTPPacket(parsing: own.bytes) == own)
    }

    @Test func `extension, contributors and padding are left out`() throws {
        var bytes: [UInt8] = [0xB1, 0x60, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]
        bytes += [9, 9, 9, 9]
        bytes += [0xBE, 0xDE, 0, 1, 5, 5, 5, 5]
        bytes += [7, 8, 0, 0, 3]
        #expect(try RTPPacket(parsing: bytes).payload == [7, 8])
    }

    @Test(
        arguments: [
            [], [0x80], [0x40, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0x8F, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0xA0, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255],
        ] as [[UInt8]])
    func `bytes that are not an RTP packet are refused`(bytes: [UInt8]) {
        #expect(throws: RTSPError.self) { try RTPPacket(parsing: bytes) }
    }

    @Test func `sender reports and goodbyes are read from compound packets`() {
        let report: [UInt8] =
            [0x80, 200, 0, 6, 0, 0, 0, 5] + [1, 2, 3, 4, 5, 6, 7, 8] + [0, 0, 0, 9]
            + [0, 0, 0, 1, 0, 0, 0, 1]
        let goodbye: [UInt8] = [0x81, 203, 0, 1, 0, 0, 0, 5]
        #expect(
            RTCPPacket.packets(in: report + [0x81, 202, 0, 1, 0, 0, 0, 5] + goodbye) == [
                .senderReport(SenderReport(source: 5, ntp: 0x0102_0304_0506_0708, timestamp: 9)),
                .goodbye([5]),
            ])
        #expect(RTCPPacket.packets(in: [0x9F, 203, 0, 0]) == [.goodbye([])])
        #expect(RTCPPacket.packets(in: [0x80, 200, 255, 255]).isEmpty)
    }

    @Test func `a receiver report is padded to 32 bits and has its sender's name`() {
        let block = ReportBlock(
            source: 2, fractionLost: 128, totalLost: -1, highestSequence: 3, jitter: 4,
            lastReport: 5, delay: 6)
        let bytes = RTCPPacket.receiverReport(from: 1, block, name: "abc")
        #expect(bytes.count % 4 == 0)
        #expect(Array(bytes[..<8]) == [0x81, 201, 0, 7, 0, 0, 0, 1])
        #expect(Array(bytes[8..<16]) == [0, 0, 0, 2, 128, 0xFF, 0xFF, 0xFF])
        #expect(Array(bytes[32..<36]) == [0x81, 202, 0, 3])
        #expect(bytes.count == 32 + 16)
    }

    @Test func `statistics count lost packets`() throws {
        var own = ReceptionStatistics(clockRate: 90_000)
        let none = own.block(now: 0)
        #expect(none == nil)
        for number in [0, 1, 3] as [Int64] {
            own.note(packet(UInt16(number)), number: 65_536 + number, arrival: number * 1_000_000)
        }
        own.note(SenderReport(source: 1, ntp: 0x1234_5678_9ABC_DEF0, timestamp: 0), arrival: 0)
        let found = own.block(now: 500_000_000)
        let block = try #require(found)
        #expect(block.fractionLost == 64 && block.totalLost == 1)
        #expect(block.lastReport == 0x5678_9ABC && block.delay == 32_768)
        let next = own.block(now: 0)
        #expect(next?.fractionLost == 0)
    }

    // MARK: The window

    private func numbers(_ ordered: [PacketWindow.Ordered]) -> [UInt16] {
        ordered.map(\.packet.sequence)
    }

    @Test func `over TCP a missing number is a loss at once, also across the wrap`() {
        var window = PacketWindow(waitNanoseconds: 0)
        #expect(window.add(packet(65_534), arrivalNanoseconds: 0).map(\.loss) == [nil])
        let next = window.add(packet(2), arrivalNanoseconds: 1)
        #expect(next.map(\.loss) == [.packets(first: 65_535, count: 3)])
        #expect(next[0].number == 65_536 * 2 + 2)
    }

    @Test func `reordered packets are output in order`() {
        var window = PacketWindow(waitNanoseconds: 100)
        var given: [UInt16] = []
        for (time, sequence) in ([10, 12, 13, 11, 11, 14] as [UInt16]).enumerated() {
            given += numbers(window.add(packet(sequence), arrivalNanoseconds: Int64(time)))
        }
        #expect(given == [10, 11, 12, 13, 14])
        #expect(window.unused == 1)
        #expect(window.deadlineNanoseconds == nil)
    }

    @Test func `a missing packet is waited for, then reported as lost`() throws {
        var window = PacketWindow(waitNanoseconds: 100)
        _ = window.add(packet(10), arrivalNanoseconds: 0)
        #expect(window.add(packet(12), arrivalNanoseconds: 5).isEmpty)
        #expect(window.deadlineNanoseconds == 105)
        #expect(window.next(now: 104).isEmpty)
        let due = window.next(now: 105)
        #expect(due.map(\.loss) == [.packets(first: 11, count: 1)])
        // Too late for its place.
        #expect(window.add(packet(11), arrivalNanoseconds: 106).isEmpty)
        #expect(window.unused == 1)
    }

    @Test func `the packets that wait behind a missing one are bounded`() {
        var window = PacketWindow(waitNanoseconds: .max / 2)
        _ = window.add(packet(0), arrivalNanoseconds: 0)
        var given = 0
        for sequence in 2...2_000 as ClosedRange<UInt16> {
            given += window.add(packet(sequence), arrivalNanoseconds: 0).count
        }
        #expect(given == 1_999)
    }

    @Test func `one stray packet is dropped, two consecutive ones are a restart`() {
        var window = PacketWindow(waitNanoseconds: 0)
        _ = window.add(packet(10), arrivalNanoseconds: 0)
        #expect(window.add(packet(30_000), arrivalNanoseconds: 1).isEmpty)
        #expect(window.add(packet(11), arrivalNanoseconds: 2).map(\.loss) == [nil])
        #expect(window.add(packet(40_000), arrivalNanoseconds: 3).isEmpty)
        let new = window.add(packet(40_001), arrivalNanoseconds: 4)
        #expect(numbers(new) == [40_000, 40_001])
        #expect(new.map(\.loss) == [.restart, nil])
    }

    @Test func `packets between stray ones are not a restart`() {
        var window = PacketWindow(waitNanoseconds: 0)
        for number in 0..<20 as Range<UInt16> {
            let own = window.add(packet(10 + number), arrivalNanoseconds: Int64(number))
            #expect(own.map(\.loss) == [nil])
            let stray = packet(30_000 + number, source: 2)
            #expect(window.add(stray, arrivalNanoseconds: Int64(number)).isEmpty)
        }
    }

    @Test(arguments: [1, 300, 1_000] as [UInt16])
    func `over TCP lower numbers with newer timestamps are a restart`(last: UInt16) {
        var window = PacketWindow(waitNanoseconds: 0)
        for number in 0...last {
            _ = window.add(
                packet(number, at: UInt32(number)), arrivalNanoseconds: Int64(number))
        }
        var given: [PacketWindow.Ordered] = []
        for number in 0..<5 as Range<UInt16> {
            let time = UInt32(last) + 1 + UInt32(number)
            given += window.add(packet(number, at: time), arrivalNanoseconds: Int64(time))
        }
        #expect(numbers(given) == [0, 1, 2, 3, 4])
        #expect(given.map(\.loss) == [.restart, nil, nil, nil, nil])
        #expect(given.map(\.arrivalNanoseconds) == given.map { Int64($0.packet.timestamp) })
        #expect(window.unused == 0)
    }

    @Test(arguments: [0, 100] as [Int64])
    func `numbers and timestamps that both restart are a restart`(wait: Int64) {
        var window = PacketWindow(waitNanoseconds: wait)
        for number in 0..<500 as Range<UInt16> {
            _ = window.add(packet(number, at: UInt32(number)), arrivalNanoseconds: Int64(number))
        }
        var given: [PacketWindow.Ordered] = []
        for number in 0..<100 as Range<UInt16> {
            given += window.add(
                packet(number, at: UInt32(number)), arrivalNanoseconds: 500 + Int64(number))
        }
        #expect(numbers(given) == Array(0..<100))
        #expect(given.first?.loss == .restart)
    }

    @Test(arguments: [0, 100] as [Int64])
    func `repeated and late packets are not a restart`(wait: Int64) {
        var window = PacketWindow(waitNanoseconds: wait)
        var given: [PacketWindow.Ordered] = []
        for number in [0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 9] as [UInt16] {
            given += window.add(packet(number, at: UInt32(number)), arrivalNanoseconds: 0)
        }
        #expect(numbers(given) == Array(0..<10))
        #expect(given.allSatisfy { $0.loss == nil })
        #expect(window.unused == 7)
    }

    @Test func `over UDP lower numbers with newer timestamps are a restart, in any order`() {
        var window = PacketWindow(waitNanoseconds: 100)
        for number in 0...300 as ClosedRange<UInt16> {
            _ = window.add(packet(number, at: UInt32(number)), arrivalNanoseconds: Int64(number))
        }
        var given: [PacketWindow.Ordered] = []
        // Two pictures of two packets each, then others.
        for (number, picture) in [(1, 0), (0, 0), (3, 1), (2, 1), (4, 2), (6, 3), (5, 3)] {
            given += window.add(
                packet(UInt16(number), at: 301 + UInt32(picture)), arrivalNanoseconds: 400)
        }
        #expect(numbers(given) == Array(0...6))
        #expect(given.map(\.loss) == [.restart] + [PacketLoss?](repeating: nil, count: 6))
    }

    @Test func `over UDP late packets of reordered pictures are not a restart`() {
        var window = PacketWindow(waitNanoseconds: 100)
        // An I picture and the B pictures after the lost P picture.
        _ = window.add(packet(0, at: 0), arrivalNanoseconds: 0)
        _ = window.add(packet(4, at: 1), arrivalNanoseconds: 10)
        #expect(numbers(window.next(now: 110)) == [4])
        for number in 1...3 as ClosedRange<UInt16> {
            #expect(window.add(packet(number, at: 3), arrivalNanoseconds: 120).isEmpty)
        }
        #expect(window.add(packet(5, at: 2), arrivalNanoseconds: 130).map(\.loss) == [nil])
        #expect(window.unused == 3)
    }

    @Test func `a new SSRC restarts the numbering`() {
        var window = PacketWindow(waitNanoseconds: 0)
        _ = window.add(packet(10), arrivalNanoseconds: 0)
        #expect(window.add(packet(500, source: 2), arrivalNanoseconds: 1).isEmpty)
        let new = window.add(packet(501, source: 2), arrivalNanoseconds: 2)
        #expect(numbers(new) == [500, 501])
        #expect(new.map(\.loss) == [.restart, nil])
    }

    @Test func `single packets of other sources are ignored`() {
        var window = PacketWindow(waitNanoseconds: 0)
        _ = window.add(packet(10), arrivalNanoseconds: 0)
        // Numbers that would follow, of another source each.
        #expect(window.add(packet(11, source: 2), arrivalNanoseconds: 1).isEmpty)
        #expect(window.add(packet(12, source: 3), arrivalNanoseconds: 1).isEmpty)
        #expect(window.add(packet(11), arrivalNanoseconds: 2).map(\.loss) == [nil])
        #expect(window.unused == 2)
    }
}
