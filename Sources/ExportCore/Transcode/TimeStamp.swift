import Archive
import Encoding
import Media

/// Paints a source's name and the capture time on its pictures. Owned by one thread.
///
/// The time is UTC, and labelled as such. A decoder may still reference the pictures that it has returned, so each is painted
/// on a copy.
final class TimeStamp {
    /// Lines of a picture per pixel of a font dot's width.
    private static let linesPerDot = 270
    /// Height of a line of text with its margin, font dots.
    private static let lineHeight = 11

    private let name: String
    private let zero: UTCTime
    private var size: PictureSize?
    private var converter: PictureConverter?

    init(name: String, zero: UTCTime) {
        self.name = name
        self.zero = zero
    }

    /// The text for a picture.
    /// - Parameter instant: its capture time, nanoseconds of session time.
    func words(at instant: Int64) -> String {
        let utc = zero.advanced(by: instant).description
        return "\(utc.replacing("T", with: " ").replacing("Z", with: " UTC"))  \(name)"
    }

    /// A copy of a picture with the text painted on it.
    /// - Parameter frame: its capture time is in session time.
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
