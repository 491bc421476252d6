/// A video file with arbitrary packets (Adobe's FLV specification, annex E).
package struct FLVFile {
    /// One packet.
    package struct Packet: Sendable {
        package var milliseconds: UInt32
        /// The container's flag, right or wrong.
        package var isKeyframe: Bool
        package var nalUnits: [[UInt8]]

        package init(at milliseconds: UInt32, isKeyframe: Bool = false, _ nalUnits: [[UInt8]]) {
            self.milliseconds = milliseconds
            self.isKeyframe = isKeyframe
            self.nalUnits = nalUnits
        }

        /// The NAL units behind 4-byte lengths.
        package var bytes: [UInt8] {
            nalUnits.flatMap { Self.bigEndian(UInt32($0.count), 4) + $0 }
        }

        static func bigEndian(_ value: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
        }
    }

    /// An avcC record with these sets (ISO/IEC 14496-15 §5.3.3.1).
    package static func record(_ sequenceSets: [[UInt8]], _ pictureSets: [[UInt8]]) -> [UInt8] {
        func listed(_ sets: [[UInt8]]) -> [UInt8] {
            sets.flatMap { Packet.bigEndian(UInt32($0.count), 2) + $0 }
        }
        return [1] + sequenceSets[0][1...3] + [0xFF, 0xE0 | UInt8(sequenceSets.count)]
            + listed(sequenceSets) + [UInt8(pictureSets.count)] + listed(pictureSets)
    }

    /// The file's bytes.
    package static func bytes(record: [UInt8], _ packets: [Packet]) -> [UInt8] {
        var result: [UInt8] = Array("FLV".utf8) + [1, 1, 0, 0, 0, 9, 0, 0, 0, 0]
        func add(_ milliseconds: UInt32, _ body: [UInt8]) {
            let size = Packet.bigEndian(UInt32(body.count), 3)
            let time = Packet.bigEndian(milliseconds, 3)
            result += [9] + size + time + [UInt8(milliseconds >> 24), 0, 0, 0] + body
            result += Packet.bigEndian(UInt32(11 + body.count), 4)
        }
        add(0, [0x17, 0, 0, 0, 0] + record)
        for packet in packets {
            add(packet.milliseconds, [packet.isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0] + packet.bytes)
        }
        return result
    }
}
