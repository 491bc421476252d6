import Encoding
import Glibc
import Media

/// The buffers of a camera that encodes.
extension ScriptedCamera {
    /// Access units of our own encoder as a camera would give them: parameter sets before each keyframe, which is every fifth.
    static func accessUnits(_ count: Int) throws -> (format: VideoFormat, units: [[UInt8]]) {
        var settings = VideoEncoderSettings(
            size: PictureSize(width: 160, height: 90), frameRate: FrameRate(10),
            hasConstantRate: true)
        settings.keyframeInterval = .milliseconds(500)
        settings.preset = "ultrafast"
        var encoder = try VideoEncoder(settings)
        var units: [[UInt8]] = []
        let format = encoder.format
        var samples: [EncodedSample] = []
        for number in 0..<count {
            let picture = PictureBuffer(width: 160, height: 90)
            for plane in picture.planes {
                memset(plane.baseAddress, Int32(40 + number % 100), plane.bytesPerRow * 45)
            }
            try encoder.encode(
                picture.frame(
                    captureNanoseconds: Int64(number) * 100_000_000,
                    durationNanoseconds: 100_000_000, colour: nil)
            ) { samples.append($0) }
        }
        try encoder.finish { samples.append($0) }
        for sample in samples {
            var unit: [UInt8] = []
            if sample.flags.contains(.keyframe) {
                for set in format.parameterSets {
                    unit += [0, 0, 0, 1] + set
                }
            }
            units.append(unit + (try AnnexB.stream(fromLengthPrefixed: sample.data.span)))
        }
        return (format, units)
    }
}
