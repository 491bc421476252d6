import Media
import TestMedia
import Testing

@testable import RTSP

/// Packets of RFC 7798.
@Suite struct H265DepacketizerTests {
    private static let idr = H265Stream.pictures[0] + [1, 2, 3, 4, 5, 6, 7, 8]
    private static let picture = H265Stream.pictures[1] + [9, 9]

    private struct Sender {
        var sequence: UInt16 = 0
        var depacketizer = VideoDepacketizer(.h265)
        var items: [DepacketizedItem] = []
        var window = PacketWindow(waitNanoseconds: 0)

        mutating func send(_ payload: [UInt8], at timestamp: UInt32, marker: Bool = false) {
            let packet = RTPPacket(
                payloadType: 96, marker: marker, sequence: sequence, timestamp: timestamp,
                source: 1, payload: payload)
            sequence &+= 1
            for ordered in window.add(packet, arrivalNanoseconds: Int64(timestamp)) {
                items += depacketizer.add(ordered)
            }
        }

        mutating func finish() { items += depacketizer.finishStream() }

        var units: [[UInt8]] {
            items.compactMap { if case .unit(let unit) = $0 { unit.data } else { nil } }
        }

        var holes: [StreamHole] {
            items.compactMap { if case .hole(let hole) = $0 { hole } else { nil } }
        }
    }

    private static func aggregate(_ units: [[UInt8]]) -> [UInt8] {
        var payload: [UInt8] = [48 << 1, 1]
        for unit in units { payload += [0, UInt8(unit.count)] + unit }
        return payload
    }

    private static func fragments(_ unit: [UInt8], of size: Int) -> [[UInt8]] {
        let content = Array(unit.dropFirst(2))
        return stride(from: 0, to: content.count, by: size).map { start in
            let end = min(start + size, content.count)
            let flags: UInt8 = (start == 0 ? 0x80 : 0) | (end == content.count ? 0x40 : 0)
            return [49 << 1, unit[1], flags | unit[0] >> 1] + content[start..<end]
        }
    }

    @Test func `single units, aggregates and fragments become the units that were sent`() {
        var own = Sender()
        own.send(Self.aggregate(H265Stream.sets), at: 0)
        for fragment in Self.fragments(Self.idr, of: 5) { own.send(fragment, at: 0) }
        own.send(Self.picture, at: 3_000, marker: true)
        own.send(H265Stream.pictures[2], at: 6_000, marker: true)
        own.finish()
        #expect(
            own.units == [
                H265Stream.accessUnit(H265Stream.sets + [Self.idr]),
                H265Stream.accessUnit([Self.picture]),
                H265Stream.accessUnit([H265Stream.pictures[2]]),
            ])
        #expect(own.holes.isEmpty)
    }

    @Test func `unmarked pictures with one timestamp are separated, slices are not`() {
        var own = Sender()
        var second = Self.picture
        second[2] &= 0x7F
        let pictures = [[Self.idr], [Self.picture, second], [H265Stream.pictures[2]]]
        for picture in pictures {
            for slice in picture { own.send(slice, at: 0) }
        }
        own.send(Self.picture, at: 3_000)
        #expect(own.units == pictures.map { H265Stream.accessUnit($0) })
        #expect(own.holes.isEmpty)
    }

    @Test func `a picture with a lost fragment is a hole that affects later pictures`() {
        var own = Sender()
        let fragments = Self.fragments(Self.idr, of: 5)
        own.send(fragments[0], at: 0)
        own.sequence += 1
        for fragment in fragments.dropFirst(2) { own.send(fragment, at: 0) }
        own.send(Self.picture, at: 3_000, marker: true)
        own.send(Self.picture, at: 6_000, marker: true)
        #expect(own.units == [H265Stream.accessUnit([Self.picture])])
        #expect(own.holes.count == 1)
        #expect(own.holes.allSatisfy { !$0.isHarmless && $0.droppedUnits == 1 })
    }

    @Test func `a message after the marked last slice is neither a picture nor a loss`() {
        var own = Sender()
        let message: [UInt8] = [40 << 1, 1, 5, 1, 7, 0x80]
        for index in 0..<20 as Range<UInt32> {
            own.send(Self.picture, at: index * 3_000, marker: true)
            own.send(message, at: index * 3_000)
        }
        own.finish()
        #expect(own.units.count == 20)
        #expect(own.holes.isEmpty)
        let whole = H265Stream.accessUnit([Self.picture, message])
        let cut = H265Stream.accessUnit([Self.picture])
        // Before the marker is trusted, the picture is still open.
        #expect(own.units.prefix(8).allSatisfy { $0 == whole })
        #expect(own.units.dropFirst(9).allSatisfy { $0 == cut })
    }

    @Test func `truncated packets are holes, and reserved types are ignored`() {
        var own = Sender()
        own.send([48 << 1, 1, 0], at: 0)
        own.send([49 << 1, 1], at: 3_000)
        own.send([50 << 1, 1, 0, 0], at: 6_000)
        own.send(Self.picture, at: 9_000, marker: true)
        own.finish()
        #expect(own.units == [H265Stream.accessUnit([Self.picture])])
        #expect(own.holes.count == 2)
    }

    @Test func `parameter sets of fmtp are used only if all three kinds are there`() throws {
        func track(_ parameters: String) throws -> CameraTrackDescription.Coding {
            let text =
                "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\na=fmtp:96 \(parameters)\r\n"
            let session = try SessionDescription(parsing: Array(text.utf8))
            return try CameraTrackDescription(session.media[0]).coding
        }
        let sets = [
            "QAEMAf//AWAAAAMAkAAAAwAAAwAekRAJ",
            "QgEBAWAAAAMAkAAAAwAAAwAeoCCBBZZESSTK8BaAgAAAAwCAAAADAoQ=", "RAHBcrQiQA==",
        ]
        let format = try VideoFormat(.h265, parsing: H265Stream.sets)
        #expect(
            try track("sprop-vps=\(sets[0]); sprop-sps=\(sets[1]); sprop-pps=\(sets[2])")
                == .video(.h265, format))
        #expect(try track("sprop-sps=\(sets[1])") == .video(.h265, nil))
        #expect(throws: RTSPError.self) { try track("sprop-max-don-diff=2") }
    }
}
