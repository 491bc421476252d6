package import Media

/// What is wanted of a camera.
package struct CameraRequest: Hashable, Sendable {
    /// How large the pictures are to be.
    package enum Size: Hashable, Sendable {
        /// Exactly so; made smaller from a larger size of the same shape where the camera has no such size.
        case exactly(PictureSize)
        /// The first of these that the camera has, quick enough.
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

    /// What the camera's own H.264 has to be like.
    package struct H264Needs: Hashable, Sendable {
        /// Bits per second.
        package var bitrate: Int
        package var keyframeIntervalNanoseconds: Int64

        package init(bitrate: Int, keyframeIntervalNanoseconds: Int64) {
            self.bitrate = bitrate
            self.keyframeIntervalNanoseconds = keyframeIntervalNanoseconds
        }

        /// Pictures from one keyframe to the next.
        func keyframePictures(at rate: FrameRate) -> Int {
            Int(clamping: max(1, rate.pictures(inNanoseconds: keyframeIntervalNanoseconds)))
        }
    }

    /// Whether the camera's own H.264 is to be used.
    package enum OwnH264: Hashable, Sendable {
        /// If the camera can be told these.
        case ifItMeets(H264Needs)
        /// Whatever it is like; what can be told is told.
        case always(H264Needs)
        /// Not, for that reason.
        case never(String)
    }

    package var size: Size
    /// Pictures per second.
    package var rate: FrameRate
    package var ownH264: OwnH264
    /// Nil: whatever is least work.
    package var code: CameraPixelCode?

    package init(
        size: Size, rate: FrameRate, ownH264: OwnH264, code: CameraPixelCode? = nil
    ) {
        self.size = size
        self.rate = rate
        self.ownH264 = ownH264
        self.code = code
    }

    /// Sizes that a camera is asked for that has them without end.
    var interestingSizes: [PictureSize] {
        switch size {
        case .exactly(let size): [size]
        case .levels(let levels): levels.map(\.size)
        }
    }
}
