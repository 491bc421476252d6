package import Media

/// A camera's capabilities, as it reports them.
package struct CameraAbilities: Hashable, Sendable {
    /// In the camera's own order.
    package var formats: [CameraFormat]
    /// Configurable ranges of its own H.264 encoder.
    package var encoder: CameraEncoderAbilities

    package init(
        formats: [CameraFormat], encoder: CameraEncoderAbilities = CameraEncoderAbilities()
    ) {
        self.formats = formats
        self.encoder = encoder
    }
}

/// The configurable range of a camera's own H.264 encoder.
package struct CameraEncoderAbilities: Hashable, Sendable {
    /// Bits per second; nil: not configurable.
    package var bitrates: ClosedRange<Int>?
    /// Keyframe interval in pictures; nil: not configurable.
    package var keyframePictures: ClosedRange<Int>?

    package init(bitrates: ClosedRange<Int>? = nil, keyframePictures: ClosedRange<Int>? = nil) {
        self.bitrates = bitrates
        self.keyframePictures = keyframePictures
    }
}

/// A camera's pixel format, and the sizes in this format.
package struct CameraFormat: Hashable, Sendable {
    package var code: CameraPixelCode
    /// The driver's name.
    package var name: String
    /// Whether the driver's library converts it from another format.
    package var isEmulated: Bool
    package var sizes: [CameraSize]

    package init(
        code: CameraPixelCode, name: String, isEmulated: Bool = false, sizes: [CameraSize]
    ) {
        self.code = code
        self.name = name
        self.isEmulated = isEmulated
        self.sizes = sizes
    }
}

/// A picture size, and its rates.
package struct CameraSize: Hashable, Sendable {
    package var size: PictureSize
    package var rates: CameraRates

    package init(_ size: PictureSize, rates: CameraRates) {
        self.size = size
        self.rates = rates
    }
}

/// The rates of one size.
package enum CameraRates: Hashable, Sendable {
    /// These rates only.
    case some([FrameRate])
    /// Any rate between two.
    case between(FrameRate, FrameRate)
    /// Not reported.
    case unknown

    /// The slowest rate that is at least `request`, or else the fastest; nil: not reported.
    package func nearest(to request: FrameRate) -> FrameRate? {
        switch self {
        case .some(let rates):
            return rates.filter { $0 >= request }.min() ?? rates.max()
        case .between(let slowest, let fastest):
            return min(max(request, slowest), fastest)
        case .unknown:
            return nil
        }
    }

    /// The fastest rate; nil: not reported.
    package var fastest: FrameRate? {
        switch self {
        case .some(let rates): rates.max()
        case .between(_, let fastest): fastest
        case .unknown: nil
        }
    }
}
