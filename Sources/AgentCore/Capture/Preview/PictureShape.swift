import Encoding
import Media

/// Properties of a source's pictures that a preview of them keeps.
struct PictureShape: Hashable, Sendable {
    var size: PictureSize
    /// Nil: square pixels.
    var sampleAspectRatio: SampleAspectRatio?
    /// Nil: unknown.
    var colour: ColourDescription?
    var rate: FrameRate
    var hasConstantRate: Bool
    var orientation: PictureOrientation
}

extension PictureShape {
    /// Shape of the pictures that an encoder gets with these settings.
    init(_ plan: VideoEncoderSettings, orientation: PictureOrientation) {
        self.init(
            size: plan.size, sampleAspectRatio: plan.sampleAspectRatio, colour: plan.colour,
            rate: plan.frameRate, hasConstantRate: plan.hasConstantRate, orientation: orientation)
    }

    /// Shape of encoded pictures.
    /// - Parameter durationNanoseconds: of the first of them; 0: unknown.
    init(_ format: VideoFormat, durationNanoseconds: Int64) {
        self.init(
            size: PictureSize(width: Int(format.width), height: Int(format.height)),
            sampleAspectRatio: format.pixelShape, colour: format.knownProperties?.colour,
            rate: Self.rate(durationNanoseconds), hasConstantRate: false,
            orientation: format.orientation)
    }

    /// Rate of pictures with that duration, to a hundredth.
    private static func rate(_ durationNanoseconds: Int64) -> FrameRate {
        guard durationNanoseconds > 0 else { return PreviewPace.maximumRate }
        let hundredths = (100_000_000_000 + durationNanoseconds / 2) / durationNanoseconds
        return FrameRate(Int32(clamping: max(1, hundredths)), per: 100)
    }

    /// The size at which such pictures fit into a box: even sides, at least 2, in the same proportions, never larger than the
    /// pictures.
    func size(within box: PictureSize) -> PictureSize {
        let (width, height) = (max(2, size.width), max(2, size.height))
        // The side with less room decides.
        let isWider = width * box.height > height * box.width
        let (part, whole) = isWider ? (box.width, width) : (box.height, height)
        func scaled(_ side: Int) -> Int {
            guard part < whole else { return side & ~1 }
            return max(2, min(side & ~1, (side * part + whole) / (2 * whole) * 2))
        }
        return PictureSize(width: scaled(width), height: scaled(height))
    }
}
