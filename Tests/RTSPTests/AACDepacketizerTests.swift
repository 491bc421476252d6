import Media
import Testing

@testable import RTSP

@Suite struct AACDepacketizerTests {
    private static let format = AudioFormat.aac(
        configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)

    private func items(
        _ payloads: [(sequence: UInt16, timestamp: UInt32, bytes: [UInt8])],
        clockRate: UInt32 = 48_000
    ) -> [DepacketizedItem] {
        var own = AACDepacketizer(
            AACPayload(Self.format, sizeBits: 13, indexBits: 3, indexDeltaBits: 3),
            clockRate: clockRate)
        var window = PacketWindow(waitNanoseconds: 0)
        return payloads.flatMap { payload in
            window.add(
                RTPPacket(
                    payloadType: 97, marker: true, sequence: payload.sequence,
                    timestamp: payload.timestamp, source: 1, payload: payload.bytes),
                arrivalNanoseconds: 0
            ).flatMap { own.add($0) }
        }
    }

    private func units(_ items: [DepacketizedItem]) -> [AccessUnit] {
        items.compactMap { if case .unit(let unit) = $0 { unit } else { nil } }
    }

    private func headers(_ sizes: [Int]) -> [UInt8] {
        let bits = sizes.count * 16
        return [UInt8(bits >> 8), UInt8(bits & 255)]
            + sizes.flatMap { [UInt8($0 >> 5), UInt8($0 << 3 & 255)] }
    }

    @Test func `several access units in one packet are separated, each with its time`() {
        let own = units(items([(0, 1_000, headers([2, 3]) + [1, 2, 3, 4, 5])]))
        #expect(own.map(\.data) == [[1, 2], [3, 4, 5]])
        #expect(own.map(\.timestamp) == [1_000, 2_024])
    }

    @Test func `times step by the RTP clock where it is not the sample rate`() {
        let own = units(items([(0, 0, headers([1, 1]) + [1, 2])], clockRate: 90_000))
        #expect(own.map(\.timestamp) == [0, 1_920])
    }

    @Test func `an access unit in several packets is reassembled`() {
        let own = units(
            items([(0, 7, headers([5]) + [1, 2]), (1, 7, headers([5]) + [3, 4, 5])]))
        #expect(own.map(\.data) == [[1, 2, 3, 4, 5]])
    }

    @Test func `an access unit with a missing fragment is dropped, the next is complete`() {
        let own = items([
            (0, 7, headers([5]) + [1, 2]), (2, 1_031, headers([1]) + [9]),
        ])
        #expect(units(own).map(\.data) == [[9]])
        #expect(own.count == 2)
        guard case .hole(let hole) = own.first else {
            Issue.record("no hole")
            return
        }
        #expect(hole.missingPackets == 1 && hole.droppedUnits == 1 && hole.isHarmless)
    }

    @Test(
        arguments: [
            [0], [255, 255, 1], [0, 16, 0xFF, 0xF8, 1, 2], [0, 16, 0, 0, 1], [0, 0, 1],
            [0, 32, 0, 8, 0, 9, 1, 2],
        ] as [[UInt8]])
    func `a payload that contradicts the format is a hole`(bytes: [UInt8]) {
        let own = items([(0, 0, bytes), (1, 1_024, headers([1]) + [9])])
        #expect(units(own).map(\.data) == [[9]])
    }
}
