/// A V4L2 four-character pixel format: an open set.
package struct CameraPixelCode: Hashable, Sendable, CustomStringConvertible {
    /// The characters, the first in the lowest byte.
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Up to four characters, padded with spaces; nil for another length.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...4).contains(bytes.count), bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return nil }
        let padded = bytes + [UInt8](repeating: 0x20, count: 4 - bytes.count)
        rawValue = padded.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Parses a name (`yuyv`, `mjpeg`) or the four characters.
    package init?(argument: String) {
        let words = ["yu12": "YU12", "i420": "YU12", "mjpeg": "MJPG", "h264": "H264"]
        let word = argument.lowercased()
        self.init(words[word] ?? (argument == word ? argument.uppercased() : argument))
    }

    package static let yuyv = CameraPixelCode(rawValue: 0x5659_5559)
    package static let yu12 = CameraPixelCode(rawValue: 0x3231_5559)
    package static let nv12 = CameraPixelCode(rawValue: 0x3231_564E)
    package static let mjpeg = CameraPixelCode(rawValue: 0x4750_4A4D)
    package static let jpeg = CameraPixelCode(rawValue: 0x4745_504A)
    package static let h264 = CameraPixelCode(rawValue: 0x3436_3248)
    package static let rgb24 = CameraPixelCode(rawValue: 0x3342_4752)

    /// HSV: libv4lconvert 1.22 assumes hues of 0 to 179, and writes past the end of a picture.
    private static let unsupported: Set = [
        CameraPixelCode(rawValue: 0x3356_5348), CameraPixelCode(rawValue: 0x3456_5348),
    ]

    var isSupported: Bool { !Self.unsupported.contains(self) }

    /// "YUYV"; a non-printable byte becomes a dot, the top bit (big-endian) is omitted.
    package var description: String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (8 * $0)) & 0x7F }
        let text = String(
            decoding: bytes.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") },
            as: UTF8.self)
        return String(text.reversed().drop { $0 == " " }.reversed())
    }
}
