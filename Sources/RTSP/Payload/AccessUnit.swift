/// A reassembled access unit: one coded picture, or one packet of coded audio.
package struct AccessUnit: Hashable, Sendable {
    /// RTP timestamp, in ticks of the track's clock; wraps.
    package var timestamp: UInt32
    /// Extended sequence numbers of its first and last packet, which do not wrap.
    package var firstNumber: Int64
    package var lastNumber: Int64
    /// Arrival of its first and last packet, nanoseconds of the caller's clock.
    package var firstArrivalNanoseconds: Int64
    package var lastArrivalNanoseconds: Int64
    /// Video: NAL units with 4-byte lengths (ISO/IEC 14496-15 §5.3). Audio: one packet of the codec.
    package var data: [UInt8]

    /// The size limit of a record: a keyframe at 80 Mbit/s.
    package static let maximumBytes = 4 << 20
}

extension AccessUnit {
    /// - Parameter ordered: its first packet.
    init(_ ordered: PacketWindow.Ordered, data: [UInt8] = []) {
        self.init(
            timestamp: ordered.packet.timestamp, firstNumber: ordered.number,
            lastNumber: ordered.number, firstArrivalNanoseconds: ordered.arrivalNanoseconds,
            lastArrivalNanoseconds: ordered.arrivalNanoseconds, data: data)
    }

    /// - Parameter ordered: its next packet; the caller adds the payload.
    mutating func extend(to ordered: PacketWindow.Ordered) {
        lastNumber = ordered.number
        lastArrivalNanoseconds = ordered.arrivalNanoseconds
    }
}

/// A loss in a track, or data that cannot be used.
package struct StreamHole: Hashable, Sendable {
    package enum Cause: Hashable, Sendable {
        case lost(PacketLoss)
        /// The packets violate their format. The text is a description.
        case malformed(String)
    }

    package var cause: Cause
    /// Time of detection: arrival of the packet after it, nanoseconds of the caller's clock.
    package var arrivalNanoseconds: Int64
    /// Partially received access units that are dropped.
    package var droppedUnits = 0
    /// Later units can be decoded without the missing data.
    package var isHarmless = false

    /// Lost packets; 0 if none or unknown.
    package var missingPackets: Int {
        if case .lost(.packets(_, let count)) = cause { count } else { 0 }
    }
}

/// Output of a depacketizer, in order.
package enum DepacketizedItem: Hashable, Sendable {
    case unit(AccessUnit)
    case hole(StreamHole)

    /// A hole in audio, whose packets are decoded independently of each other.
    static func soundHole(
        _ cause: StreamHole.Cause, arrivalNanoseconds: Int64, dropped: Int
    ) -> DepacketizedItem {
        .hole(
            StreamHole(
                cause: cause, arrivalNanoseconds: arrivalNanoseconds, droppedUnits: dropped,
                isHarmless: true))
    }
}
