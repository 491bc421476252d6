import Testing

@testable import RTSP

/// Packets of another payload type among those of a track.
@Suite struct TrackReceiverTests {
    private static let tracks = [
        "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000", "m=audio 0 RTP/AVP 0",
    ]

    /// Lost packets that are reported for packets with these sequence numbers; negative ones have another payload type.
    private func lost(_ numbers: [Int], of track: String) throws -> [PacketLoss] {
        let media = try SessionDescription(parsing: Array(track.utf8)).media[0]
        let description = try CameraTrackDescription(media)
        var receiver = TrackReceiver(description, waitNanoseconds: 0)
        var items: [DepacketizedItem] = []
        for number in numbers {
            let own = number.magnitude
            let packet = RTPPacket(
                payloadType: number < 0 ? 100 : description.payloadType, marker: true,
                sequence: UInt16(own), timestamp: UInt32(own) * 3_600, source: 1,
                payload: [0x41, 0x9A, 1, 2])
            items +=
                receiver.receive(packet.bytes, arrivalNanoseconds: Int64(own) * 40_000_000) ?? []
        }
        items += receiver.finish()
        return items.compactMap { item in
            guard case .hole(let hole) = item, case .lost(let loss) = hole.cause else { return nil }
            return loss
        }
    }

    @Test(arguments: tracks)
    func `packets lost before one of another payload type are reported`(track: String) throws {
        #expect(try lost([1, 2, -4, 5, 6], of: track) == [.packets(first: 3, count: 1)])
        #expect(try lost([1, 2, -3, 4], of: track) == [])
    }

    @Test(arguments: tracks)
    func `losses around packets of another payload type are joined`(track: String) throws {
        #expect(try lost([1, 2, -4, -7, 10, 11], of: track) == [.packets(first: 3, count: 5)])
    }

    @Test(arguments: tracks)
    func `a restart before a packet of another payload type is a restart`(track: String) throws {
        #expect(try lost([1, 2, -20_001, -20_002, 20_004], of: track) == [.restart])
    }

    @Test(arguments: tracks, [true, false])
    func `packets of another payload type and source take no part`(
        track: String, isFirst: Bool
    ) throws {
        let media = try SessionDescription(parsing: Array(track.utf8)).media[0]
        let description = try CameraTrackDescription(media)
        var receiver = TrackReceiver(description, waitNanoseconds: 0)
        var items: [DepacketizedItem] = []
        func send(_ number: UInt16, type: UInt8, source: UInt32) {
            let packet = RTPPacket(
                payloadType: type, marker: true, sequence: number,
                timestamp: UInt32(number) * 3_600, source: source, payload: [0x41, 0x9A, 1, 2])
            items += receiver.receive(packet.bytes, arrivalNanoseconds: Int64(number)) ?? []
        }
        // Two in a row, with numbers that follow each other.
        for number in 0..<40 as Range<UInt16> {
            if isFirst { send(1_000 + number, type: 107, source: 99) }
            send(number, type: description.payloadType, source: 1)
            if number % 2 == 1 {
                for index in 0..<2 as Range<UInt16> {
                    send(2 * number + index, type: 107, source: 99)
                }
            }
        }
        items += receiver.finish()
        #expect(items.allSatisfy { if case .unit = $0 { true } else { false } })
        #expect(items.count == 40)
        #expect(receiver.source == 1)
    }

    @Test func `after a restart the count of lost packets begins at zero`() throws {
        let media = try SessionDescription(parsing: Array(Self.tracks[0].utf8)).media[0]
        let description = try CameraTrackDescription(media)
        var receiver = TrackReceiver(description, waitNanoseconds: 0)
        for (time, number) in (Array(0..<300) + Array(0..<10)).enumerated() {
            let packet = RTPPacket(
                payloadType: description.payloadType, marker: true, sequence: UInt16(number),
                timestamp: UInt32(time) * 3_600, source: 1, payload: [0x41, 0x9A, 1, 2])
            _ = receiver.receive(packet.bytes, arrivalNanoseconds: Int64(time))
        }
        let report = receiver.report(from: 2, name: "", now: 310)
        // Fraction and number of lost packets, highest sequence number.
        #expect(Array(report[12..<20]) == [0, 0, 0, 0, 0, 1, 0, 9])
    }

    @Test(arguments: tracks)
    func `a loss that only packets of another payload type follow is reported at the end`(
        track: String
    ) throws {
        #expect(try lost([1, 2, -5, -6], of: track) == [.packets(first: 3, count: 2)])
    }
}
