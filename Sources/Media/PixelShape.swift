extension SampleAspectRatio {
    /// Pixels as wide as they are high.
    package static let square = SampleAspectRatio(horizontal: 1, vertical: 1)

    /// The ratio in lowest terms; nil when a part is zero, or when 16 bits cannot hold it (ISO/IEC 14496-10 §E.2.1).
    ///
    /// A ratio with larger numbers is rounded: 1/65,535 is far less than a pixel.
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

    /// The shape of pixels with which a picture looks as before when it has another size.
    ///
    /// Nil: square, to within two pixels of the width.
    ///
    /// - Parameters:
    ///   - ratio: of the picture's pixels; nil: square.
    ///   - size: of the picture, as far as it is shown.
    ///   - newSize: what it is scaled to.
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

    /// The size that a picture has with square pixels: nothing is made smaller.
    ///
    /// - Parameter longest: side of a picture that is made; past it, the ratio is not believed.
    package func squared(_ size: PictureSize, longest: Int) -> PictureSize {
        let (wide, high) = (Int(horizontal), Int(vertical))
        let squared = PictureSize(
            width: wide > high ? (size.width * wide + high / 2) / high : size.width,
            height: wide < high ? (size.height * high + wide / 2) / wide : size.height)
        return max(squared.width, squared.height) > longest ? size : squared
    }
}

extension H264Format {
    /// The shape of the pixels, as players are to show it: what the container says, else what the stream says; nil: nothing does.
    package var pixelShape: SampleAspectRatio? { sampleAspectRatio ?? ownPixelShape }

    /// The shape that the first sequence parameter set says.
    private var ownPixelShape: SampleAspectRatio? {
        do throws(BitstreamError) {
            guard let set = sequenceParameterSets.first else { return nil }
            return try SequenceParameterSet(parsing: set).usability?.sampleAspectRatio
        } catch {
            // A set that does not read says nothing; that it does not read, its users find out.
            return nil
        }
    }

    /// Takes over what a container says; that is kept only where the stream says something else.
    package mutating func setPixelShape(_ shape: SampleAspectRatio?) {
        sampleAspectRatio = nil
        guard let shape else { return }
        let own = ownPixelShape ?? .square
        // 4:2 is 2:1.
        let isSame =
            UInt32(own.horizontal) * UInt32(shape.vertical)
            == UInt32(own.vertical) * UInt32(shape.horizontal)
        if !isSame { sampleAspectRatio = shape }
    }
}
