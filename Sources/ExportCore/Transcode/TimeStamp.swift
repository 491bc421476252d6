import Archive
import Encoding
import Media

/// Paints a source's name and the capture time on its pictures. Owned by one thread.
///
/// UTC, and labelled so: it does not depend on the viewer's time zone. Decoders refer to the pictures that they have given out, so each is painted
/// on a copy.
final class TimeStamp {
    /// Lines of a picture for each pixel of a letter's dot.
    private static let linesPerDot = 270
    /// Of the font, with its margin.
    private static let lineHeight = 11

    private let name: String
    private let zero: UTCTime
    private var size: PictureSize?
    private var converter: PictureConverter?

    init(name: String, zero: UTCTime) {
        self.name = name
        self.zero = zero
    }

    /// The words for a picture of an instant, nanoseconds of session time.
    func words(at instant: Int64) -> String {
        let utc = zero.advanced(by: instant).description
        return "\(utc.replacing("T", with: " ").replacing("Z", with: " UTC"))  \(name)"
    }

    /// A copy of a picture with its time on it.
    /// - Parameter frame: its capture time is session time.
    func stamped(_ frame: RawFrame) throws -> RawFrame {
        let even = PictureSize(width: frame.width & ~1, height: frame.height & ~1)
        if size != even {
            size = even
            converter = PictureConverter(size: even)
        }
        guard var copy = try converter?.convert(frame), let buffer = copy.owner as? PictureBuffer
        else { return frame }
        let scale = max(1, even.height / Self.linesPerDot)
        GridCanvas(buffer: buffer).write(
            words(at: frame.captureNanoseconds), 0,
            max(0, even.height - Self.lineHeight * scale) & ~1, scale: scale)
        copy.sampleAspectRatio = frame.sampleAspectRatio
        return copy
    }
}
