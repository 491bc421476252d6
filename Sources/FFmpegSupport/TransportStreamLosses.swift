import Files
import Glibc
package import Media

/// Positions of lost packets in an MPEG transport stream, from its continuity counters.
///
/// libavformat's parsers discard the demuxer's mark of damaged packets, so the counters are read here. The file is read
/// sequentially, up to the queried position.
///
/// Source: ISO/IEC 13818-1, §2.4.3.2 (packet layer) and §2.4.3.4 (adaptation field).
package struct TransportStreamLosses: ContainerLosses {
    /// Descriptor of the file; a duplicate owned by this value's ``file``.
    private let file: OwnedDescriptor
    private let layout: Layout
    private var counters = ContinuityCounters()
    private var repeats: RepeatedPackets
    /// The next byte to read.
    private var offset: Int64
    private var isAtEnd = false

    /// Packet size, and the number of bytes before each sync byte.
    struct Layout {
        var stride: Int
        var prefix: Int
    }

    static let packetBytes = 188
    private static let blockPackets = 1024
    private static let searchBytes = 64 * 1024

    /// - Parameter descriptor: the open file; duplicated.
    /// - Returns: nil if the file has no recognisable packets.
    package init?(descriptor: Int32) {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { return nil }
        file = OwnedDescriptor(own)
        guard let (first, layout) = Self.layout(ofFile: own) else { return nil }
        self.layout = layout
        repeats = RepeatedPackets(descriptor: own)
        offset = Int64(first)
    }

    package mutating func count(stream: Int, before position: Int64) -> Int {
        // libavformat computes a packet's position as the end of its 188 bytes minus the packet size (188, 192 or 204): up to
        // 16 bytes early; hence the 16 bytes.
        let start = position + 16
        while !isAtEnd, offset <= start { readBlock() }
        return counters.losses(pid: stream, before: start)
    }

    package mutating func total(streams: [Int]) -> Int {
        while !isAtEnd { readBlock() }
        return streams.reduce(0) { $0 + counters.losses(pid: $1, before: .max) }
    }

    package func stream(at position: Int64) -> Int? {
        // libavformat's position is up to 16 bytes early, as in `count(stream:before:)`.
        guard let bytes = Descriptor.read(file.number, at: position, count: 20), bytes.count == 20
        else { return nil }
        let start = (0...16).first {
            bytes[$0] == ContinuityCounters.syncByte && bytes[$0 + 1] & 0x40 != 0
        }
        return start.map { Int(bytes[$0 + 1] & 0x1f) << 8 | Int(bytes[$0 + 2]) }
    }

    package mutating func elementaryStreams() -> [Int: TrackKind] {
        while !isAtEnd { readBlock() }
        return counters.elementaryStreams.mapValues(\.kind)
    }

    package mutating func isStream(_ stream: Int, after other: Int) -> Bool {
        while true {
            let streams = (counters.elementaryStreams[stream], counters.elementaryStreams[other])
            if case (let own?, let other?) = streams,
                own.kind != other.kind || own.first < other.last
            {
                return false
            }
            guard !isAtEnd else { return streams.0 != nil && streams.1 != nil }
            readBlock()
        }
    }

    private mutating func readBlock() {
        let count = layout.stride * Self.blockPackets
        guard let block = Descriptor.read(file.number, at: offset, count: count),
            block.count >= layout.prefix + Self.packetBytes
        else {
            isAtEnd = true
            return
        }
        let span = block.span
        var place = 0
        while place + layout.prefix + Self.packetBytes <= span.count {
            guard span[place + layout.prefix] == ContinuityCounters.syncByte else {
                // Packets follow one another; anything else is damage, up to the next sync byte.
                place += 1
                continue
            }
            let start = place + layout.prefix
            let packet = span.extracting(start..<start + Self.packetBytes)
            if !repeats.add(packet, at: offset + Int64(start)) {
                counters.add(packet, at: offset + Int64(place))
            }
            place += layout.stride
        }
        if block.count < count {
            isAtEnd = true
            let start = place + layout.prefix
            if start + 3 <= span.count, span[start] == ContinuityCounters.syncByte {
                counters.cut(span.extracting(start..<start + 3), at: offset + Int64(place))
            }
        }
        offset += Int64(place)
    }

    /// The first packet of a file.
    static func layout(ofFile descriptor: Int32) -> (first: Int, Layout)? {
        Descriptor.read(descriptor, at: 0, count: searchBytes).flatMap { layout(of: $0.span) }
    }

    /// Finds three packets in a row.
    private static func layout(of bytes: Span<UInt8>) -> (first: Int, Layout)? {
        for (stride, prefix) in [(188, 0), (192, 4), (204, 0)] {
            var first = 0
            while first + prefix + 2 * stride < bytes.count, first < stride {
                let isPacket = (0..<3).allSatisfy {
                    bytes[first + prefix + $0 * stride] == ContinuityCounters.syncByte
                }
                if isPacket { return (first, Layout(stride: stride, prefix: prefix)) }
                first += 1
            }
        }
        return nil
    }
}

