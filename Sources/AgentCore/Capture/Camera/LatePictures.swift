import Encoding
import Media

/// Behaviour if the encoder is slower than the camera.
package enum LatePolicy: String, CaseIterable, Hashable, Sendable {
    /// Pictures that are more than half a second late are dropped.
    case drop
    /// Up to five seconds of pictures are queued: no picture is lost to a short load peak, but the recording is delayed.
    /// Pictures of cameras are queued in a ``PictureQueue``.
    case keep

    /// Maximum lateness of a picture, nanoseconds. `drop`: longer than a busy box stalls, short enough to be called live. `keep`:
    /// bounds memory; 5 s of 720p at 30 fps are 200 MB.
    package var patienceNanoseconds: Int64 {
        switch self {
        case .drop: 500_000_000
        case .keep: 5_000_000_000
        }
    }
}

/// Decides which pictures are too late to be encoded, and counts dropped ones. A value without a clock.
struct LatePictureFilter {
    /// Interval between reports of a loss that lasts.
    private static let longestUntoldNanoseconds: Int64 = 1_000_000_000

    private let patienceNanoseconds: Int64
    private var lost: CaptureLoss?

    init(_ policy: LatePolicy) {
        patienceNanoseconds = policy.patienceNanoseconds
    }

    /// Whether the picture is to be encoded.
    /// - Parameter tell: receives dropped pictures when the drop has ended.
    mutating func admits(
        captureNanoseconds: Int64, durationNanoseconds: Int64, nowNanoseconds: Int64,
        tell: (CaptureLoss) -> Void
    ) -> Bool {
        guard nowNanoseconds - captureNanoseconds > patienceNanoseconds else {
            flush(tell)
            return true
        }
        var loss =
            lost
            ?? CaptureLoss(
                track: .video, cause: .encoderOverload, startNanoseconds: captureNanoseconds,
                durationNanoseconds: 0, samples: 0, text: "")
        loss.samples += 1
        loss.durationNanoseconds =
            captureNanoseconds + durationNanoseconds - loss.startNanoseconds
        loss.text = "the encoder was too slow for \(loss.samples) pictures"
        lost = loss
        if loss.durationNanoseconds >= Self.longestUntoldNanoseconds { flush(tell) }
        return false
    }

    /// Reports dropped pictures.
    mutating func flush(_ tell: (CaptureLoss) -> Void) {
        if let lost { tell(lost) }
        lost = nil
    }
}
