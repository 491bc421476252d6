import Encoding
import Media

/// What becomes of pictures when the encoder is slower than the camera.
package enum LatePolicy: String, CaseIterable, Hashable, Sendable {
    /// Half a second of them may wait, then some are left out: what is encoded stays live.
    case drop
    /// Up to five seconds of them wait: a busy moment costs no picture, but the recording lags behind for its length. A camera's
    /// wait in a ``PictureQueue``.
    case keep

    /// How late a picture may be and still be encoded, nanoseconds. Drop: longer than a busy box stalls, short enough to be
    /// called live. Keep: what keeps raw pictures in a box's memory has to end somewhere; 5 s of 720p at 30 per second are 200 MB.
    package var patienceNanoseconds: Int64 {
        switch self {
        case .drop: 500_000_000
        case .keep: 5_000_000_000
        }
    }
}

/// Decides which pictures are too late to be encoded, and adds up what is left out. A value without a clock.
struct LatePictureFilter {
    /// Interval between reports of a loss that lasts.
    private static let longestUntoldNanoseconds: Int64 = 1_000_000_000

    private let patienceNanoseconds: Int64
    private var lost: CaptureLoss?

    init(_ policy: LatePolicy) {
        patienceNanoseconds = policy.patienceNanoseconds
    }

    /// Whether the picture is to be encoded; `tell` gets what has been left out, as soon as that is over.
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

    /// Tells what has been left out.
    mutating func flush(_ tell: (CaptureLoss) -> Void) {
        if let lost { tell(lost) }
        lost = nil
    }
}
