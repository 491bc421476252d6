/// Pairs the fields of frames whose fields arrive as access units of their own: RTP gives each its timestamp (RFC 6184
/// §5.1).
///
/// A sample of a recording has both (``AccessUnitAssembler``). A value, without media.
package struct FieldPairs: Sendable {
    /// The role of an access unit in its frame.
    package enum Role: Hashable, Sendable {
        /// A frame, or both fields.
        case whole
        /// A field whose frame may be completed by the next access unit.
        case firstField
        /// Completes the frame of the access unit before it.
        case secondField
    }

    private let codec: VideoCodec
    private var table: ParameterSetTable
    private var open: CodedPicture?

    /// - Parameter format: the parameter sets in force.
    package init(_ format: VideoFormat) throws(BitstreamError) {
        codec = format.codec
        table = try ParameterSetTable(format)
    }

    /// Adds parameter sets from outside the stream. An open frame is kept.
    package mutating func configure(_ format: VideoFormat) throws(BitstreamError) {
        for set in format.parameterSets { _ = try table.insert(set) }
    }

    /// Access units are missing before the next one: drops an open frame.
    package mutating func interrupt() { open = nil }

    /// The role of the next access unit, whose NAL units have 4-byte lengths. A damaged one counts as ``Role/whole``.
    package mutating func role(of accessUnit: Span<UInt8>) -> Role {
        let before = open
        open = nil
        do throws(BitstreamError) {
            var isSecond: Bool?
            var cursor = NALUnitCursor()
            while let unit = try cursor.next(in: accessUnit) {
                let bytes = accessUnit.extracting(unit.range)
                switch codec.kind(of: unit) {
                case .parameterSet:
                    _ = try table.insert(bytes.withUnsafeBufferPointer(Array.init))
                case .slice where isSecond == nil:
                    isSecond =
                        before.map {
                            !$0.ends(
                                before: unit, bytes, with: table,
                                at: SliceBoundary(hasPreamble: true, isInNewPacket: true))
                        } ?? false
                case .slice, .delimiter, .preamble, .prefix, .suffix: continue
                }
            }
            if isSecond == true { return .secondField }
            let picture = try CodedPicture(of: accessUnit, codec, with: table)
            guard picture.isUnpairedField else { return .whole }
            open = picture
            return .firstField
        } catch {
            // Its copier reports it.
            return .whole
        }
    }
}
