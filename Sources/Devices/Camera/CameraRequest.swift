package import Media

/// A request for a camera's capture mode.
package struct CameraRequest: Hashable, Sendable {
    /// The requested size.
    package enum Size: Hashable, Sendable {
        /// This size; scaled down from a larger one of the same shape if the camera does not have it.
        case exactly(PictureSize)
        /// The first of these that the camera has at a sufficient rate.
        case levels([Level])
    }

    /// A named size.
    package struct Level: Hashable, Sendable {
        package var name: String
        package var size: PictureSize

        package init(name: String, size: PictureSize) {
            self.name = name
            self.size = size
        }
    }

    /// Requirements for the camera's own H.264.
    package struct H264Needs: Hashable, Sendable {
        /// Bits per second.
        package var bitrate: Int
        package var keyframeIntervalNanoseconds: Int64

        package init(bitrate: Int, keyframeIntervalNanoseconds: Int64) {
            self.bitrate = bitrate
            self.keyframeIntervalNanoseconds = keyframeIntervalNanoseconds
        }

        /// Keyframe interval in pictures.
        func keyframePictures(at rate: FrameRate) -> Int {
            Int(clamping: max(1, rate.pictures(inNanoseconds: keyframeIntervalNanoseconds)))
        }
    }

    /// Whether the camera's own H.264 is to be used.
    package enum OwnH264: Hashable, Sendable {
        /// If the camera can be configured so.
        case ifItMeets(H264Needs)
        /// Always; configured as far as possible.
        case always(H264Needs)
        /// Never, for this reason.
        case never(String)
    }

    package var size: Size
    /// Pictures per second.
    package var rate: FrameRate
    package var ownH264: OwnH264
    /// `nil` for the format with the least processing.
    package var code: CameraPixelCode?

    package init(
        size: Size, rate: FrameRate, ownH264: OwnH264, code: CameraPixelCode? = nil
    ) {
        self.size = size
        self.rate = rate
        self.ownH264 = ownH264
        self.code = code
    }

    /// Sizes to query on a camera with a continuous range.
    var interestingSizes: [PictureSize] {
        switch size {
        case .exactly(let size): [size]
        case .levels(let levels): levels.map(\.size)
        }
    }
}
