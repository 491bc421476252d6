extension SampleAspectRatio {
    /// Pixels as wide as they are high.
    package static let square = SampleAspectRatio(horizontal: 1, vertical: 1)

    /// The ratio in lowest terms; nil when a part is zero, or when 16 bits cannot hold it (ISO/IEC 14496-10 §E.2.1).
    ///
    /// A ratio with larger numbers is rounded: the error is far below one pixel.
    package init?(reducing horizontal: Int64, _ vertical: Int64) {
        guard horizontal > 0, vertical > 0 else { return nil }
        var (a, b) = (horizontal, vertical)
        while b != 0 { (a, b) = (b, a % b) }
        var (wide, high) = (horizontal / a, vertical / a)
        while wide > Int64(UInt16.max) || high > Int64(UInt16.max) {
            wide /= 2
            high /= 2
        }
        guard let wide = UInt16(exactly: wide), let high = UInt16(exactly: high), wide > 0, high > 0
        else { return nil }
        self.init(horizontal: wide, vertical: high)
    }

    /// The pixel shape that preserves a picture's proportions at another size.
    ///
    /// Nil: square, to within two pixels of the width.
    ///
    /// - Parameters:
    ///   - ratio: of the picture's pixels; nil: square.
    ///   - size: of the shown part of the picture.
    ///   - newSize: the size after scaling.
    package static func keepingShape(
        _ ratio: SampleAspectRatio?, of size: PictureSize, at newSize: PictureSize
    ) -> SampleAspectRatio? {
        let ratio = ratio ?? .square
        // Sides have at most 16,384 pixels and ratios 16 bits: the products fit.
        let wide = Int64(ratio.horizontal) * Int64(size.width) * Int64(newSize.height)
        let high = Int64(ratio.vertical) * Int64(size.height) * Int64(newSize.width)
        guard high > 0, (wide - high).magnitude > 2 * high.magnitude / UInt64(max(1, newSize.width))
        else { return nil }
        return SampleAspectRatio(reducing: wide, high)
    }

    /// The picture's size with square pixels: neither side shrinks.
    ///
    /// - Parameter longest: maximum length of a side; with a longer one, the ratio is ignored.
    package func squared(_ size: PictureSize, longest: Int) -> PictureSize {
        let (wide, high) = (Int(horizontal), Int(vertical))
        let squared = PictureSize(
            width: wide > high ? (size.width * wide + high / 2) / high : size.width,
            height: wide < high ? (size.height * high + wide / 2) / wide : size.height)
        return max(squared.width, squared.height) > longest ? size : squared
    }
}

extension VideoFormat {
    /// The pixel shape for display: the container's, else the stream's; nil: neither states one.
    package var pixelShape: SampleAspectRatio? { sampleAspectRatio ?? ownPixelShape }

    /// The shape in the first sequence parameter set.
    private var ownPixelShape: SampleAspectRatio? { knownProperties?.sampleAspectRatio }

    /// Sets the container's shape; it is stored only if it differs from the stream's.
    package mutating func setPixelShape(_ shape: SampleAspectRatio?) {
        sampleAspectRatio = nil
        guard let shape else { return }
        let own = ownPixelShape ?? .square
        // 4:2 equals 2:1.
        let isSame =
            UInt32(own.horizontal) * UInt32(shape.vertical)
            == UInt32(own.vertical) * UInt32(shape.horizontal)
        if !isSame { sampleAspectRatio = shape }
    }
}
