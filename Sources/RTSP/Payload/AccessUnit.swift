/// What one access unit's packets held: a coded picture as length-prefixed NAL units, or a raw AAC packet.
package struct AccessUnit: Hashable, Sendable {
    /// Ticks of the track's clock, as in the packets; wraps.
    package var timestamp: UInt32
    /// Of its packets, without wraps.
    package var firstNumber: Int64
    package var lastNumber: Int64
    /// When its first packet came, and its last: nanoseconds of the caller's clock.
    package var firstArrivalNanoseconds: Int64
    package var lastArrivalNanoseconds: Int64
    /// Video: NAL units with 4-byte lengths (ISO/IEC 14496-15 §5.3). Sound: one raw AAC packet.
    package var data: [UInt8]

    /// What a record has room for: a keyframe of 80 Mbit/s.
    package static let maximumBytes = 4 << 20
}

/// Something is missing, or cannot be used.
package struct StreamHole: Hashable, Sendable {
    package enum Cause: Hashable, Sendable {
        case lost(PacketLoss)
        /// The packets came, and contradict their format; in words.
        case malformed(String)
    }

    package var cause: Cause
    /// When it was noticed: arrival of the packet behind it, nanoseconds of the caller's clock.
    package var arrivalNanoseconds: Int64
    /// Access units of which something came, and that are dropped for it.
    package var droppedUnits = 0
    /// Nothing that follows needs what is missing.
    package var isHarmless = false

    /// Packets that never came; 0: none, or unknown.
    package var missingPackets: Int {
        if case .lost(.packets(_, let count)) = cause { count } else { 0 }
    }
}

/// What packets become, in order.
package enum DepacketizedItem: Hashable, Sendable {
    case unit(AccessUnit)
    case hole(StreamHole)
}
