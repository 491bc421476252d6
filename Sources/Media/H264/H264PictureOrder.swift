/// Computes the picture order counts of an H.264 track's pictures in decoding order (ISO/IEC 14496-10 §8.2.1).
///
/// `memory_management_control_operation` 5 is not parsed.
struct H264PictureOrder: PictureOrderReader {
    /// The fields of a sequence parameter set that the count depends on.
    private typealias Sequence = SequenceParameterSet.PictureOrder

    // Most and least significant bits of the count of the previous reference picture (§8.2.1.1).
    private var previousHigh: Int64 = 0
    private var previousLow: Int64 = 0
    // §8.2.1.2: of the previous picture.
    private var previousFrame: Int64 = 0
    private var frameOffset: Int64 = 0

    mutating func order(
        of unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) throws(BitstreamError) -> PictureOrder? {
        // The first of two fields.
        guard unit.h264Type != .slicePartition else { return nil }
        return order(of: try SliceHeader(parsing: bytes, with: table), table)
    }

    /// Sequences begin with IDR pictures.
    mutating func note(_ unit: NALUnit) {}

    private mutating func order(
        of slice: SliceHeader, _ table: ParameterSetTable
    ) -> PictureOrder? {
        guard let identity = slice.identity,
            let sequence = table.sequence(identity.sequenceID)?.pictureOrder
        else { return nil }
        if slice.isIDR { restart() }
        let frame = Int64(identity.frameNumber)
        let deltas = identity.pictureOrderDeltas.map(Int64.init)
        let count: Int64
        switch sequence.type {
        case 0:
            count = countByLowBits(
                Int64(identity.pictureOrderCount), deltas[0], sequence,
                isReference: slice.isReference)
        case 1:
            advance(to: frame, sequence)
            count = countByCycle(
                frame, (deltas[0], deltas[1]), sequence, isReference: slice.isReference,
                isField: identity.isField, isBottom: identity.isBottomField)
        default:
            advance(to: frame, sequence)
            count = 2 * (frameOffset + frame) - (slice.isReference ? 0 : 1)
        }
        return PictureOrder(beginsSequence: slice.isIDR, count: count)
    }

    private mutating func restart() {
        previousHigh = 0
        previousLow = 0
        previousFrame = 0
        frameOffset = 0
    }

    /// §8.2.1.1; all values have at most 32 bits, and a sum of them far fewer than 64.
    private mutating func countByLowBits(
        _ low: Int64, _ delta: Int64, _ sequence: Sequence, isReference: Bool
    ) -> Int64 {
        let modulus = Int64(1) << Int64(sequence.countBits)
        var high = previousHigh
        if low < previousLow, previousLow - low >= modulus / 2 {
            high &+= modulus
        } else if low > previousLow, low - previousLow > modulus / 2 {
            high &-= modulus
        }
        if isReference {
            previousHigh = high
            previousLow = low
        }
        return high &+ low &+ min(0, delta)
    }

    private mutating func advance(to frame: Int64, _ sequence: Sequence) {
        if frame < previousFrame { frameOffset &+= Int64(1) << Int64(sequence.frameNumberBits) }
        previousFrame = frame
    }

    /// §8.2.1.2.
    private func countByCycle(
        _ frame: Int64, _ deltas: (Int64, Int64), _ sequence: Sequence, isReference: Bool,
        isField: Bool, isBottom: Bool
    ) -> Int64 {
        let cycle = sequence.referenceOffsets
        var number = cycle.isEmpty ? 0 : frameOffset &+ frame
        if !isReference, number > 0 { number &-= 1 }
        var expected: Int64 = 0
        if number > 0 {
            let whole = cycle.reduce(0, +)
            expected = (number - 1) / Int64(cycle.count) &* whole
            for offset in cycle[...Int((number - 1) % Int64(cycle.count))] { expected &+= offset }
        }
        if !isReference { expected &+= sequence.nonReferenceOffset }
        let top = expected &+ deltas.0
        if isField { return isBottom ? top &+ sequence.bottomOffset : top }
        return min(top, top &+ sequence.bottomOffset &+ deltas.1)
    }
}
