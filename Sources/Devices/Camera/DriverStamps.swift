/// Determines the capture times of a camera's pictures, on `CLOCK_MONOTONIC`.
///
/// Drivers stamp buffers with that clock and declare it. A stamp is used if it is plausible: after the previous one,
/// and near the time at which the buffer was dequeued. Any other stamp (of another clock, wrapped, or missing) is
/// replaced by the dequeue time, less the shortest delay observed between the two with valid stamps.
package struct DriverStamps: Hashable, Sendable {
    /// A picture's capture time, and its origin.
    package struct Moment: Hashable, Sendable {
        package var nanoseconds: Int64
        package var isDriversOwn: Bool
    }

    /// After a suspend or a stall, pictures in the driver's buffers are up to this old.
    private static let oldestNanoseconds: Int64 = 60_000_000_000
    /// Some drivers stamp the expected end of the readout, and deliver the buffer before that. This is longer than a
    /// picture takes at 2 per second.
    private static let newestNanoseconds: Int64 = 500_000_000
    /// Minimum distance of two pictures: encoders count microseconds.
    private static let leastStepNanoseconds: Int64 = 1_000

    private var lastNanoseconds: Int64?
    private var leastDelayNanoseconds: Int64?
    /// Number of implausible stamps.
    package private(set) var replaced = 0

    package init() {}

    /// A kernel timestamp in nanoseconds; nil on overflow.
    static func nanoseconds(seconds: Int64, microseconds: Int64) -> Int64? {
        let (scaled, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (rest, isRestOver) = microseconds.multipliedReportingOverflow(by: 1_000)
        let (sum, isSumOver) = scaled.addingReportingOverflow(rest)
        return isOver || isRestOver || isSumOver ? nil : sum
    }

    /// The capture time of the next picture. `isMonotonic`: whether the driver declares `CLOCK_MONOTONIC` stamps.
    package mutating func moment(
        stampNanoseconds stamp: Int64, isMonotonic: Bool, takenNanoseconds taken: Int64
    ) -> Moment {
        let delay = taken.subtractingReportingOverflow(stamp)
        let isPossible =
            isMonotonic && !delay.overflow && delay.partialValue >= -Self.newestNanoseconds
            && delay.partialValue <= Self.oldestNanoseconds
            && lastNanoseconds.map { stamp >= $0 + Self.leastStepNanoseconds } ?? true
        if isPossible {
            leastDelayNanoseconds = min(
                leastDelayNanoseconds ?? delay.partialValue, delay.partialValue)
            lastNanoseconds = stamp
            return Moment(nanoseconds: stamp, isDriversOwn: true)
        }
        replaced += 1
        let own = taken - (leastDelayNanoseconds ?? 0)
        let time = lastNanoseconds.map { max(own, $0 + Self.leastStepNanoseconds) } ?? own
        lastNanoseconds = time
        return Moment(nanoseconds: time, isDriversOwn: false)
    }
}
