/// Address of a part: its segment's media sequence number, and its index from 0.
package struct PartAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var sequence: UInt64
    package var part: Int

    package init(sequence: UInt64, part: Int) {
        self.sequence = sequence
        self.part = part
    }

    package var description: String { "\(sequence).\(part)" }

    package static func < (left: PartAddress, right: PartAddress) -> Bool {
        (left.sequence, left.part) < (right.sequence, right.part)
    }
}

/// A partial segment of a live playlist (draft-pantos-hls-rfc8216bis §4.4.4.9).
package struct LivePart: Hashable, Sendable {
    /// Its address in the playlist.
    package var address: PartAddress
    /// The name in its URI, as if the part belonged to the same segment as the previous one.
    ///
    /// The next part is hinted before it is known whether it starts a new segment. So the first part of a segment is named as a part
    /// of the previous one: `7.20.mp4` may be part 0 of segment 8. Then the hint is always valid.
    package var name: PartAddress
    /// `DURATION`: at most the part target.
    package var durationNanoseconds: Int64
    /// Real times of its main track, nanoseconds of session time.
    package var nanoseconds: Range<Int64>
    package var sizeBytes = 0
    /// Decoding can begin in it.
    package var isIndependent = false
    /// Number of its media initialization section.
    package var initialization = 0
    /// It starts a segment after a discontinuity.
    package var isDiscontinuous = false

    package init(
        address: PartAddress, name: PartAddress, durationNanoseconds: Int64,
        nanoseconds: Range<Int64>
    ) {
        self.address = address
        self.name = name
        self.durationNanoseconds = durationNanoseconds
        self.nanoseconds = nanoseconds
    }
}

/// The resource of a URI in a live playlist.
package enum LiveResource: Hashable, Sendable {
    /// All parts of a segment: `SEQUENCE.mp4`.
    case segment(UInt64)
    /// A part by its name: `SEQUENCE.PART.mp4`.
    case part(PartAddress)
    /// A media initialization section: `init.NUMBER.mp4`.
    case initialization(Int)

    /// The URI, relative to the playlist.
    package var uri: String {
        switch self {
        case .segment(let sequence): "\(sequence).mp4"
        case .part(let name): "\(name).mp4"
        case .initialization(let number): "init.\(number).mp4"
        }
    }

    /// - Parameter name: the last component of the URI's path. Each resource has exactly one name: `07.mp4` is invalid.
    package init?(_ name: String) {
        let pieces = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        switch pieces.count {
        case 2:
            guard let sequence = UInt64(pieces[0]) else { return nil }
            self = .segment(sequence)
        case 3 where pieces[0] == "init":
            guard let number = Int(pieces[1]) else { return nil }
            self = .initialization(number)
        case 3:
            guard let sequence = UInt64(pieces[0]), let part = Int(pieces[1]) else { return nil }
            self = .part(PartAddress(sequence: sequence, part: part))
        default:
            return nil
        }
        // Rejects signs, leading zeros and other suffixes.
        guard uri == name, !name.contains("-") else { return nil }
    }
}
