import Files

/// Finds packets of a transport stream that are sent twice in a row, which is allowed.
///
/// Source: ISO/IEC 13818-1, §2.4.3.3: the copy is the same in all bytes but its clock reference.
struct RepeatedPackets {
    private static let nullStream = 0x1fff
    private static let packetBytes = TransportStreamLosses.packetBytes

    private let descriptor: Int32
    /// Counter and position of the last packet of each stream; −1: none.
    private var counters = [Int8](repeating: -1, count: nullStream + 1)
    private var positions = [Int64](repeating: -1, count: nullStream + 1)

    /// - Parameter descriptor: the open file, which the caller keeps open.
    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Adds the next packet.
    /// - Parameters:
    ///   - packet: 188 bytes.
    ///   - position: where it begins in the file.
    /// - Returns: whether it repeats the last one of its stream.
    mutating func add(_ packet: Span<UInt8>, at position: Int64) -> Bool {
        let stream = Int(packet[1] & 0x1f) << 8 | Int(packet[2])
        // The counter stands still without payload.
        guard stream != Self.nullStream, packet[3] & 0x10 != 0 else { return false }
        let counter = Int8(packet[3] & 15)
        let last = counters[stream] == counter ? positions[stream] : -1
        counters[stream] = counter
        positions[stream] = position
        guard last >= 0, packet[1] & 0x80 == 0,
            let other = Descriptor.read(descriptor, at: last, count: Self.packetBytes),
            other.count == Self.packetBytes
        else { return false }
        let hasClock = packet[3] & 0x20 != 0 && packet[4] >= 7 && packet[5] & 0x10 != 0
        return (0..<Self.packetBytes).allSatisfy {
            packet[$0] == other[$0] || hasClock && (6..<12).contains($0)
        }
    }
}

/// Replaces the second copy of packets that a transport stream sends twice with null packets: libavformat would regard it
/// as damage.
struct RepeatFilter {
    /// Bytes before the start of a read that show what it repeats, after a jump.
    private static let overlap: Int64 = 1 << 16

    private let descriptor: Int32
    private let first: Int64
    private let layout: TransportStreamLosses.Layout
    private var repeats: RepeatedPackets
    /// The next byte to examine.
    private var next: Int64 = -1

    /// - Parameter descriptor: the open file, which the caller keeps open.
    /// - Returns: nil if the file has no recognisable packets.
    init?(descriptor: Int32) {
        guard let (first, layout) = TransportStreamLosses.layout(ofFile: descriptor) else {
            return nil
        }
        self.descriptor = descriptor
        self.first = Int64(first)
        self.layout = layout
        repeats = RepeatedPackets(descriptor: descriptor)
    }

    /// Filters bytes of the file from `place` on.
    /// - Returns: how many of them are complete; the next read continues there.
    mutating func filter(_ bytes: UnsafeMutableBufferPointer<UInt8>, at place: Int64) -> Int {
        if place != next {
            repeats = RepeatedPackets(descriptor: descriptor)
            let start = max(0, place - Self.overlap)
            if var before = Descriptor.read(descriptor, at: start, count: Int(place - start)) {
                before.withUnsafeMutableBufferPointer { _ = examine($0, at: start) }
            }
        }
        let complete = examine(bytes, at: place)
        next = place + Int64(complete)
        return complete
    }

    private mutating func examine(
        _ bytes: UnsafeMutableBufferPointer<UInt8>, at place: Int64
    ) -> Int {
        // The first packet that begins here.
        let stride = Int64(layout.stride)
        let phase = (first - place) % stride
        var index = place < first ? Int(first - place) : Int(phase < 0 ? phase + stride : phase)
        while index + layout.prefix + TransportStreamLosses.packetBytes <= bytes.count {
            let start = index + layout.prefix
            guard bytes[start] == ContinuityCounters.syncByte else {
                index += 1
                continue
            }
            let packet = UnsafeBufferPointer(
                rebasing: bytes[start..<start + TransportStreamLosses.packetBytes])
            if repeats.add(packet.span, at: place + Int64(start)) {
                bytes[start + 1] = 0x1f
                bytes[start + 2] = 0xff
            }
            index += layout.stride
        }
        return index > 0 && index <= bytes.count ? index : bytes.count
    }
}
