import Encoding
package import Media

extension CaptureSettings {
    /// The box into which a preview's pictures fit by default.
    package static let smallBox = PictureSize(width: 640, height: 640)
    /// Bits per second of a small encoding: at most 15 pictures a second.
    package static let smallBitrate = 400_000

    /// The encoder for a preview of such pictures.
    func previewPlan(of shape: PictureShape) throws(CaptureError) -> VideoEncoderSettings {
        let size = shape.size(within: (video?.kind as? SmallInput)?.box ?? Self.smallBox)
        var plan = try plan(
            size: size, rate: PreviewPace.rate(of: shape.rate),
            hasConstantRate: shape.hasConstantRate)
        plan.colour = shape.colour
        plan.sampleAspectRatio = SampleAspectRatio.keepingShape(
            shape.sampleAspectRatio, of: shape.size, at: size)
        return plan
    }
}
