/// Whether decoding can begin with an access unit. This is the only definition: ``SampleFlags/keyframe`` on the wire, a
/// file's sync samples and the starting points of players follow from ``CodedPicture/accessPoint``.
package enum AccessPoint: Hashable, Sendable {
    /// It needs pictures before it.
    case none
    /// This picture and all that are presented after it decode correctly.
    case sync
    /// Pictures decode correctly after this many reference frames.
    case gradual(frames: UInt32)
}

/// The properties of an access unit's picture, from its NAL units.
///
/// **The rule of access points**, for agents, collector and readers, regardless of a container's flags:
///
/// | codec | picture | access point |
/// | --- | --- | --- |
/// | H.264 | IDR picture | sync |
/// | H.264 | I picture with a recovery point message whose count is 0 (ISO/IEC 14496-10 §D.2.8) | sync |
/// | H.264 | picture with a recovery point message and a greater count | gradual |
/// | H.265 | IRAP picture: IDR, CRA or BLA (ITU-T H.265 §3.70) | sync |
///
/// Both fields of an H.264 frame are one picture, which begins with its first field.
package struct CodedPicture: Sendable {
    private let codec: VideoCodec
    private var reader: any PictureReader

    init(_ codec: VideoCodec) {
        self.codec = codec
        reader = codec.coding.pictureReader()
    }

    /// Parses an access unit with 4-byte lengths.
    /// - Parameter table: the parameter sets for slices; without them, only access points are determined.
    package init(
        of accessUnit: Span<UInt8>, _ codec: VideoCodec, with table: ParameterSetTable? = nil
    ) throws(BitstreamError) {
        self.init(codec)
        let table = table ?? ParameterSetTable(codec)
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: accessUnit) {
            take(unit, accessUnit.extracting(unit.range), with: table)
        }
    }

    /// Parses an access unit with start codes (Annex B), for access points only.
    package init(ofStream accessUnit: Span<UInt8>, _ codec: VideoCodec) throws(BitstreamError) {
        self.init(codec)
        for unit in try AnnexB.nalUnits(in: accessUnit) {
            take(unit, accessUnit.extracting(unit.range), with: ParameterSetTable(codec))
        }
    }

    private mutating func take(
        _ unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) {
        if codec.kind(of: unit) == .slice {
            add(unit, bytes, with: table)
        } else {
            note(unit, bytes)
        }
    }

    /// Slices of the picture, data partitions included.
    package var slices: Int { reader.slices }
    package var accessPoint: AccessPoint { reader.slices > 0 ? reader.accessPoint : .none }
    /// The sequence parameter set that it refers to; nil if unknown.
    package var sequenceID: UInt8? { reader.sequenceID }
    /// Whether both fields of a frame are present.
    package var hasSecondField: Bool { reader.hasSecondField }
    /// Whether it may refer to pictures before the access point that it follows in decoding order.
    package var refersBeforeAccessPoint: Bool { reader.refersBeforeAccessPoint }
    /// Whether the numbers of pictures begin with it (IDR, BLA): it may follow any picture. A decoder relates the numbers of
    /// other access points to those of the pictures that it has decoded before.
    package var beginsNumbering: Bool { reader.beginsNumbering }
    /// Pictures that refer before this access point are never decoded: what they refer to is of another stream.
    package var isBrokenLink: Bool { reader.isBrokenLink }
    /// A field without the other one of its frame.
    package var isUnpairedField: Bool { reader.isUnpairedField }
    /// The next access point begins another coded video sequence.
    package var endsSequence: Bool { reader.endsSequence }
    /// Its number among reference frames.
    package var frameNumber: FrameNumber? { reader.frameNumber }

    /// Adds the next slice.
    mutating func add(_ slice: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable) {
        reader.add(slice, bytes, with: table)
    }

    /// Adds a NAL unit other than a slice.
    mutating func note(_ unit: NALUnit, _ bytes: Span<UInt8>) { reader.note(unit, bytes) }

    /// Whether a slice belongs to another picture than the slices so far.
    func ends(
        before slice: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable,
        at boundary: SliceBoundary
    ) -> Bool {
        reader.ends(before: slice, bytes, with: table, at: boundary)
    }
}

/// A number that is counted modulo a limit.
package struct FrameNumber: Hashable, Sendable {
    package var number: UInt32
    /// Greater than 0.
    package var limit: UInt32

    /// How many frames after `other` it is.
    func distance(from other: FrameNumber) -> UInt32 {
        (number &+ limit &- other.number % limit) % limit
    }
}

/// The position of a slice among NAL units and packets.
package struct SliceBoundary: Hashable, Sendable {
    /// A NAL unit that only precedes pictures is between it and the previous slice.
    package var hasPreamble: Bool
    /// The previous slice is in another packet.
    package var isInNewPacket: Bool
}

/// Reads the NAL units of one access unit.
package protocol PictureReader: Sendable {
    var slices: Int { get }
    var accessPoint: AccessPoint { get }
    var sequenceID: UInt8? { get }
    var hasSecondField: Bool { get }
    var refersBeforeAccessPoint: Bool { get }
    var beginsNumbering: Bool { get }
    var isBrokenLink: Bool { get }
    var endsSequence: Bool { get }
    var isUnpairedField: Bool { get }
    var frameNumber: FrameNumber? { get }
    mutating func add(_ slice: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable)
    mutating func note(_ unit: NALUnit, _ bytes: Span<UInt8>)
    func ends(
        before slice: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable,
        at boundary: SliceBoundary
    ) -> Bool
}
