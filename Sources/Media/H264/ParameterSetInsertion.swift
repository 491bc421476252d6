extension SequenceParameterSet {
    /// The properties of pictures in a file's sample entry: a change needs another description. Decoders read the rest
    /// of a set (timing, reordering, levels) themselves.
    package struct Appearance: Hashable, Sendable {
        var profile: UInt8
        var chromaFormat: UInt8
        var lumaBitDepth: UInt8
        var chromaBitDepth: UInt8
        var width: UInt32
        var height: UInt32
        var sampleAspectRatio: SampleAspectRatio?
        var colour: ColourDescription?
    }

    package var appearance: Appearance {
        Appearance(
            profile: profile, chromaFormat: chromaFormat, lumaBitDepth: lumaBitDepth,
            chromaBitDepth: chromaBitDepth, width: width, height: height,
            sampleAspectRatio: usability?.sampleAspectRatio, colour: usability?.colour)
    }
}

/// An access unit with 4-byte lengths and those of `sets` whose identifiers it does not define itself, inserted at its
/// start but after a delimiter (ISO/IEC 14496-10 §7.4.1.2.3).
package func withParameterSets(
    _ sets: [[UInt8]], in accessUnit: Span<UInt8>
) throws(BitstreamError) -> [UInt8] {
    var own: Set<ParameterSetTable.Key> = []
    var cursor = NALUnitCursor()
    while let unit = try cursor.next(in: accessUnit) {
        switch unit.type {
        case .sequenceParameterSet, .pictureParameterSet:
            let bytes = accessUnit.extracting(unit.range).withUnsafeBufferPointer(Array.init)
            if let key = try ParameterSetTable.key(of: bytes) { own.insert(key) }
        default: continue
        }
    }
    var missing: [[UInt8]] = []
    for set in sets {
        if let key = try ParameterSetTable.key(of: set), !own.contains(key) { missing.append(set) }
    }
    var result: [UInt8] = []
    result.reserveCapacity(accessUnit.count + missing.reduce(0) { $0 + $1.count + 4 })
    var hasInserted = false
    cursor = NALUnitCursor()
    while let unit = try cursor.next(in: accessUnit) {
        if !hasInserted, unit.type != .accessUnitDelimiter {
            hasInserted = true
            for set in missing { appendLengthPrefixed(set.span, to: &result) }
        }
        appendLengthPrefixed(accessUnit.extracting(unit.range), to: &result)
    }
    return result
}

extension H264Format {
    /// A self-contained access unit with 4-byte lengths: with all parameter sets, if decoding can start there.
    package func describing(_ accessUnit: Span<UInt8>) throws(BitstreamError) -> [UInt8] {
        guard try CodedPicture(of: accessUnit).accessPoint != .none else {
            return accessUnit.withUnsafeBufferPointer(Array.init)
        }
        return try withParameterSets(
            sequenceParameterSets + pictureParameterSets, in: accessUnit)
    }
}
