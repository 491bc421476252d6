/// Repacks a container's packets of a ``VideoCodec`` into one packet per picture: slices, fields and SEI messages in packets
/// of their own are joined, pictures that share a packet are divided (``AccessUnitAssembler``).
///
/// A picture is complete when the next one begins. Access points are determined from the bitstream, not from the
/// container's flags (``CodedPicture``). `Packet` is the caller's type; its bytes must not move while it is held.
package struct PictureAssembler<Packet> {
    /// One picture.
    package struct Picture {
        /// The packet with its first slice, which determines the picture's times.
        package var packet: Packet
        /// All packets with parts of it, in order.
        package var parts: [Packet]
        /// Its bytes, framed as the packets are; nil: exactly those of the packet.
        package var bytes: [UInt8]?
        /// The index of the picture among those that begin in that packet, and their number.
        package var place: (index: Int, count: Int)
        package var isSync: Bool
        /// Why the packet cannot be divided into NAL units; nil if it can.
        package var damage: BitstreamError?
    }

    private struct Held {
        var packet: Packet
        var bytes: UnsafeRawBufferPointer
        var nalUnits: Int
        /// Pictures that begin in it, and how many of these are complete.
        var pictures = 0
        var complete = 0
    }

    /// Bytes of a start code or a length.
    private static var longestPrefix: Int { 4 }

    private let codec: VideoCodec
    private var assembler: AccessUnitAssembler
    private var framing: NALUnitFraming
    /// Packets that are still needed, by number.
    private var held: [Int: Held] = [:]
    private var count = 0

    /// Nil for an invalid configuration: the decoder or copier of the track reports that.
    /// - Parameter configuration: a record, or parameter sets in Annex B; may be empty.
    package init?(_ codec: VideoCodec, configuration: [UInt8]) {
        self.codec = codec
        do throws(BitstreamError) {
            framing = try NALUnitFraming(codec, configuration: configuration)
            assembler = AccessUnitAssembler(
                codec, parameterSets: try Self.sets(configuration, codec))
        } catch {
            return nil
        }
    }

    /// Adds the next packet; returns the pictures that are complete.
    ///
    /// A packet that cannot be divided into NAL units is passed on unchanged, after earlier ones. Its decoder or copier
    /// handles the damage.
    /// - Parameter newConfiguration: the container's new configuration from this packet on, if it changes.
    package mutating func add(
        _ packet: Packet, _ bytes: UnsafeRawBufferPointer, newConfiguration: [UInt8]? = nil
    ) -> [Picture] {
        let number = count
        count += 1
        var complete: [Picture] = []
        do throws(BitstreamError) {
            if let newConfiguration, !newConfiguration.isEmpty {
                complete = finish()
                framing = try NALUnitFraming(codec, configuration: newConfiguration)
                assembler.configure(try Self.sets(newConfiguration, codec))
            }
            return complete + (try take(packet, number, bytes))
        } catch {
            held[number] = nil
            return complete + finish()
                + [
                    Picture(
                        packet: packet, parts: [packet], bytes: nil, place: (0, 1), isSync: false,
                        damage: error)
                ]
        }
    }

    /// No packet follows: the last picture.
    package mutating func finish() -> [Picture] {
        let last = assembler.finish().map { [picture($0)] } ?? []
        held = [:]
        return last
    }

    /// The configuration's parameter sets; none if it lacks some, which the stream has then.
    private static func sets(
        _ configuration: [UInt8], _ codec: VideoCodec
    ) throws(BitstreamError) -> [[UInt8]] {
        guard !configuration.isEmpty else { return [] }
        if configuration.first == 1 {
            let record = try codec.coding.configuration(parsing: configuration)
            if !record.isComplete(codec) { return [] }
        }
        return try VideoFormat(codec, extradata: configuration).parameterSets
    }

    private mutating func take(
        _ packet: Packet, _ number: Int, _ bytes: UnsafeRawBufferPointer
    ) throws(BitstreamError) -> [Picture] {
        let span = bytes.bindMemory(to: UInt8.self).span
        let nalUnits = try framing.units(in: span)
        held[number] = Held(packet: packet, bytes: bytes, nalUnits: nalUnits.count)
        let units = try assembler.add(packet: number, span, nalUnits)
        held[number]?.pictures =
            units.count { $0.pictureIn == number } + (assembler.pictureIn == number ? 1 : 0)
        let complete = units.map { picture($0) }
        let oldest = assembler.oldestPacket ?? count
        held = held.filter { $0.key >= oldest }
        return complete
    }

    private mutating func picture(_ unit: AccessUnitAssembler.Unit) -> Picture {
        guard let own = held[unit.pictureIn] else {
            preconditionFailure("a packet is kept until its NAL units have left")
        }
        held[unit.pictureIn]?.complete += 1
        let numbers = Set(unit.positions.map(\.packet)).sorted()
        // Some muxers refuse zeros in front of the first start code (leading_zero_8bits, Annex B).
        let isWhole =
            numbers.count == 1 && unit.positions.count == own.nalUnits
            && unit.positions[0].range.lowerBound <= Self.longestPrefix
        return Picture(
            packet: own.packet, parts: numbers.compactMap { held[$0]?.packet },
            bytes: isWhole ? nil : bytes(of: unit), place: (own.complete, own.pictures),
            isSync: unit.picture.accessPoint == .sync)
    }

    private func bytes(of unit: AccessUnitAssembler.Unit) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(unit.positions.reduce(0) { $0 + $1.range.count + 4 })
        for position in unit.positions {
            guard let packet = held[position.packet] else { continue }
            let span = packet.bytes.bindMemory(to: UInt8.self).span
            framing.append(span.extracting(position.range), to: &bytes)
        }
        return bytes
    }
}
