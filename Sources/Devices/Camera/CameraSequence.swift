package import Media

/// How many pictures a driver has left out, by its own count.
///
/// The count has 32 bits and wraps. It begins anew with every start of the capture. Some drivers do not count at all;
/// of those, the times tell.
package struct CameraSequence: Hashable, Sendable {
    private struct Last: Hashable {
        var number: UInt32
        var nanoseconds: Int64
        /// From the picture before it.
        var stepNanoseconds: Int64
    }

    /// A count that runs ahead of the time by more pictures than this is no count.
    private static let slackPictures: Int64 = 4

    private let intervalNanoseconds: Int64
    private var last: Last?

    /// Pictures come at that rate, as far as anybody knows.
    package init(rate: FrameRate) {
        intervalNanoseconds = max(1, rate.nanoseconds(ofPicture: 1))
    }

    /// Takes the next picture; how many are missing before it.
    package mutating func missing(before number: UInt32, atNanoseconds time: Int64) -> Int {
        guard let last else {
            self.last = Last(number: number, nanoseconds: time, stepNanoseconds: 0)
            return 0
        }
        let elapsed = max(0, time - last.nanoseconds)
        self.last = Last(number: number, nanoseconds: time, stepNanoseconds: elapsed)
        let step = Int64(number &- last.number)
        // A camera that has slowed down takes fewer pictures than its rate says, never many more.
        let isCount =
            step != 0 && step <= 2 * (elapsed / intervalNanoseconds) + Self.slackPictures
        if isCount { return Int(step) - 1 }
        // No count, or a new one. A camera may have slowed down: what is as slow as the last picture is not late.
        let usual = max(intervalNanoseconds, last.stepNanoseconds)
        return max(0, Int(clamping: (elapsed + usual / 2) / usual - 1))
    }
}
