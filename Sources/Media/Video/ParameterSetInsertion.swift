/// An access unit with 4-byte lengths and those of `sets` whose identifiers it does not define itself, inserted at its
/// start but after a delimiter (ISO/IEC 14496-10 §7.4.1.2.3, ITU-T H.265 §7.4.2.4.4), each behind the access unit's own
/// sets of the kinds that it may refer to.
package func withParameterSets(
    _ sets: [[UInt8]], in accessUnit: Span<UInt8>, _ codec: VideoCodec
) throws(BitstreamError) -> [UInt8] {
    var own: Set<ParameterSetTable.Key> = []
    var lastOwn: [ParameterSetKind: Int] = [:]
    var cursor = NALUnitCursor()
    while let unit = try cursor.next(in: accessUnit) {
        guard codec.kind(of: unit).isParameterSet else { continue }
        let bytes = accessUnit.extracting(unit.range).withUnsafeBufferPointer(Array.init)
        if let key = try ParameterSetTable.key(of: bytes, codec) {
            own.insert(key)
            lastOwn[key.kind] = unit.range.lowerBound
        }
    }
    var missing: [(set: [UInt8], after: Int?)] = []
    for set in sets {
        if let key = try ParameterSetTable.key(of: set, codec), !own.contains(key) {
            missing.append((set, lastOwn.filter { $0.key < key.kind }.values.max()))
        }
    }
    var result: [UInt8] = []
    result.reserveCapacity(accessUnit.count + missing.reduce(0) { $0 + $1.set.count + 4 })
    var hasInserted = false
    cursor = NALUnitCursor()
    while let unit = try cursor.next(in: accessUnit) {
        if !hasInserted, codec.kind(of: unit) != .delimiter {
            hasInserted = true
            for missing in missing where missing.after == nil {
                appendLengthPrefixed(missing.set.span, to: &result)
            }
        }
        appendLengthPrefixed(accessUnit.extracting(unit.range), to: &result)
        for missing in missing where missing.after == unit.range.lowerBound {
            appendLengthPrefixed(missing.set.span, to: &result)
        }
    }
    return result
}

/// An access unit with 4-byte lengths, without the parameter sets that `format` has: its sample entry describes them.
///
/// - Parameter replaced: sets that samples have replaced by another version: the decoder needs the format's version again.
package func withoutParameterSets(
    of format: VideoFormat, in accessUnit: Span<UInt8>,
    except replaced: Set<ParameterSetTable.Key> = []
) throws(BitstreamError) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(accessUnit.count)
    var cursor = NALUnitCursor()
    while let unit = try cursor.next(in: accessUnit) {
        let bytes = accessUnit.extracting(unit.range)
        if format.codec.kind(of: unit).isParameterSet, format.hasParameterSet(bytes) {
            let set = bytes.withUnsafeBufferPointer(Array.init)
            guard !replaced.isEmpty, let key = try ParameterSetTable.key(of: set, format.codec),
                replaced.contains(key)
            else { continue }
        }
        appendLengthPrefixed(bytes, to: &result)
    }
    return result
}

extension VideoFormat {
    /// Whether the NAL unit is one of the parameter sets.
    package func hasParameterSet(_ unit: Span<UInt8>) -> Bool {
        for set in parameterSets where set.count == unit.count {
            var index = 0
            while index < set.count, set[index] == unit[index] { index += 1 }
            if index == set.count { return true }
        }
        return false
    }

    /// A self-contained access unit with 4-byte lengths: with all parameter sets, if decoding can start there.
    package func describing(_ accessUnit: Span<UInt8>) throws(BitstreamError) -> [UInt8] {
        guard try CodedPicture(of: accessUnit, codec).accessPoint != .none else {
            return accessUnit.withUnsafeBufferPointer(Array.init)
        }
        return try withParameterSets(parameterSets, in: accessUnit, codec)
    }
}
