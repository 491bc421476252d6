package import Media

/// The memory layout of a V4L2 raw pixel format, with all planes contiguous.
package struct RawLayout: Hashable, Sendable {
    /// FFmpeg's format, with its order of planes.
    package let format: PixelFormat
    /// Each plane in the buffer's order, relative to the first: divisors of width and height.
    private let planes: [Plane]
    /// Whether V precedes U in the buffer.
    private let isVFirst: Bool

    private struct Plane: Hashable, Sendable {
        var rowNumerator = 1
        var rowDenominator = 1
        var heightDivisor = 1
    }

    /// Whether encoders accept it without conversion.
    package var isEncodable: Bool { format == .yuv420p || format == .nv12 }

    /// Whether it is an RGB format, Bayer patterns included.
    var isRGB: Bool {
        ["rgb", "bgr", "bayer"].contains { format.name.contains($0) }
    }

    package init?(_ code: CameraPixelCode) {
        guard let known = Self.known[code.description] else { return nil }
        format = PixelFormat(name: known.name)
        isVFirst = known.shape == .planar420VFirst
        planes =
            switch known.shape {
            case .packed: [Plane()]
            case .planar420, .planar420VFirst:
                [Plane()]
                    + [Plane](repeating: Plane(rowDenominator: 2, heightDivisor: 2), count: 2)
            case .planar422:
                [Plane()] + [Plane](repeating: Plane(rowDenominator: 2), count: 2)
            case .semiplanar420: [Plane(), Plane(heightDivisor: 2)]
            case .semiplanar444: [Plane(), Plane(rowNumerator: 2)]
            }
    }

    private enum Shape {
        case packed, planar420, planar420VFirst, planar422
        case semiplanar420, semiplanar444
    }

    /// The formats of <linux/videodev2.h> that libswscale 6 supports.
    private static let known: [String: (name: String, shape: Shape)] = [
        "YUYV": ("yuyv422", .packed), "UYVY": ("uyvy422", .packed), "YVYU": ("yvyu422", .packed),
        "YU12": ("yuv420p", .planar420), "YV12": ("yuv420p", .planar420VFirst),
        "422P": ("yuv422p", .planar422),
        "NV12": ("nv12", .semiplanar420), "NV21": ("nv21", .semiplanar420),
        "NV24": ("nv24", .semiplanar444),
        "GREY": ("gray", .packed), "Y10": ("gray10le", .packed), "Y12": ("gray12le", .packed),
        "Y16": ("gray16le", .packed),
        "RGB3": ("rgb24", .packed), "BGR3": ("bgr24", .packed), "RGBP": ("rgb565le", .packed),
        "AR24": ("bgra", .packed), "XR24": ("bgr0", .packed), "AB24": ("rgba", .packed),
        "XB24": ("rgb0", .packed), "BA24": ("argb", .packed), "BX24": ("0rgb", .packed),
        "BA81": ("bayer_bggr8", .packed), "GBRG": ("bayer_gbrg8", .packed),
        "GRBG": ("bayer_grbg8", .packed), "RGGB": ("bayer_rggb8", .packed),
    ]

    /// All codes with a layout.
    package static var codes: [CameraPixelCode] {
        known.keys.sorted().compactMap { CameraPixelCode($0) }
    }

    /// Size of a picture.
    package func sizeBytes(bytesPerRow: Int, height: Int) -> Int {
        planes.reduce(0) {
            $0 + bytesPerRow * $1.rowNumerator / $1.rowDenominator * (height / $1.heightDivisor)
        }
    }

    /// The planes of a picture at the start of `bytes`; nil if it is truncated.
    package func planes(
        in bytes: UnsafeMutableRawBufferPointer, bytesPerRow: Int, height: Int
    ) -> [RawFrame.Plane]? {
        guard bytesPerRow > 0, height > 0, let base = bytes.baseAddress,
            bytes.count >= sizeBytes(bytesPerRow: bytesPerRow, height: height)
        else { return nil }
        var offset = 0
        var result: [RawFrame.Plane] = []
        for plane in planes {
            let row = bytesPerRow * plane.rowNumerator / plane.rowDenominator
            result.append(RawFrame.Plane(baseAddress: base + offset, bytesPerRow: row))
            offset += row * (height / plane.heightDivisor)
        }
        if isVFirst { result.swapAt(1, 2) }
        return result
    }
}
