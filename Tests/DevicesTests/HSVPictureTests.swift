import Media
import Testing

@testable import Devices

/// Colour bars as vivid of Linux 6.1 gives them: white, yellow, cyan, green, magenta, red, blue, black, three quarters of the way.
@Suite struct HSVPictureTests {
    private static let bars: [[UInt8]] = [
        [191, 191, 191], [191, 191, 0], [0, 191, 191], [0, 191, 0], [191, 0, 191], [191, 0, 0],
        [0, 0, 191], [0, 0, 0],
    ]
    private static let hues: [HSVPicture.HueEncoding: [UInt8]] = [
        .twoDegrees: [0, 30, 90, 60, 151, 0, 120, 0],
        .wholeByte: [0, 42, 127, 85, 215, 0, 170, 0],
    ]

    /// Two equal rows, with something between them that is no pixel.
    private static func picture(
        _ code: CameraPixelCode, _ encoding: HSVPicture.HueEncoding
    ) -> (bytes: [UInt8], bytesPerRow: Int) {
        var row: [UInt8] = []
        for (index, hue) in (hues[encoding] ?? []).enumerated() {
            if code == .hsv32 { row.append(0xEE) }
            row += [hue, [0, 7].contains(index) ? 0 : 255, index == 7 ? 0 : 191]
        }
        let padding: [UInt8] = [9, 9, 9, 9]
        // The last row may lack its padding.
        return (row + padding + row, row.count + padding.count)
    }

    @Test(
        arguments: [CameraPixelCode.hsv24, .hsv32],
        [HSVPicture.HueEncoding.twoDegrees, .wholeByte])
    func `colours are what their hue says, in the encoding that the driver names`(
        code: CameraPixelCode, encoding: HSVPicture.HueEncoding
    ) throws {
        let (bytes, bytesPerRow) = Self.picture(code, encoding)
        let picture = try #require(
            HSVPicture(
                code, encoding, size: PictureSize(width: 8, height: 2), bytesPerRow: bytesPerRow))
        var colours = [UInt8](repeating: 77, count: picture.convertedBytes)
        let isWhole = bytes.withUnsafeBytes { bytes in
            colours.withUnsafeMutableBytes { picture.convert(bytes, into: $0) }
        }
        #expect(isWhole)
        for (place, wanted) in (Self.bars + Self.bars).joined().enumerated() {
            // A step of two degrees is 6 of 191.
            #expect(abs(Int(colours[place]) - Int(wanted)) <= 7, "byte \(place)")
        }
    }

    @Test func `a picture that ends early is told from a whole one`() throws {
        let (bytes, bytesPerRow) = Self.picture(.hsv24, .twoDegrees)
        let picture = try #require(
            HSVPicture(
                .hsv24, .twoDegrees, size: PictureSize(width: 8, height: 2),
                bytesPerRow: bytesPerRow))
        for count in 0..<bytes.count {
            var colours = [UInt8](repeating: 77, count: picture.convertedBytes)
            let isWhole = bytes.prefix(count).withUnsafeBytes { bytes in
                colours.withUnsafeMutableBytes { picture.convert(bytes, into: $0) }
            }
            #expect(!isWhole)
            #expect(colours[24...].allSatisfy { $0 == 0 })
        }
    }

    @Test func `every value of every byte is a colour`() throws {
        for encoding in [HSVPicture.HueEncoding.twoDegrees, .wholeByte] {
            let picture = try #require(
                HSVPicture(
                    .hsv24, encoding, size: PictureSize(width: 256, height: 1), bytesPerRow: 768))
            for (saturation, value) in [(255, 255), (255, 1), (128, 255), (0, 200), (1, 0)] {
                let bytes = (0...255).flatMap { [UInt8($0), UInt8(saturation), UInt8(value)] }
                var colours = [UInt8](repeating: 0, count: picture.convertedBytes)
                let isWhole = bytes.withUnsafeBytes { bytes in
                    colours.withUnsafeMutableBytes { picture.convert(bytes, into: $0) }
                }
                #expect(isWhole)
                for hue in 0...255 {
                    let colour = colours[3 * hue..<3 * hue + 3].map(Int.init)
                    #expect(colour.max() == value)
                    #expect(abs((colour.min() ?? 0) - value * (255 - saturation) / 255) <= 1)
                }
            }
        }
    }
}
