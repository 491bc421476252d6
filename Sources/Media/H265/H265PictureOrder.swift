/// Computes the picture order counts of an H.265 track's pictures in decoding order (ITU-T H.265 §8.3.1).
struct H265PictureOrder: PictureOrderReader {
    /// `prevTid0Pic`: the last picture of the lowest sub-layer that others may refer to.
    private var previous: Int64 = 0
    /// The next random access picture begins a sequence, whatever its type.
    private var isAtStart = true

    mutating func order(
        of slice: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) throws(BitstreamError) -> PictureOrder? {
        let unit = H265NALUnitHeader(slice.header)
        let header = try H265SliceHeader(parsing: bytes, with: table)
        guard let low = header.orderCount,
            let picture = table.content(.picture(header.pictureSetID)) as? H265PictureParameterSet,
            let sequence = table.content(.sequence(picture.sequenceID))
                as? H265SequenceParameterSet
        else { return nil }
        let modulus = Int64(1) << Int64(sequence.orderCountBits)
        let beginsSequence =
            unit.isRandomAccess && (isAtStart || unit.isIDR || unit.isBrokenLink)
        var high: Int64 = 0
        if !beginsSequence {
            let previousLow = previous & (modulus - 1)
            high = previous - previousLow
            if Int64(low) < previousLow, previousLow - Int64(low) >= modulus / 2 {
                high &+= modulus
            } else if Int64(low) > previousLow, Int64(low) - previousLow > modulus / 2 {
                high &-= modulus
            }
        }
        let count = high &+ Int64(low)
        if unit.temporalID == 0, !unit.isSkippedLeading, !unit.isDecodableLeading,
            !unit.isSubLayerNonReference
        {
            previous = count
        }
        if unit.isRandomAccess { isAtStart = false }
        return PictureOrder(beginsSequence: beginsSequence, count: count)
    }

    mutating func note(_ unit: NALUnit) {
        let header = H265NALUnitHeader(unit.header)
        if header.layerID == 0, header.endsSequence { isAtStart = true }
    }
}
