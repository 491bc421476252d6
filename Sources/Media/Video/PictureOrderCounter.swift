/// A picture's position in presentation order, from its bitstream.
package struct PictureOrder: Hashable, Sendable {
    /// All pictures before it in decoding order are presented before it, and counting restarts: an IDR picture.
    package var beginsSequence: Bool
    /// `PicOrderCnt`: pictures between two such pictures are presented in its ascending order.
    package var count: Int64
}

/// Reads the order of presentation from slices.
package protocol PictureOrderReader: Sendable {
    /// The order of the picture that begins with a slice; nil if its parameter sets are unknown.
    mutating func order(
        of slice: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) throws(BitstreamError) -> PictureOrder?
    /// Notes a NAL unit after a picture, which may end its sequence.
    mutating func note(_ unit: NALUnit)
}

/// Computes the picture order counts of a track's pictures in decoding order.
///
/// They determine the presentation order if a container has no presentation times.
package struct PictureOrderCounter: Sendable {
    private var framing: NALUnitFraming
    private var table: ParameterSetTable
    private var reader: any PictureOrderReader

    /// - Parameter configuration: a record, or Annex B parameter sets, or nothing.
    package init(_ codec: VideoCodec, configuration: [UInt8]) throws(BitstreamError) {
        framing = .annexB
        table = ParameterSetTable(codec)
        reader = codec.coding.orderReader()
        try configure(configuration)
    }

    /// Sets the container's configuration for the following pictures.
    package mutating func configure(_ configuration: [UInt8]) throws(BitstreamError) {
        let codec = table.codec
        guard !configuration.isEmpty else { return }
        framing = try NALUnitFraming(codec, configuration: configuration)
        switch framing {
        case .annexB:
            for unit in try framing.units(in: configuration.span) {
                _ = try table.insert(Array(configuration[unit.range]))
            }
        case .lengthPrefixed:
            let record = try codec.coding.configuration(parsing: configuration)
            for set in record.parameterSets { _ = try table.insert(set) }
        }
    }

    /// The order of an access unit's picture; nil without a picture, or without its parameter sets.
    package mutating func order(
        of accessUnit: Span<UInt8>
    ) throws(BitstreamError) -> PictureOrder? {
        var found: PictureOrder?
        for unit in try framing.units(in: accessUnit) {
            let bytes = accessUnit.extracting(unit.range)
            switch table.codec.kind(of: unit) {
            case .parameterSet:
                _ = try table.insert(bytes.withUnsafeBufferPointer(Array.init))
            case .slice:
                // The first slice determines the picture's order.
                guard found == nil else { continue }
                found = try reader.order(of: unit, bytes, with: table)
            case .suffix: reader.note(unit)
            case .delimiter, .preamble, .prefix: continue
            }
        }
        return found
    }
}
