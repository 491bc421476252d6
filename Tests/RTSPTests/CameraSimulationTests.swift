import Testing

@testable import RTSP

/// Cameras whose packets are lost, doubled, reordered and cut anywhere, from a seed. Every delivered unit was sent, and
/// every missing one is reported.
@Suite struct CameraSimulationTests {
    private static let interval: Int64 = 40_000_000

    /// A picture, and the numbers of its packets.
    private struct Picture {
        var units: [UInt8]
        var packets: Range<Int>
    }

    private struct Run {
        var pictures: [Picture] = []
        var packets: [RTPPacket] = []
        var lost: Set<Int> = []
        var given: [AccessUnit] = []
        var holes: [StreamHole] = []

        init(seed: UInt64, losing percent: UInt64) {
            var random = Numbers(state: seed)
            let first = UInt16(truncatingIfNeeded: random.next())
            let start = UInt32(truncatingIfNeeded: random.next())
            for number in 0..<200 {
                let size = Int(random.next() % 40) + 4
                let header: UInt8 = number % 25 == 0 ? 0x65 : 0x41
                // No byte is zero, so that nothing looks like a start code or padding.
                let unit = [header, 0x88] + (0..<size).map { _ in UInt8(random.next() % 255) + 1 }
                let begin = packets.count
                let parts = random.next() % 2 == 0 ? [unit] : Self.fragments(unit)
                for (index, part) in parts.enumerated() {
                    packets.append(
                        RTPPacket(
                            payloadType: 96, marker: index == parts.count - 1,
                            sequence: first &+ UInt16(packets.count),
                            timestamp: start &+ UInt32(number) * 3_600, source: 9, payload: part))
                }
                pictures.append(
                    Picture(
                        units: bigEndian(UInt32(unit.count)) + unit, packets: begin..<packets.count)
                )
            }
            lost = Set(packets.indices.filter { _ in random.next() % 100 < percent })
        }

        private static func fragments(_ unit: [UInt8]) -> [[UInt8]] {
            let content = Array(unit.dropFirst())
            let middle = content.count / 2
            return [
                [unit[0] & 0xE0 | 28, 0x80 | unit[0] & 0x1F] + content[..<middle],
                [unit[0] & 0xE0 | 28, 0x40 | unit[0] & 0x1F] + content[middle...],
            ]
        }

        mutating func take(_ outputs: [CameraSession.Output]) {
            for case .items(_, let items) in outputs {
                for item in items {
                    switch item {
                    case .unit(let unit): given.append(unit)
                    case .hole(let hole): holes.append(hole)
                    }
                }
            }
        }

        func check(_ seed: UInt64) {
            let came = packets.indices.filter { !lost.contains($0) }
            guard let first = came.first, let last = came.last else { return }
            let missing = lost.count { $0 > first && $0 < last }
            #expect(holes.map(\.missingPackets).reduce(0, +) == missing, "seed \(seed)")
            let whole = pictures.filter { $0.packets.allSatisfy { !lost.contains($0) } }
            // Pictures whose end nothing shows are not given; none is given that is not whole.
            let sent = whole.map(\.units)
            var rest = sent[...]
            for unit in given {
                guard let place = rest.firstIndex(of: unit.data) else {
                    Issue.record("seed \(seed): a picture that was not sent whole")
                    return
                }
                rest = rest[(place + 1)...]
            }
            // Before the marker is believed, a loss right behind a picture takes that picture, too.
            #expect(sent.count - given.count <= 2 * holes.count + 1, "seed \(seed)")
            if lost.isEmpty { #expect(given.count >= sent.count - 1, "seed \(seed)") }
        }
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `over TCP, with bytes in any pieces`(seed: UInt64) throws {
        var run = Run(seed: seed, losing: seed % 4)
        var random = Numbers(state: seed ^ 0xABCD)
        var camera = try ScriptedCamera()
        camera.open()
        var stream: [UInt8] = []
        for index in run.packets.indices where !run.lost.contains(index) {
            let bytes = run.packets[index].bytes
            stream += [0x24, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
        }
        var place = 0
        while place < stream.count {
            let end = min(stream.count, place + Int(random.next() % 700) + 1)
            camera.session.received(stream[place..<end], arrivalNanoseconds: Int64(place))
            run.take(camera.session.takeOutputs())
            place = end
        }
        camera.session.disconnected("over")
        run.take(camera.session.takeOutputs())
        run.check(seed)
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `over UDP, with packets doubled and overtaken`(seed: UInt64) throws {
        var run = Run(seed: seed, losing: seed % 4)
        var random = Numbers(state: seed ^ 0x1234)
        var camera = try ScriptedCamera(transport: .udp)
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0, port: 6_000)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP;unicast;server_port=7000-7001"])
        camera.session.play(now: 0)
        camera.collect()
        camera.answer()
        var way: [(at: Int64, index: Int)] = []
        for index in run.packets.indices where !run.lost.contains(index) {
            let sent = Int64(index) * 2_000_000
            way.append((sent + Int64(random.next() % 50) * 1_000_000, index))
            if random.next() % 20 == 0 { way.append((sent + 60_000_000, index)) }
        }
        // The first packet tells where the count begins.
        way = way.map { $0.index == way[0].index ? (0, $0.index) : ($0.at + 1, $0.index) }
        for packet in way.sorted(by: { $0 < $1 }) {
            camera.session.tick(now: packet.at)
            camera.session.receivedDatagram(
                run.packets[packet.index].bytes, track: 0, isControl: false,
                arrivalNanoseconds: packet.at)
            run.take(camera.session.takeOutputs())
        }
        camera.session.disconnected("over")
        run.take(camera.session.takeOutputs())
        run.check(seed)
    }
}
