import Media

/// Converts pictures of hue, saturation and value, 8 bits each (`V4L2_PIX_FMT_HSV24` and `HSV32`), to RGB.
///
/// libswscale does not support them. libv4lconvert assumes hues of 0 to 179, and writes past the end of a picture in
/// YUV 4:2:0.
struct HSVPicture: Hashable, Sendable {
    /// The range of the hue (`enum v4l2_hsv_encoding`).
    enum HueEncoding: Int, Hashable, Sendable {
        /// 0 to 179, in steps of two degrees.
        case twoDegrees = 180
        /// 0 to 255.
        case wholeByte = 256
    }

    /// Bytes per pixel.
    private let pixelBytes: Int
    private let size: PictureSize
    private let bytesPerRow: Int
    private let hues: [Hue]

    /// A hue's sector of the colour circle, and its fraction of the sector, of 255.
    private struct Hue: Hashable {
        var sector: UInt8
        var fraction: UInt32
    }

    /// - Returns: nil for another format.
    init?(
        _ code: CameraPixelCode, _ hues: HueEncoding, size: PictureSize, bytesPerRow: Int
    ) {
        switch code {
        case .hsv24: pixelBytes = 3
        case .hsv32: pixelBytes = 4
        default: return nil
        }
        self.size = size
        self.bytesPerRow = max(bytesPerRow, pixelBytes * size.width)
        let circle = hues.rawValue
        self.hues = (0...255).map { hue in
            let corners = 6 * (hue % circle)
            return Hue(
                sector: UInt8(corners / circle),
                fraction: UInt32((255 * (corners % circle) + circle / 2) / circle))
        }
    }

    /// Size of the output of ``convert(_:into:)``: red, green and blue, three bytes each, rows without padding.
    var convertedBytes: Int { 3 * size.width * size.height }

    /// - Parameters:
    ///   - bytes: a picture; may be truncated.
    ///   - target: at least ``convertedBytes``.
    /// - Returns: false if rows are missing, which are black in the target.
    func convert(
        _ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) -> Bool {
        precondition(target.count >= convertedBytes, "there is room for the picture")
        let rows = min(
            size.height, (bytes.count + bytesPerRow - pixelBytes * size.width) / bytesPerRow)
        for row in 0..<max(0, rows) {
            var source = row * bytesPerRow + pixelBytes - 3
            var place = 3 * row * size.width
            for _ in 0..<size.width {
                let hue = hues[Int(bytes[source])]
                let colour = Self.colour(hue, UInt32(bytes[source + 1]), UInt32(bytes[source + 2]))
                target[place] = colour.red
                target[place + 1] = colour.green
                target[place + 2] = colour.blue
                source += pixelBytes
                place += 3
            }
        }
        let written = 3 * max(0, rows) * size.width
        UnsafeMutableRawBufferPointer(rebasing: target[written..<convertedBytes])
            .initializeMemory(as: UInt8.self, repeating: 0)
        return rows == size.height
    }

    private static func colour(
        _ hue: Hue, _ saturation: UInt32, _ value: UInt32
    ) -> (red: UInt8, green: UInt8, blue: UInt8) {
        func less(_ part: UInt32) -> UInt8 {
            UInt8((value * (255 * 255 - saturation * part) + 255 * 255 / 2) / (255 * 255))
        }
        let most = UInt8(value)
        let least = less(255)
        let falling = less(hue.fraction)
        let rising = less(255 - hue.fraction)
        switch hue.sector {
        case 0: return (most, rising, least)
        case 1: return (falling, most, least)
        case 2: return (least, most, rising)
        case 3: return (least, falling, most)
        case 4: return (rising, least, most)
        default: return (most, least, falling)
        }
    }
}
