import Media

/// One buffer of a camera's H.264 (Annex B).
struct CameraAccessUnit: Hashable {
    /// Sequence and picture parameter sets, with start codes.
    private(set) var parameterSets: [UInt8] = []
    private(set) var hasPicture = false
    /// Decoding can start here.
    private(set) var isKeyframe = false
    private var hasSequenceSet = false
    private var hasPictureSet = false

    var hasParameterSets: Bool { hasSequenceSet && hasPictureSet }

    init() {}

    init(_ bytes: UnsafeRawBufferPointer) throws(BitstreamError) {
        let stream = bytes.bindMemory(to: UInt8.self).span
        let picture = try CodedPicture(ofStream: stream, .h264)
        hasPicture = picture.slices > 0
        isKeyframe = picture.accessPoint == .sync
        for unit in try AnnexB.nalUnits(in: stream) {
            guard case .parameterSet(let kind) = VideoCodec.h264.kind(of: unit) else { continue }
            if kind == .sequence { hasSequenceSet = true } else { hasPictureSet = true }
            append(stream.extracting(unit.range))
        }
    }

    /// Parameter sets may come in several buffers.
    func joined(by next: CameraAccessUnit) -> CameraAccessUnit {
        if next.hasParameterSets { return next }
        var result = self
        result.parameterSets += next.parameterSets
        result.hasSequenceSet = hasSequenceSet || next.hasSequenceSet
        result.hasPictureSet = hasPictureSet || next.hasPictureSet
        return result
    }

    private mutating func append(_ unit: Span<UInt8>) {
        parameterSets += [0, 0, 0, 1]
        unit.withUnsafeBufferPointer { parameterSets.append(contentsOf: $0) }
    }
}
