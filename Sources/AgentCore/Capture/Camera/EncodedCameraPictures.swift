import Devices
import Encoding
import Media
import Synchronization

/// A camera's raw or JPEG pictures, encoded: raw ones directly from the driver's buffer, if the encoder supports
/// that.
final class EncodedCameraPictures: CameraStage {
    private let pictures: LivePictures
    private var source: Source
    private var layout: CameraPictureLayout

    private enum Source {
        case raw(RawLayout)
        case jpeg(JPEGDecoder)
    }

    init(
        _ plan: VideoEncoderSettings, _ layout: CameraPictureLayout, for settings: CaptureSettings
    ) throws(EncodingError) {
        // With `keep`, the queue is bounded: its pictures are not dropped for being late.
        pictures = try LivePictures(
            plan, for: settings, late: settings.late == .keep ? nil : settings.late)
        source = try Self.source(layout)
        self.layout = layout
    }

    var format: TrackFormat { .video(pictures.format) }
    var text: String { pictures.description.withLock { $0 } }
    var encoder: String? { pictures.plan.encoder }
    var search: String? { pictures.search }

    func restart(_ layout: CameraPictureLayout) throws(EncodingError) {
        source = try Self.source(layout)
        self.layout = layout
    }

    func take(
        _ picture: CameraPicture, _ place: PictureTime, _ output: CaptureOutput
    ) throws(EncodingError) {
        switch source {
        case .raw(let raw):
            let planes = raw.planes(
                in: picture.bytes, bytesPerRow: layout.bytesPerRow, height: layout.size.height)
            guard let planes else {
                return output.lost(.incomplete(at: place, picture.bytes.count))
            }
            let frame = RawFrame(
                format: raw.format, width: layout.size.width, height: layout.size.height,
                planes: planes, colour: layout.colour,
                captureNanoseconds: place.captureNanoseconds,
                durationNanoseconds: place.durationNanoseconds, owner: picture.owner)
            try pictures.encode(frame, output)
        case .jpeg(let decoder):
            let frame: RawFrame?
            do throws(EncodingError) {
                frame = try decoder.frame(picture, place)
            } catch .damagedPacket {
                frame = nil
            }
            guard let frame else {
                return output.lost(.incomplete(at: place, picture.bytes.count))
            }
            try pictures.encode(frame, output)
        }
    }

    func finish(_ output: CaptureOutput) throws(EncodingError) {
        try pictures.finish(output)
    }

    private static func source(
        _ layout: CameraPictureLayout
    ) throws(EncodingError) -> Source {
        switch layout.coding {
        case .raw(let raw): .raw(raw)
        case .jpeg: .jpeg(try JPEGDecoder(layout))
        case .h264: throw .noConversion(from: "the camera's H.264", to: "raw pictures")
        case .foreign: throw .noConversion(from: "the camera's format", to: "raw pictures")
        }
    }
}
