import Media
import Testing

@testable import RTSP

@Suite struct LATMDepacketizerTests {
    private typealias Packet = (
        sequence: UInt16, timestamp: UInt32, marker: Bool, bytes: [UInt8]
    )

    private func items(
        _ packets: [Packet], config: String = "400023203fc0"
    ) throws -> [DepacketizedItem] {
        var own = LATMDepacketizer(
            try LATMPayload(["cpresent": "0", "config": config]), clockRate: 48_000)
        var window = PacketWindow(waitNanoseconds: 0)
        return packets.flatMap { packet in
            window.add(
                RTPPacket(
                    payloadType: 97, marker: packet.marker, sequence: packet.sequence,
                    timestamp: packet.timestamp, source: 1, payload: packet.bytes),
                arrivalNanoseconds: 0
            ).flatMap { own.add($0) }
        }
    }

    private func units(_ items: [DepacketizedItem]) -> [AccessUnit] {
        items.compactMap { if case .unit(let unit) = $0 { unit } else { nil } }
    }

    private func holes(_ items: [DepacketizedItem]) -> [StreamHole] {
        items.compactMap { if case .hole(let hole) = $0 { hole } else { nil } }
    }

    @Test func `an element in one packet is one access unit`() throws {
        let own = try items([(0, 7, true, [3, 1, 2, 3]), (1, 1_031, true, [1, 9])])
        #expect(units(own).map(\.data) == [[1, 2, 3], [9]])
        #expect(units(own).map(\.timestamp) == [7, 1_031])
        #expect(holes(own).isEmpty)
    }

    @Test func `a length over 254 continues in the next byte`() throws {
        let long = [UInt8](repeating: 5, count: 255)
        let own = try items([(0, 0, true, [255, 0] + long)])
        #expect(units(own).map(\.data) == [long])
    }

    @Test func `an element in several packets is reassembled`() throws {
        let own = try items([(0, 7, false, [5, 1, 2]), (1, 7, true, [3, 4, 5])])
        #expect(units(own).map(\.data) == [[1, 2, 3, 4, 5]])
        #expect(units(own).first?.lastNumber == 65_537)
    }

    @Test func `without a marker, an element ends when the timestamp changes`() throws {
        let own = try items([
            (0, 7, false, [2, 1, 2]), (1, 1_031, false, [1, 9]), (2, 2_055, true, [1, 8]),
        ])
        #expect(units(own).map(\.data) == [[1, 2], [9], [8]])
    }

    @Test func `each subframe has its own timestamp`() throws {
        // Two packets of AAC in an element.
        let own = try items([(0, 100, true, [1, 5, 2, 6, 7])], config: "410023203fc0")
        #expect(units(own).map(\.data) == [[5], [6, 7]])
        #expect(units(own).map(\.timestamp) == [100, 1_124])
    }

    @Test func `an incomplete element is dropped, and the next one is output`() throws {
        let own = try items([
            (0, 7, false, [5, 1, 2]), (2, 7, true, [9, 9]), (3, 1_031, true, [1, 9]),
        ])
        #expect(units(own).map(\.data) == [[9]])
        #expect(holes(own).map(\.missingPackets) == [1])
        #expect(holes(own).map(\.droppedUnits) == [1])
    }

    @Test func `a complete element after a loss is output`() throws {
        let own = try items([(0, 7, true, [1, 1]), (3, 3_079, true, [2, 8, 9])])
        #expect(units(own).map(\.data) == [[1], [8, 9]])
        #expect(holes(own).map(\.missingPackets) == [2])
    }

    @Test(arguments: [[], [9, 1], [0], [255], [255, 255, 1]] as [[UInt8]])
    func `lengths that do not match the bytes are a hole`(bytes: [UInt8]) throws {
        let own = try items([(0, 0, true, bytes), (1, 1_024, true, [1, 9])])
        #expect(units(own).map(\.data) == [[9]])
        #expect(holes(own).count == 1 && holes(own).allSatisfy(\.isHarmless))
    }

    @Test func `an element without end is dropped`() throws {
        let piece = [UInt8](repeating: 255, count: 65_000)
        let own = try items((0..<70).map { (UInt16($0), 0, false, piece) })
        #expect(units(own).isEmpty)
        #expect(holes(own).count == 1)
    }
}

@Suite struct SoundDepacketizerTests {
    private func items(
        _ line: String, _ packets: [(sequence: UInt16, bytes: [UInt8])]
    ) throws -> [DepacketizedItem] {
        let media = try SessionDescription(parsing: Array(line.utf8)).media[0]
        let own = SoundDepacketizer(try #require(try ForeignSound(media)))
        var window = PacketWindow(waitNanoseconds: 0)
        return packets.flatMap { packet in
            window.add(
                RTPPacket(
                    payloadType: 0, marker: false, sequence: packet.sequence,
                    timestamp: 160 * UInt32(packet.sequence), source: 1, payload: packet.bytes),
                arrivalNanoseconds: 0
            ).flatMap { own.add($0) }
        }
    }

    @Test func `each packet is a unit, and a missing one a hole`() throws {
        let own = try items("m=audio 0 RTP/AVP 0", [(4, [1, 2]), (6, [3])])
        guard own.count == 3, case .unit(let first) = own[0], case .hole(let hole) = own[1],
            case .unit(let last) = own[2]
        else {
            Issue.record("\(own)")
            return
        }
        #expect(first.data == [1, 2] && first.timestamp == 640)
        #expect(hole.missingPackets == 1 && hole.isHarmless)
        #expect(last.data == [3] && last.timestamp == 960)
    }

    @Test func `half a sample is a hole, and an empty packet is ignored`() throws {
        let line = "m=audio 0 RTP/AVP 97\na=rtpmap:97 L16/16000/2"
        let own = try items(line, [(0, [1, 2, 3]), (1, []), (2, [1, 2, 3, 4])])
        guard own.count == 2, case .hole(let hole) = own[0], case .unit(let unit) = own[1] else {
            Issue.record("\(own)")
            return
        }
        #expect(hole.cause == .malformed("3 bytes are no whole samples of L16"))
        #expect(unit.data == [1, 2, 3, 4])
    }
}
