package import Media

/// Counts pictures dropped by the driver, from its sequence numbers.
///
/// The number has 32 bits and wraps. It restarts with every start of capture. For drivers that do not count, times are
/// used instead.
package struct CameraSequence: Hashable, Sendable {
    private struct Last: Hashable {
        var number: UInt32
        var nanoseconds: Int64
        /// From the previous picture.
        var stepNanoseconds: Int64
    }

    /// A number that is ahead of the time by more pictures than this is not a sequence number.
    private static let slackPictures: Int64 = 4

    private let intervalNanoseconds: Int64
    private var last: Last?

    /// - Parameter rate: the expected rate.
    package init(rate: FrameRate) {
        intervalNanoseconds = max(1, rate.nanoseconds(ofPicture: 1))
    }

    /// The number of pictures missing before the next one.
    package mutating func missing(before number: UInt32, atNanoseconds time: Int64) -> Int {
        guard let last else {
            self.last = Last(number: number, nanoseconds: time, stepNanoseconds: 0)
            return 0
        }
        let elapsed = max(0, time - last.nanoseconds)
        self.last = Last(number: number, nanoseconds: time, stepNanoseconds: elapsed)
        let step = Int64(number &- last.number)
        // A slowed camera captures fewer pictures than its stated rate, never many more.
        let isCount =
            step != 0 && step <= 2 * (elapsed / intervalNanoseconds) + Self.slackPictures
        if isCount { return Int(step) - 1 }
        // No sequence number, or a restarted one. A camera may have slowed down: an interval as long as the previous
        // one is no gap.
        let usual = max(intervalNanoseconds, last.stepNanoseconds)
        return max(0, Int(clamping: (elapsed + usual / 2) / usual - 1))
    }
}
