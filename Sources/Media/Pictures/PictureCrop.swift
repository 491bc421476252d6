/// A rectangle of a picture, in pixels from its upper left corner; even, because colour has half the resolution.
package struct PictureCrop: Hashable, Sendable, CustomStringConvertible {
    package let x: Int
    package let y: Int
    package let size: PictureSize

    /// - Returns: nil unless all values are even and the size is positive.
    package init?(x: Int, y: Int, size: PictureSize) {
        guard x >= 0, y >= 0, size.width > 0, size.height > 0, x <= Int(Int32.max),
            y <= Int(Int32.max), size.width <= Int(Int32.max), size.height <= Int(Int32.max),
            (x | y | size.width | size.height) & 1 == 0
        else { return nil }
        self.x = x
        self.y = y
        self.size = size
    }

    /// `640x360+10+20`.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "+", omittingEmptySubsequences: false)
        guard parts.count == 3, let x = Int(parts[1]), let y = Int(parts[2]) else { return nil }
        let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1]) else {
            return nil
        }
        self.init(x: x, y: y, size: PictureSize(width: width, height: height))
    }

    package var description: String { "\(size.width)x\(size.height)+\(x)+\(y)" }

    /// Whether it lies within a picture of this size.
    package func fits(_ whole: PictureSize) -> Bool {
        x + size.width <= whole.width && y + size.height <= whole.height
    }
}

extension RawFrame {
    /// The rectangle of the picture, in the same memory; nil if it does not fit, or for a pixel format that is not
    /// supported here (planar and semi-planar 4:2:0, packed 4:2:2 and packed RGB are).
    package func cropped(to crop: PictureCrop) -> RawFrame? {
        guard crop.fits(PictureSize(width: width, height: height)) else { return nil }
        // For each plane: twice the bytes per pixel; rows of the picture per row of the plane.
        let steps: [(halfBytes: Int, rows: Int)]
        switch format {
        case .yuv420p: steps = [(2, 1), (1, 2), (1, 2)]
        case .nv12: steps = [(2, 1), (2, 2)]
        case .yuyv422: steps = [(4, 1)]
        case .rgb24: steps = [(6, 1)]
        default: return nil
        }
        guard planes.count >= steps.count else { return nil }
        var result = self
        result.width = crop.size.width
        result.height = crop.size.height
        result.planes = zip(planes, steps).map { plane, step in
            Plane(
                baseAddress: plane.baseAddress + crop.y / step.rows * plane.bytesPerRow
                    + crop.x * step.halfBytes / 2, bytesPerRow: plane.bytesPerRow)
        }
        return result
    }
}
