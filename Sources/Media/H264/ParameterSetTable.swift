/// The active H.264 parameter sets: a table by identifier (ISO/IEC 14496-10 §7.4.1.2.1).
///
/// A set stays until another with its identifier replaces it, from any source: the container's record, a sample, a new
/// description. The size of the table is bounded.
package struct ParameterSetTable: Hashable, Sendable {
    /// A set's kind and identifier.
    package enum Key: Hashable, Comparable, Sendable {
        case sequence(UInt8)
        case picture(UInt8)
    }

    /// The effect of a set on the table.
    package enum Change: Hashable, Sendable {
        /// An identical set was present.
        case none
        /// Its identifier was not used.
        case added
        /// It replaced another set.
        case replaced
    }

    /// Bytes of all sets together: the limit of a track's description on the wire.
    package static let maximumBytes = 65_535

    private struct Entry<Content: Hashable & Sendable>: Hashable, Sendable {
        var bytes: [UInt8]
        var content: Content
    }

    private var sequences: [UInt8: Entry<SequenceParameterSet>] = [:]
    private var pictures: [UInt8: Entry<PictureParameterSet>] = [:]
    private var sizeBytes = 0

    package init() {}

    /// The sets of a format; of two with one identifier, the later one applies.
    package init(_ format: H264Format) throws(BitstreamError) {
        for set in format.sequenceParameterSets + format.pictureParameterSets {
            _ = try insert(set)
        }
    }

    /// A NAL unit's key; nil for other NAL units. Only the identifier is read.
    package static func key(of nalUnit: [UInt8]) throws(BitstreamError) -> Key? {
        guard let header = nalUnit.first else { return nil }
        let type = NALUnitType(header: header)
        // Identifiers are within the first bytes.
        let front = withoutEmulationPrevention(nalUnit.prefix(16).dropFirst())
        switch type {
        case .sequenceParameterSet:
            var reader = BitReader(front, of: .sequenceParameterSet)
            try reader.skip(24)  // profile, constraints, level
            return .sequence(
                UInt8(try reader.unsignedGolomb("seq_parameter_set_id", atMost: 31)))
        case .pictureParameterSet:
            var reader = BitReader(front, of: .pictureParameterSet)
            return .picture(UInt8(try reader.unsignedGolomb("pic_parameter_set_id", atMost: 255)))
        default: return nil
        }
    }

    /// Adds a set; other NAL units change nothing.
    /// - Parameter nalUnit: the NAL unit, header byte included, without start code or length.
    /// - Throws: when it is invalid, or when the table would be too large; the table is unchanged then.
    package mutating func insert(_ nalUnit: [UInt8]) throws(BitstreamError) -> Change {
        guard let header = nalUnit.first else { return .none }
        switch NALUnitType(header: header) {
        case .sequenceParameterSet:
            // Most streams repeat their sets: a known one is not parsed again.
            if sequences.values.contains(where: { $0.bytes == nalUnit }) { return .none }
            let set = try SequenceParameterSet(parsing: nalUnit)
            return try put(nalUnit, set, at: set.id, in: \.sequences)
        case .pictureParameterSet:
            if pictures.values.contains(where: { $0.bytes == nalUnit }) { return .none }
            let set = try PictureParameterSet(parsing: nalUnit)
            return try put(nalUnit, set, at: set.id, in: \.pictures)
        default:
            return .none
        }
    }

    private mutating func put<Content>(
        _ bytes: [UInt8], _ content: Content, at id: UInt8,
        in table: WritableKeyPath<Self, [UInt8: Entry<Content>]>
    ) throws(BitstreamError) -> Change {
        let old = self[keyPath: table][id]
        let size = sizeBytes + bytes.count - (old?.bytes.count ?? 0)
        guard size <= Self.maximumBytes else {
            throw .invalid(.parameterSets, field: "size", value: UInt64(size))
        }
        sizeBytes = size
        self[keyPath: table][id] = Entry(bytes: bytes, content: content)
        return old == nil ? .added : .replaced
    }

    /// The identifiers in use: sequence parameter sets first, each kind in ascending order.
    package var keys: [Key] {
        sequences.keys.sorted().map(Key.sequence) + pictures.keys.sorted().map(Key.picture)
    }

    /// A set's NAL unit.
    package subscript(key: Key) -> [UInt8]? {
        switch key {
        case .sequence(let id): sequences[id]?.bytes
        case .picture(let id): pictures[id]?.bytes
        }
    }

    /// The sequence parameter set with this identifier.
    package func sequence(_ id: UInt8) -> SequenceParameterSet? { sequences[id]?.content }

    /// The picture parameter set with this identifier.
    package func picture(_ id: UInt8) -> PictureParameterSet? { pictures[id]?.content }

    /// The sets for slices that refer to this picture parameter set; nil when one is missing.
    package func sets(
        forPicture id: UInt8
    ) -> (picture: PictureParameterSet, sequence: SequenceParameterSet)? {
        guard let picture = picture(id), let sequence = sequence(picture.sequenceID) else {
            return nil
        }
        return (picture, sequence)
    }

    /// A track's description with all active sets, that of the present pictures first: it determines size, profile and
    /// pixel shape.
    ///
    /// `avcC` counts 31 and 255 sets (ISO/IEC 14496-15 §5.3.3.1), one less than there are identifiers. The last one is
    /// omitted then.
    package func format(
        active: UInt8, orientation: PictureOrientation
    ) throws(BitstreamError) -> H264Format {
        let others = sequences.keys.sorted().filter { $0 != active }
        let sequenceSets = ([active] + others).compactMap { sequences[$0]?.bytes }.prefix(31)
        let pictureSets = pictures.keys.sorted().compactMap { pictures[$0]?.bytes }.prefix(255)
        var format = try H264Format(
            parsing: Array(sequenceSets), pictureParameterSets: Array(pictureSets))
        format.orientation = orientation
        return format
    }
}
