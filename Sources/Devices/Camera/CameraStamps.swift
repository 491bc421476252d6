/// When a camera's pictures were captured, on `CLOCK_MONOTONIC`.
///
/// Drivers stamp buffers with that clock and say so. What they say is believed when it can be true: a stamp lies after the
/// one before it, near the moment at which the buffer was taken out. Any other stamp (of another clock, wrapped around, or
/// none) is replaced by the moment at which the buffer was taken out, less the shortest delay that was seen between the
/// two while stamps were good.
package struct CameraStamps: Hashable, Sendable {
    /// A picture's time, and where it is from.
    package struct Moment: Hashable, Sendable {
        package var nanoseconds: Int64
        package var isDriversOwn: Bool
    }

    /// A box that was suspended or stopped for a while finds pictures as old as this in the driver's buffers.
    private static let oldestNanoseconds: Int64 = 60_000_000_000
    /// Some drivers compute when the picture's last row will have been read, and hand the buffer out before that. This is
    /// longer than a picture takes at 2 per second.
    private static let newestNanoseconds: Int64 = 500_000_000
    /// Two pictures are never closer: H.264's encoders count microseconds.
    private static let leastStepNanoseconds: Int64 = 1_000

    private var lastNanoseconds: Int64?
    private var leastDelayNanoseconds: Int64?
    /// Stamps that were not believed.
    package private(set) var replaced = 0

    package init() {}

    /// A stamp of the kernel's; nil when nanoseconds have no room for it.
    static func nanoseconds(seconds: Int64, microseconds: Int64) -> Int64? {
        let (scaled, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (rest, isRestOver) = microseconds.multipliedReportingOverflow(by: 1_000)
        let (sum, isSumOver) = scaled.addingReportingOverflow(rest)
        return isOver || isRestOver || isSumOver ? nil : sum
    }

    /// The time of the next picture. `isMonotonic`: the driver says that it has stamped with `CLOCK_MONOTONIC`.
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
