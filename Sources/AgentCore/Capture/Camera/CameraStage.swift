import Devices
import Encoding
import Media

/// Processes a camera's pictures: one picture in, encoded samples out. Used on one thread.
protocol CameraStage: AnyObject {
    /// The output format.
    var format: TrackFormat { get }
    /// Human-readable description of input and processing.
    var text: String { get }
    /// libavcodec's name of the encoder; nil: the camera encodes.
    var encoder: String? { get }
    /// One line on the encoders that were tried before, if any was.
    var search: String? { get }
    /// Whether a keyframe was requested that only the camera can encode; resets the request.
    func takeKeyframeRequest() -> Bool
    /// Processes the next picture in the camera's buffer.
    func take(
        _ picture: CameraPicture, _ place: PictureTime, _ output: CaptureOutput
    ) throws(EncodingError)
    /// The camera was reopened: pictures have another memory layout from now on.
    func restart(_ layout: CameraPictureLayout) throws(EncodingError)
    /// Outputs pending samples.
    func finish(_ output: CaptureOutput) throws(EncodingError)
}

extension CameraStage {
    var encoder: String? { nil }
    var search: String? { nil }
    func takeKeyframeRequest() -> Bool { false }
}

/// A picture's time in the recording.
struct PictureTime: Hashable {
    var captureNanoseconds: Int64
    var durationNanoseconds: Int64
}

extension CaptureLoss {
    static func incomplete(at place: PictureTime, _ bytes: Int) -> CaptureLoss {
        CaptureLoss(
            track: .video, cause: .damagedInput, startNanoseconds: place.captureNanoseconds,
            durationNanoseconds: place.durationNanoseconds, samples: 1,
            text: "a picture from the camera was incomplete (\(bytes) bytes)")
    }
}
