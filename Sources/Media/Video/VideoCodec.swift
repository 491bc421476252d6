/// A codec of recorded pictures: a folder of this module, and an entry of ``all``.
package struct VideoCodec: Hashable, Sendable, CustomStringConvertible {
    /// All codecs of recordings; the first is the default of encoders.
    package static let all: [VideoCodec] = [.h264, .h265]

    /// The codec's properties.
    package let coding: any VideoCoding.Type

    init(_ coding: any VideoCoding.Type) {
        self.coding = coding
    }

    /// - Parameter identifier: on the wire: `h265`.
    package init?(identifier: String) {
        guard let codec = Self.all.first(where: { $0.identifier == identifier }) else { return nil }
        self = codec
    }

    /// - Parameter libraryName: FFmpeg's name: `hevc`.
    package init?(libraryName: String) {
        guard let codec = Self.all.first(where: { $0.libraryName == libraryName }) else {
            return nil
        }
        self = codec
    }

    /// The codec of an MP4 file's sample entry.
    package init?(sampleEntry type: String) {
        guard let codec = Self.all.first(where: { $0.coding.readableEntries.contains(type) })
        else { return nil }
        self = codec
    }

    package var identifier: String { coding.identifier }
    package var libraryName: String { coding.libraryName }

    /// Display name: `H.265`.
    package var description: String { coding.name }

    /// Display names of all codecs: `H.264 or H.265`.
    package static func list(_ conjunction: String) -> String {
        let names = all.map(\.description)
        guard names.count > 1, let last = names.last else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }

    /// The role of a NAL unit.
    package func kind(of unit: NALUnit) -> NALUnitKind { coding.kind(ofHeader: unit.header) }

    /// The role of a NAL unit with these bytes; nil without any.
    package func kind(of nalUnit: [UInt8]) -> NALUnitKind? {
        nalUnit.isEmpty ? nil : coding.kind(ofHeader: NALUnit.header(of: nalUnit.span))
    }

    package static func == (left: VideoCodec, right: VideoCodec) -> Bool {
        left.identifier == right.identifier
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
}

/// The role of a NAL unit in its access unit.
package enum NALUnitKind: Hashable, Sendable {
    /// Part of a coded picture.
    case slice
    case parameterSet(ParameterSetKind)
    case delimiter
    /// Only precedes a picture: a message (SEI), for example.
    case preamble
    /// Occurs before a picture and between its slices: the next slice decides.
    case prefix
    /// Belongs to the picture before it: an end of sequence, filler, a slice of another layer.
    case suffix

    package var isParameterSet: Bool {
        if case .parameterSet = self { return true }
        return false
    }
}

/// The kinds of parameter sets, in the order in which decoders need them.
package enum ParameterSetKind: UInt8, CaseIterable, Comparable, Hashable, Sendable {
    /// Video parameter set (H.265).
    case video
    /// Sequence parameter set: size, profile, timing.
    case sequence
    /// Picture parameter set.
    case picture

    package static func < (left: ParameterSetKind, right: ParameterSetKind) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A parsed parameter set.
package protocol ParameterSet: Sendable {
    var id: UInt8 { get }
    /// The properties of pictures; nil unless it is a sequence parameter set.
    var pictures: PictureProperties? { get }
    /// The sequence parameter set that a picture parameter set refers to; nil for other sets.
    var reference: UInt8? { get }
}

extension ParameterSet {
    package var reference: UInt8? { nil }
}

/// A byte of an access unit to be replaced.
package struct BytePatch: Hashable, Sendable {
    package var offset: Int
    package var byte: UInt8
}

/// The properties of a video codec that all modules use. RTP payloads and encoders' options are in their own.
package protocol VideoCoding: Sendable {
    /// On the wire: `h265`. Never changes.
    static var identifier: String { get }
    /// Display name: `H.265`.
    static var name: String { get }
    /// FFmpeg's name of the codec: `hevc`.
    static var libraryName: String { get }
    /// libavcodec's encoders in the order in which they are tried: hardware first, software last.
    static var encoders: [String] { get }
    /// Suffixes of elementary stream files, without a dot; the first is the usual one.
    static var fileSuffixes: [String] { get }

    // MARK: Sample entries (ISO/IEC 14496-15)

    /// The type of the sample entry in recordings: `hvc1`.
    static var entry: String { get }
    /// The types that are read.
    static var readableEntries: [String] { get }
    static var configurationBox: ConfigurationBox { get }
    /// Whether samples may have parameter sets in a recording. Otherwise any change of a set is another description.
    static var allowsSetsInSamples: Bool { get }
    /// Whether no other picture refers to leading pictures, which follow an access point in decoding order and precede it
    /// in presentation.
    static var mayOmitLeadingPictures: Bool { get }
    /// The changes by which an access point, with 4-byte NAL unit lengths, may follow any picture; none: it may already, or the codec
    /// cannot express it.
    static func brokenLink(_ accessUnit: Span<UInt8>) throws(BitstreamError) -> [BytePatch]
    static func configuration(
        parsing record: [UInt8]
    ) throws(BitstreamError) -> DecoderConfiguration
    /// The record's fields before the parameter sets, by the standard's names, for display.
    static func recordFields(
        _ record: [UInt8]
    ) throws(BitstreamError) -> [(name: String, value: UInt64)]
    /// The configuration's record.
    /// - Parameter lengthSize: bytes of each length in the samples.
    static func record(
        for format: VideoFormat, lengthSize: Int
    ) throws(BitstreamError) -> [UInt8]
    /// The codec in `CODECS` and MIME types (RFC 6381 §3.3, ISO/IEC 14496-15 Annex E): `hvc1.1.6.L93.B0`.
    static func codecText(_ format: VideoFormat) -> String

    // MARK: NAL units

    /// - Parameter header: the NAL unit's first two bytes.
    static func kind(ofHeader header: UInt16) -> NALUnitKind

    // MARK: Parameter sets

    /// The kinds that a description needs.
    static var neededSets: [ParameterSetKind] { get }
    /// How many sets of a kind a description can have.
    static func maximumSets(_ kind: ParameterSetKind) -> Int
    /// A set's identifier; only the start of the set is read.
    static func identifier(
        of nalUnit: [UInt8], _ kind: ParameterSetKind
    ) throws(BitstreamError) -> UInt8
    static func parse(
        _ nalUnit: [UInt8], _ kind: ParameterSetKind
    ) throws(BitstreamError) -> any ParameterSet

    // MARK: Pictures

    /// Reads the NAL units of an access unit.
    static func pictureReader() -> any PictureReader
    /// Reads the order of presentation.
    static func orderReader() -> any PictureOrderReader
}

/// A decoder's configuration from a container.
package struct DecoderConfiguration: Hashable, Sendable {
    /// Bytes of each length in the samples: 1, 2 or 4.
    package var lengthSize: Int
    /// NAL units, header included, without start code or length.
    package var parameterSets: [[UInt8]]

    /// Whether it has all kinds of sets that decoding needs.
    package func isComplete(_ codec: VideoCodec) -> Bool {
        let kinds = parameterSets.map(codec.kind(of:))
        return codec.coding.neededSets.allSatisfy { kinds.contains(.parameterSet($0)) }
    }
}
