package import Media

/// What a camera can do, as it says itself.
package struct CameraAbilities: Hashable, Sendable {
    /// In the camera's own order.
    package var formats: [CameraFormat]
    /// Of its own H.264 encoder, as far as it can be told anything.
    package var encoder: CameraEncoderAbilities

    package init(
        formats: [CameraFormat], encoder: CameraEncoderAbilities = CameraEncoderAbilities()
    ) {
        self.formats = formats
        self.encoder = encoder
    }
}

/// What a camera's own H.264 encoder can be told.
package struct CameraEncoderAbilities: Hashable, Sendable {
    /// Bits per second that can be asked for; nil: it does as it likes.
    package var bitrates: ClosedRange<Int>?
    /// Pictures from one keyframe to the next that can be asked for; nil: it does as it likes.
    package var keyframePictures: ClosedRange<Int>?

    package init(bitrates: ClosedRange<Int>? = nil, keyframePictures: ClosedRange<Int>? = nil) {
        self.bitrates = bitrates
        self.keyframePictures = keyframePictures
    }
}

/// One of a camera's formats, with the sizes that it offers in this format.
package struct CameraFormat: Hashable, Sendable {
    package var code: CameraPixelCode
    /// The driver's words.
    package var name: String
    /// The driver's library makes it of another format.
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

/// A size of a camera's pictures, and how many of them it takes in a second.
package struct CameraSize: Hashable, Sendable {
    package var size: PictureSize
    package var rates: CameraRates

    package init(_ size: PictureSize, rates: CameraRates) {
        self.size = size
        self.rates = rates
    }
}

/// The rates that a camera has for one size.
package enum CameraRates: Hashable, Sendable {
    /// These.
    case some([FrameRate])
    /// Any between two.
    case between(FrameRate, FrameRate)
    /// It does not say: it does as it likes.
    case unknown

    /// The slowest that is at least the wished one, or else the fastest; nil: it does not say.
    package func nearest(to wish: FrameRate) -> FrameRate? {
        switch self {
        case .some(let rates):
            return rates.filter { $0 >= wish }.min() ?? rates.max()
        case .between(let slowest, let fastest):
            return min(max(wish, slowest), fastest)
        case .unknown:
            return nil
        }
    }

    /// The fastest; nil: it does not say.
    package var fastest: FrameRate? {
        switch self {
        case .some(let rates): rates.max()
        case .between(_, let fastest): fastest
        case .unknown: nil
        }
    }
}
