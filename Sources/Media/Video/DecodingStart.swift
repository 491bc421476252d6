/// The start of a stream's decoding, and of each of its sequences: drops pictures that need earlier ones, and marks pictures
/// before the decoder has recovered as not presented.
package struct DecodingStart: Hashable, Sendable {
    private enum State: Hashable {
        case waiting
        /// From the picture with this number on, so many reference frames are needed.
        case recovering(from: FrameNumber, frames: UInt32)
        /// With this access point; pictures that follow it may refer to pictures before it (ITU-T H.265 §8.1.3, RASL).
        case atAccessPoint
        case started
        /// The sequence has ended: the next access point is like the first one (ITU-T H.265 §8.1.3, NoRaslOutputFlag).
        case ended
    }

    private var state = State.waiting

    package init() {}

    /// Whether decoding can begin with a part of a stream: with its first picture, or anywhere in a stream without
    /// pictures.
    /// - Parameters:
    ///   - flags: of the part's first picture, by ``CodedPicture/accessPoint``; nil: it has none.
    ///   - hasVideo: whether the stream has pictures.
    package static func isPossible(at flags: SampleFlags?, hasVideo: Bool) -> Bool {
        flags?.contains(.keyframe) ?? !hasVideo
    }

    /// The flags of the next picture; nil when it cannot be decoded.
    package mutating func flags(of picture: CodedPicture) -> SampleFlags? {
        let point = picture.accessPoint
        defer { if picture.endsSequence, state != .waiting { state = .ended } }
        if point == .sync {
            let isFirst = state == .waiting || state == .ended || picture.isBrokenLink
            state = isFirst ? .atAccessPoint : .started
            return .keyframe
        }
        switch state {
        case .started, .ended:
            return []
        case .atAccessPoint:
            return picture.refersBeforeAccessPoint ? nil : []
        case .waiting:
            guard case .gradual(let frames) = point, let number = picture.frameNumber else {
                return nil
            }
            state = .recovering(from: number, frames: frames)
            return [.keyframe, .priming]
        case .recovering(let start, let frames):
            guard let number = picture.frameNumber else { return .priming }
            guard number.distance(from: start) >= frames % number.limit else { return .priming }
            state = .started
            return []
        }
    }
}
