/// The start of a stream's decoding: drops pictures that need earlier ones, and marks pictures before the decoder has
/// recovered as not presented.
package struct DecodingStart: Hashable, Sendable {
    private enum State: Hashable {
        case waiting
        /// From the picture with this `frame_num` on, this many reference frames are needed.
        case recovering(frameNumber: UInt32, frames: UInt32)
        case started
    }

    private var state = State.waiting

    package init() {}

    /// The flags of the next picture; nil when it cannot be decoded.
    package mutating func flags(of picture: CodedPicture) -> SampleFlags? {
        let point = picture.accessPoint
        if point == .sync {
            state = .started
            return .keyframe
        }
        switch state {
        case .started:
            return []
        case .waiting:
            guard case .gradual(let frames) = point, let identity = picture.first?.identity else {
                return nil
            }
            state = .recovering(frameNumber: identity.frameNumber, frames: frames)
            return [.keyframe, .priming]
        case .recovering(let frameNumber, let frames):
            guard let identity = picture.first?.identity else { return .priming }
            let limit = identity.frameNumberLimit
            let passed = (identity.frameNumber &+ limit &- frameNumber % limit) % limit
            guard passed >= frames % limit else { return .priming }
            state = .started
            return []
        }
    }
}
