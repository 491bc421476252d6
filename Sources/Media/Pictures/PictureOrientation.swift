/// The transformation of a picture for display: first mirrored, then rotated. Coded samples are not changed.
package struct PictureOrientation: Hashable, Sendable, CustomStringConvertible {
    /// Clockwise, in quarter turns.
    package enum Rotation: Int, CaseIterable, Hashable, Sendable {
        case none = 0
        case quarter = 90
        case half = 180
        case threeQuarters = 270
    }

    package var rotation: Rotation
    /// Left and right are exchanged.
    package var isMirrored: Bool

    /// As it was captured.
    package static let upright = PictureOrientation()

    package init(rotation: Rotation = .none, isMirrored: Bool = false) {
        self.rotation = rotation
        self.isMirrored = isMirrored
    }

    /// Whether width and height are exchanged.
    package var isOnItsSide: Bool { rotation == .quarter || rotation == .threeQuarters }

    package var description: String {
        switch (rotation, isMirrored) {
        case (.none, false): "upright"
        case (.none, true): "mirrored"
        case (_, false): "rotated by \(rotation.rawValue)°"
        case (_, true): "mirrored, then rotated by \(rotation.rawValue)°"
        }
    }
}

extension PictureSize {
    /// The size of a picture after the transformation.
    package func turned(_ orientation: PictureOrientation) -> PictureSize {
        orientation.isOnItsSide ? PictureSize(width: height, height: width) : self
    }
}

extension SampleAspectRatio {
    /// The pixels' shape after the transformation.
    package func turned(_ orientation: PictureOrientation) -> SampleAspectRatio {
        orientation.isOnItsSide ? SampleAspectRatio(vertical, to: horizontal) : self
    }
}

extension TrackFormat {
    /// The display orientation of pictures; audio is upright.
    package var orientation: PictureOrientation {
        switch self {
        case .video(let format): format.orientation
        case .audio: .upright
        }
    }
}