/// A descriptor that is closed with its last owner.
private final class OwnedDescriptor {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }
}

/// The continuity counters of a transport stream's packets. A value; the bytes may be anything.
struct ContinuityCounters {
    static let syncByte: UInt8 = 0x47
    /// The program association table.
    private static let tables = 0
    private static let null = 0x1fff
    /// Maximum number of losses of one stream. A file with more is damaged throughout.
    private static let maximumLosses = 1_000_000

    private struct Stream {
        var last: UInt8
        /// Positions of packets before which others are missing, ascending.
        var losses: [Int64] = []
    }

    private var streams: [Int: Stream] = [:]
    /// Position of the last program association table whose counter did not continue: another stream was appended.
    private var joint: Int64 = -1
    /// Position of the last packet of each stream.
    private var lastPositions: [Int: Int64] = [:]
    /// Streams of PES packets with video or audio (ISO/IEC 13818-1 §2.4.3.7).
    private(set) var elementaryStreams: [Int: ElementaryStream] = [:]

    struct ElementaryStream {
        let kind: TrackKind
        /// Positions of the first and the last PES packet.
        let first: Int64
        var last: Int64
    }

    /// Adds the next packet.
    /// - Parameters:
    ///   - packet: 188 bytes.
    ///   - position: where it begins in the file.
    mutating func add(_ packet: Span<UInt8>, at position: Int64) {
        guard packet.count >= 6, packet[0] == Self.syncByte else { return }
        let pid = Int(packet[1] & 0x1f) << 8 | Int(packet[2])
        guard pid != Self.null else { return }
        let control = packet[3] >> 4 & 3
        let counter = packet[3] & 15
        let hasError = packet[1] & 0x80 != 0
        let isMarked = control & 2 != 0 && packet[4] > 0 && packet[5] & 0x80 != 0
        defer { lastPositions[pid] = position }
        if let kind = Self.kind(packet) {
            elementaryStreams[
                pid, default: ElementaryStream(kind: kind, first: position, last: position)
            ].last = position
        }
        guard var stream = streams[pid] else {
            streams[pid] = Stream(last: counter, losses: hasError ? [position] : [])
            return
        }
        defer { streams[pid] = stream }
        if hasError { return note(position, in: &stream, counter) }
        // Packets without a payload do not increment the counter.
        guard control & 1 != 0 else { return }
        let continues = counter == (stream.last + 1) & 15
        guard !continues, !isMarked else {
            stream.last = counter
            return
        }
        if pid == Self.tables { joint = position }
        let beginsUnit = packet[1] & 0x40 != 0
        if beginsUnit, let before = lastPositions[pid], joint > before {
            stream.last = counter
            return
        }
        note(position, in: &stream, counter)
    }

    /// The file ends within a packet.
    /// - Parameter packet: its first three bytes.
    mutating func cut(_ packet: Span<UInt8>, at position: Int64) {
        let pid = Int(packet[1] & 0x1f) << 8 | Int(packet[2])
        guard pid != Self.null, var stream = streams[pid] else { return }
        note(position, in: &stream, stream.last)
        streams[pid] = stream
    }

    /// The kind of the PES packet that begins in a transport packet; nil for anything else.
    private static func kind(_ packet: Span<UInt8>) -> TrackKind? {
        let start = 4 + (packet[3] & 0x20 != 0 ? 1 + Int(packet[4]) : 0)
        guard packet[1] & 0x40 != 0, packet[3] & 0xD0 == 0x10, start + 4 <= packet.count,
            packet[start] == 0, packet[start + 1] == 0, packet[start + 2] == 1
        else { return nil }
        switch packet[start + 3] {
        case 0xC0...0xDF: return .audio
        case 0xE0...0xEF: return .video
        default: return nil
        }
    }

    private func note(_ position: Int64, in stream: inout Stream, _ counter: UInt8) {
        stream.last = counter
        if stream.losses.count < Self.maximumLosses { stream.losses.append(position) }
    }

    /// Losses of a stream before the packet at `position`, that packet's own included.
    func losses(pid: Int, before position: Int64) -> Int {
        guard let losses = streams[pid]?.losses else { return 0 }
        var (low, high) = (0, losses.count)
        while low < high {
            let middle = (low + high) / 2
            if losses[middle] <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
