/// The active parameter sets: a table by identifier (ISO/IEC 14496-10 §7.4.1.2.1, ITU-T H.265 §7.4.2.4.2).
///
/// A set stays until another with its identifier replaces it, from any source: the container's record, a sample, a new
/// description. The size of the table is bounded.
package struct ParameterSetTable: Equatable, Sendable {
    /// A set's kind and identifier.
    package struct Key: Hashable, Comparable, Sendable {
        package var kind: ParameterSetKind
        package var id: UInt8

        package init(_ kind: ParameterSetKind, _ id: UInt8) {
            self.kind = kind
            self.id = id
        }

        package static func sequence(_ id: UInt8) -> Key { Key(.sequence, id) }
        package static func picture(_ id: UInt8) -> Key { Key(.picture, id) }

        package static func < (left: Key, right: Key) -> Bool {
            (left.kind, left.id) < (right.kind, right.id)
        }
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

    private struct Entry: Equatable, Sendable {
        var bytes: [UInt8]
        /// Parsed from `bytes`.
        var content: any ParameterSet

        static func == (left: Entry, right: Entry) -> Bool { left.bytes == right.bytes }
    }

    package let codec: VideoCodec
    private var entries: [Key: Entry] = [:]
    private var sizeBytes = 0

    package init(_ codec: VideoCodec) {
        self.codec = codec
    }

    /// The sets of a format; of two with one identifier, the later one applies.
    package init(_ format: VideoFormat) throws(BitstreamError) {
        self.init(format.codec)
        for set in format.parameterSets { _ = try insert(set) }
    }

    /// A NAL unit's key; nil for other NAL units. Only the identifier is read.
    package static func key(
        of nalUnit: [UInt8], _ codec: VideoCodec
    ) throws(BitstreamError) -> Key? {
        guard case .parameterSet(let kind) = codec.kind(of: nalUnit) else { return nil }
        return Key(kind, try codec.coding.identifier(of: nalUnit, kind))
    }

    /// Adds a set; other NAL units change nothing.
    /// - Parameter nalUnit: the NAL unit, header included, without start code or length.
    /// - Throws: when it is invalid, or when the table would be too large; the table is unchanged then.
    package mutating func insert(_ nalUnit: [UInt8]) throws(BitstreamError) -> Change {
        guard case .parameterSet(let kind) = codec.kind(of: nalUnit) else { return .none }
        // Most streams repeat their sets: a known one is not parsed again.
        if entries.values.contains(where: { $0.bytes == nalUnit }) { return .none }
        let content = try codec.coding.parse(nalUnit, kind)
        let key = Key(kind, content.id)
        let old = entries[key]
        let size = sizeBytes + nalUnit.count - (old?.bytes.count ?? 0)
        guard size <= Self.maximumBytes else {
            throw .invalid(.parameterSets, field: "size", value: UInt64(size))
        }
        sizeBytes = size
        entries[key] = Entry(bytes: nalUnit, content: content)
        return old == nil ? .added : .replaced
    }

    /// The identifiers in use, by kind, each kind in ascending order.
    package var keys: [Key] { entries.keys.sorted() }

    /// A set's NAL unit.
    package subscript(key: Key) -> [UInt8]? { entries[key]?.bytes }

    /// A parsed set.
    package func content(_ key: Key) -> (any ParameterSet)? { entries[key]?.content }

    /// The properties of pictures that refer to this sequence parameter set.
    package func pictures(_ sequenceID: UInt8) -> PictureProperties? {
        content(.sequence(sequenceID))?.pictures
    }

    /// Sets, and those that depend on them and have to be sent again with them: decoders keep a picture parameter set with
    /// the sequence parameter set that was active when it arrived.
    package func withDependents(_ keys: Set<Key>) -> [Key] {
        self.keys.filter { key in
            keys.contains(key)
                || content(key)?.reference.map { keys.contains(.sequence($0)) } ?? false
        }
    }

    /// A track's description with all active sets, that of the present pictures first: it determines size, profile and
    /// pixel shape. Sets that are one too many for the description are omitted, the last ones first.
    package func format(
        active: UInt8, orientation: PictureOrientation
    ) throws(BitstreamError) -> VideoFormat {
        var sets: [[UInt8]] = []
        for kind in ParameterSetKind.allCases {
            var own = keys.filter { $0.kind == kind }
            if kind == .sequence, let place = own.firstIndex(of: .sequence(active)) {
                own.insert(own.remove(at: place), at: 0)
            }
            sets += own.prefix(codec.coding.maximumSets(kind)).compactMap { self[$0] }
        }
        var format = try VideoFormat(codec, parsing: sets)
        format.orientation = orientation
        return format
    }
}
