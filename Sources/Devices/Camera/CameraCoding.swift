/// The processing that a camera's pictures need to become H.264, least first.
package enum CameraCoding: Hashable, Sendable {
    /// None.
    case h264
    /// Pixels that libswscale can read.
    case raw(RawLayout)
    /// JPEG, which libavcodec decodes.
    case jpeg
    /// A format that only libv4lconvert can read.
    case foreign

    package init(_ code: CameraPixelCode) {
        switch code {
        case .h264: self = .h264
        case .mjpeg, .jpeg: self = .jpeg
        default: self = RawLayout(code).map(CameraCoding.raw) ?? .foreign
        }
    }

    /// The cost of a picture: 0 none, 1 encoding, 2 converting too, 3 decoding too.
    var work: Int {
        switch self {
        case .h264: 0
        case .raw(let layout): layout.isEncodable ? 1 : 2
        case .jpeg: 3
        case .foreign: 4
        }
    }
}
