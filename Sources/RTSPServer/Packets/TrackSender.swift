package import Media

/// Packetizes one track's samples, and writes its sender reports (RFC 3550 §5.1, §6.4.1).
///
/// RTP timestamps count ticks of the session's timeline, so a sender report maps them to UTC: the session's zero plus the
/// session time.
package struct TrackSender: Sendable {
    /// With headers, fits an MTU of 1,500 bytes, also through tunnels.
    package static let maximumPayloadBytes = 1_400
    private static let headerBytes = 12
    /// Size of an `SR` without report blocks.
    private static let reportBytes = 28

    /// Index of the track.
    package let track: Int
    package let payloadType: UInt8
    /// SSRC.
    package let source: UInt32
    package let timescale: Timescale
    private var format: TrackFormat
    private let writer: any PayloadWriter.Type
    /// Sequence number of the next packet.
    package private(set) var sequence: UInt16
    /// Added to ticks.
    private let offset: UInt32
    private var packets: UInt32 = 0
    private var octets: UInt32 = 0

    /// - Parameter random: source of SSRC, first sequence number and timestamp offset, which must be unpredictable (RFC 3550
    ///   §5.1).
    /// - Returns: nil for a codec without a payload format.
    package init?(_ track: ServedTrack, random: (UInt64, UInt64)) {
        guard let writer = payloadWriter(for: track.format) else { return nil }
        self.track = track.index
        payloadType = track.payloadType
        format = track.format
        timescale = track.format.timescale
        self.writer = writer
        source = UInt32(truncatingIfNeeded: random.0)
        sequence = UInt16(truncatingIfNeeded: random.0 >> 32)
        offset = UInt32(truncatingIfNeeded: random.1)
    }

    /// The RTP timestamp of a session time.
    package func timestamp(_ ticks: Int64) -> UInt32 {
        UInt32(truncatingIfNeeded: ticks) &+ offset
    }

    /// Changes the format.
    /// - Returns: false if codec or timescale differ: clients need a new description.
    package mutating func follow(_ new: TrackFormat) -> Bool {
        switch (format, new) {
        case (.video(let old), .video(let video)) where old.codec == video.codec:
            // The next keyframe carries the new parameter sets.
            format = new
            return true
        case (.audio, .audio): return format == new
        case (.video, _), (.audio, _): return false
        }
    }

    /// Signals a loss to receivers by skipping a sequence number.
    package mutating func noteLoss() { sequence &+= 1 }

    /// Appends a sample's packets.
    /// - Parameters:
    ///   - ticks: presentation time on the timeline, in the track's timescale.
    ///   - isKeyframe: missing parameter sets are inserted before the sample.
    package mutating func append(
        _ sample: [UInt8], ticks: Int64, isKeyframe: Bool, to batch: inout PacketBatch
    ) throws(BitstreamError) {
        var sample = sample
        if isKeyframe, case .video(let video) = format {
            sample = try withParameterSets(video.parameterSets, in: sample.span, video.codec)
        }
        let parts = try writer.parts(of: sample, maximumBytes: Self.maximumPayloadBytes)
        batch.reserve(sample.count + 24 * parts.count)
        let time = timestamp(ticks)
        for (index, part) in parts.enumerated() {
            let marker: UInt8 = index == parts.count - 1 ? 0x80 : 0
            let (payloadType, sequence, source) = (payloadType, sequence, source)
            let size = Self.headerBytes + part.sizeBytes
            batch.append(track: track, isControl: false, sizeBytes: size) { bytes in
                bytes.append(0x80)
                bytes.append(marker | payloadType)
                bytes.append(UInt8(sequence >> 8))
                bytes.append(UInt8(sequence & 0xFF))
                appendBigEndian(time, to: &bytes)
                appendBigEndian(source, to: &bytes)
                bytes += part.header
                for piece in part.pieces {
                    if part.hasSizes {
                        bytes.append(UInt8(truncatingIfNeeded: piece.count >> 8))
                        bytes.append(UInt8(truncatingIfNeeded: piece.count))
                    }
                    bytes += sample[piece]
                }
            }
            self.sequence &+= 1
            packets &+= 1
            octets &+= UInt32(truncatingIfNeeded: part.sizeBytes)
        }
    }

    /// Appends a sender report and the CNAME (RFC 3550 §6.4.1, §6.5).
    /// - Parameters:
    ///   - ticks: a session time, in the track's timescale.
    ///   - utcNanoseconds: UTC of the same instant, since 1970.
    package func report(ticks: Int64, utcNanoseconds: Int64, to batch: inout PacketBatch) {
        let name = Array("tributary".utf8)
        // A chunk is terminated by 1 to 4 zero bytes, up to a 32-bit boundary.
        let padding = 4 - (6 + name.count) % 4
        let chunk = 6 + name.count + padding
        let time = NTPTime(utcNanoseconds: utcNanoseconds)
        let size = Self.reportBytes + 4 + chunk
        batch.append(track: track, isControl: true, sizeBytes: size) { bytes in
            bytes += [0x80, 200, 0, 6]
            appendBigEndian(source, to: &bytes)
            appendBigEndian(time.seconds, to: &bytes)
            appendBigEndian(time.fraction, to: &bytes)
            appendBigEndian(timestamp(ticks), to: &bytes)
            appendBigEndian(packets, to: &bytes)
            appendBigEndian(octets, to: &bytes)
            bytes += [0x81, 202, 0, UInt8(chunk / 4)]
            appendBigEndian(source, to: &bytes)
            bytes += [1, UInt8(name.count)]
            bytes += name
            bytes += [UInt8](repeating: 0, count: padding)
        }
    }

    /// Appends a report and a BYE (RFC 3550 §6.6).
    package func goodbye(ticks: Int64, utcNanoseconds: Int64, to batch: inout PacketBatch) {
        report(ticks: ticks, utcNanoseconds: utcNanoseconds, to: &batch)
        batch.append(track: track, isControl: true, sizeBytes: 8 + 8) { bytes in
            // A compound packet starts with a report (§6.1).
            bytes += [0x80, 201, 0, 1]
            appendBigEndian(source, to: &bytes)
            bytes += [0x81, 203, 0, 1]
            appendBigEndian(source, to: &bytes)
        }
    }
}

/// NTP timestamp: seconds since 1900 and their fraction (RFC 5905 §6).
package struct NTPTime: Hashable, Sendable {
    private static let secondsFrom1900To1970: Int64 = 2_208_988_800

    /// Wraps in 2036.
    package let seconds: UInt32
    package let fraction: UInt32

    package init(utcNanoseconds: Int64) {
        let second: Int64 = 1_000_000_000
        let rest = (utcNanoseconds % second + second) % second
        let whole = (utcNanoseconds - rest) / second
        seconds = UInt32(truncatingIfNeeded: whole + Self.secondsFrom1900To1970)
        fraction = UInt32((UInt64(rest) << 32) / UInt64(second))
    }
}

/// Appends in big-endian order.
func appendBigEndian(_ value: UInt32, to bytes: inout [UInt8]) {
    bytes.append(UInt8(truncatingIfNeeded: value >> 24))
    bytes.append(UInt8(truncatingIfNeeded: value >> 16))
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    bytes.append(UInt8(truncatingIfNeeded: value))
}
