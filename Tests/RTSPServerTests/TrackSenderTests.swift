import Hashing
import Media
import RTSP
import Testing

@testable import RTSPServer

/// Samples of each kind, and what receives them.
enum ServedMedia {
    static let h264 = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    static let audio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))

    /// Set identifiers are not looked at; the units have the headers that they need.
    static func unit(_ header: [UInt8], _ count: Int, seed: UInt8) -> [UInt8] {
        // No zero is at an end, which a receiver would take for padding.
        header + (header.count..<count).map { UInt8(truncatingIfNeeded: $0) &* 31 &+ seed | 1 }
    }

    static func sample(_ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { unit -> [UInt8] in
            let size = UInt32(unit.count)
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) } + unit
        }
    }

    static func units(of sample: [UInt8]) throws -> [[UInt8]] {
        var cursor = NALUnitCursor()
        var units: [[UInt8]] = []
        while let unit = try cursor.next(in: sample.span) {
            units.append(Array(sample[unit.range]))
        }
        return units
    }

    static func packets(_ batch: PacketBatch, control: Bool = false) -> [[UInt8]] {
        batch.packets.filter { $0.isControl == control }.map { Array(batch.bytes[$0.range]) }
    }
}

@Suite struct TrackSenderTests {
    private static func sender(_ format: TrackFormat, _ random: UInt64 = 0xFFF0_0000_0007) throws
        -> TrackSender
    {
        try #require(
            TrackSender(ServedTrack(index: 0, format: format), random: (random, 0xFFFF_FFF0)))
    }

    /// Samples and holes that a camera's client reads from the packets, in order.
    private static func received(_ batch: PacketBatch, _ codec: VideoCodec) throws
        -> [DepacketizedItem]
    {
        var window = PacketWindow(waitNanoseconds: 0)
        var depacketizer = VideoDepacketizer(codec)
        var items: [DepacketizedItem] = []
        for bytes in ServedMedia.packets(batch) {
            let packet = try RTPPacket(parsing: bytes)
            for ordered in window.add(packet, arrivalNanoseconds: 0) {
                items += depacketizer.add(ordered)
            }
        }
        return items + depacketizer.finishStream()
    }

    @Test(arguments: [5, 1_399, 1_400, 1_401, 2_797, 2_798, 2_799, 2_800, 100_000])
    func `H264 slices of any size arrive unchanged`(size: Int) throws {
        var sender = try Self.sender(ServedMedia.h264)
        var batch = PacketBatch()
        var sent: [[UInt8]] = []
        for (index, header) in [0x65, 0x41, 0x01].enumerated() {
            let unit = ServedMedia.unit([UInt8(header), 0x88], size, seed: UInt8(index))
            sent.append(ServedMedia.sample([unit]))
            try sender.append(
                ServedMedia.sample([unit]), ticks: Int64(index) * 3_600, isKeyframe: false,
                to: &batch)
        }
        let items = try Self.received(batch, .h264)
        let units = items.compactMap { item -> AccessUnit? in
            if case .unit(let unit) = item { unit } else { nil }
        }
        #expect(units.map(\.data) == sent)
        #expect(units.map(\.timestamp) == [0xFFFF_FFF0, 3_584, 7_184])
        #expect(units.count == items.count)
        for packet in ServedMedia.packets(batch) { #expect(packet.count <= 1_412) }
    }

    @Test func `parameter sets precede a keyframe in one packet`() throws {
        guard case .video(let format) = ServedMedia.h264 else { return }
        var sender = try Self.sender(ServedMedia.h264)
        var batch = PacketBatch()
        let slice = ServedMedia.unit([0x65, 0x88], 300, seed: 1)
        let message: [UInt8] = [0x06, 5, 1, 9, 0x80]
        try sender.append(
            ServedMedia.sample([message, slice]), ticks: 0, isKeyframe: true, to: &batch)
        let packets = try ServedMedia.packets(batch).map { try RTPPacket(parsing: $0) }
        #expect(packets.map { $0.payload[0] & 0x1F } == [24, 5])
        #expect(packets.map(\.marker) == [false, true])
        #expect(packets.map(\.sequence) == [0xFFF0, 0xFFF1])
        #expect(packets.map(\.source) == [7, 7])
        guard case .unit(let unit)? = try Self.received(batch, .h264).first else {
            Issue.record("nothing came")
            return
        }
        #expect(
            try ServedMedia.units(of: unit.data) == format.parameterSets + [message, slice])
    }

    @Test(arguments: [5, 1_401, 2_796, 50_000])
    func `H265 units of any size arrive unchanged`(size: Int) throws {
        let writer = H265Writer.self
        let units: [[UInt8]] = [
            [0x40, 0x01, 1, 2], [0x42, 0x01, 3, 5], [0x44, 0x01, 7, 9],
            ServedMedia.unit([0x26, 0x01, 0xAF], size, seed: 3),
            ServedMedia.unit([0x26, 0x01, 0x2F], size, seed: 4),
        ]
        let sample = ServedMedia.sample(units)
        var window = PacketWindow(waitNanoseconds: 0)
        var depacketizer = VideoDepacketizer(.h265)
        var items: [DepacketizedItem] = []
        let parts = try writer.parts(of: sample, maximumBytes: 1_400)
        for (index, part) in parts.enumerated() {
            #expect(part.sizeBytes <= 1_400)
            var payload = part.header
            for piece in part.pieces {
                if part.hasSizes { payload += [UInt8(piece.count >> 8), UInt8(piece.count & 255)] }
                payload += sample[piece]
            }
            let packet = RTPPacket(
                payloadType: 96, marker: index == parts.count - 1, sequence: UInt16(index),
                timestamp: 1, source: 1, payload: payload)
            for ordered in window.add(packet, arrivalNanoseconds: 0) {
                items += depacketizer.add(ordered)
            }
        }
        items += depacketizer.finishStream()
        #expect(parts[0].header == [0x60, 0x01] && parts[0].pieces.count == 3)
        guard case .unit(let unit)? = items.first, items.count == 1 else {
            Issue.record("\(items.count) items")
            return
        }
        #expect(try ServedMedia.units(of: unit.data) == units)
    }

    @Test(arguments: [1, 300, 1_396, 1_397, 2_792, 2_793, 8_191])
    func `AAC packets of any size arrive unchanged`(size: Int) throws {
        guard case .audio(let format) = ServedMedia.audio else { return }
        var sender = try Self.sender(ServedMedia.audio)
        var batch = PacketBatch()
        let sent = [1, 2].map { seed in ServedMedia.unit([], size, seed: seed) }
        for (index, sample) in sent.enumerated() {
            try sender.append(
                sample, ticks: Int64(index) * 1_024, isKeyframe: true, to: &batch)
        }
        var window = PacketWindow(waitNanoseconds: 0)
        var depacketizer = AACDepacketizer(
            AACPayload(format, sizeBits: 13, indexBits: 3, indexDeltaBits: 3), clockRate: 48_000)
        var units: [AccessUnit] = []
        for bytes in ServedMedia.packets(batch) {
            for ordered in window.add(try RTPPacket(parsing: bytes), arrivalNanoseconds: 0) {
                for item in depacketizer.add(ordered) {
                    guard case .unit(let unit) = item else {
                        Issue.record("\(item)")
                        continue
                    }
                    units.append(unit)
                }
            }
        }
        #expect(units.map(\.data) == sent)
        #expect(units.map(\.timestamp) == [0xFFFF_FFF0, 1_008])
    }

    @Test func `an AAC packet above the size limit is dropped`() throws {
        var sender = try Self.sender(ServedMedia.audio)
        var batch = PacketBatch()
        try sender.append([], ticks: 0, isKeyframe: true, to: &batch)
        try sender.append(
            [UInt8](repeating: 1, count: 8_192), ticks: 0, isKeyframe: true, to: &batch)
        #expect(batch.isEmpty)
    }

    @Test func `a report maps a session time to UTC`() throws {
        let sender = try Self.sender(ServedMedia.h264)
        var batch = PacketBatch()
        // 2026-11-20T22:40:00.25Z
        sender.report(ticks: 22_500, utcNanoseconds: 1_795_214_400_250_000_000, to: &batch)
        let bytes = ServedMedia.packets(batch, control: true)[0]
        #expect(bytes.count % 4 == 0)
        #expect(
            RTCPPacket.packets(in: bytes) == [
                .senderReport(
                    SenderReport(
                        source: 7, ntp: (1_795_214_400 + 2_208_988_800) << 32 | 0x4000_0000,
                        timestamp: 22_484))
            ])
        batch = PacketBatch()
        sender.goodbye(ticks: 0, utcNanoseconds: 0, to: &batch)
        let last = ServedMedia.packets(batch, control: true).flatMap { $0 }
        #expect(RTCPPacket.packets(in: last).last == .goodbye([7]))
    }

    @Test func `times before 1970 and after 2036 have their fraction`() {
        #expect(NTPTime(utcNanoseconds: -500_000_000).seconds == 2_208_988_799)
        #expect(NTPTime(utcNanoseconds: -500_000_000).fraction == 1 << 31)
        let later = NTPTime(utcNanoseconds: (4_294_967_296 - 2_208_988_800) * 1_000_000_000)
        #expect(later.seconds == 0 && later.fraction == 0)
    }

    @Test func `a loss skips a sequence number`() throws {
        var sender = try Self.sender(ServedMedia.h264)
        var batch = PacketBatch()
        let picture = ServedMedia.sample([[0x65, 0x88, 1]])
        try sender.append(picture, ticks: 0, isKeyframe: false, to: &batch)
        sender.noteLoss()
        try sender.append(picture, ticks: 9, isKeyframe: false, to: &batch)
        let holes = try Self.received(batch, .h264).compactMap { item -> StreamHole? in
            if case .hole(let hole) = item { hole } else { nil }
        }
        #expect(holes.map(\.missingPackets) == [1])
    }

    @Test func `another codec needs a new description, other parameter sets do not`() throws {
        guard case .video(var other) = ServedMedia.h264 else { return }
        var sender = try Self.sender(ServedMedia.h264)
        other.parameterSets[1] = [0x68, 0xCE, 0x06, 0xE3]
        let follows = sender.follow(.video(other))
        let takesSound = sender.follow(ServedMedia.audio)
        #expect(follows && !takesSound)
        var sound = try Self.sender(ServedMedia.audio)
        let goesOn = sound.follow(ServedMedia.audio)
        let takesOther = sound.follow(
            .audio(.aac(configuration: [0x12, 0x10], sampleRate: 44_100, channels: 2)))
        #expect(goesOn && !takesOther)
    }

    @Test func `other channels, and tracks that were not set up`() throws {
        var batch = PacketBatch()
        for (index, format) in [ServedMedia.h264, ServedMedia.audio].enumerated() {
            var sender = try #require(
                TrackSender(ServedTrack(index: index, format: format), random: (1, 1)))
            try sender.append(
                index == 0 ? ServedMedia.sample([[0x41, 0x9A, 1]]) : [1, 2, 3], ticks: 0,
                isKeyframe: false, to: &batch)
        }
        let usual: [Int: ClientTransport] = [
            0: .interleaved(rtp: 0, rtcp: 1), 1: .interleaved(rtp: 2, rtcp: 3),
        ]
        #expect(batch.isUsual(usual))
        #expect(batch.interleaved(usual) == batch.bytes)
        let sound: [Int: ClientTransport] = [1: .interleaved(rtp: 8, rtcp: 9)]
        #expect(!batch.isUsual(sound))
        let packet = batch.bytes[batch.packets[1].range]
        #expect(batch.interleaved(sound) == [0x24, 8, 0, UInt8(packet.count)] + packet)
    }
}
