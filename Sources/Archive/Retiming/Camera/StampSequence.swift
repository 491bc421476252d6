import Media

/// Divides the samples of a camera's track into stretches of one RTP clock, and removes the wraps of its timestamps.
///
/// A stretch ends where the timestamps contradict the arrivals or their own distances: the camera restarted, its clock was
/// set, or it paused. Its samples are compared with each other only: a false end costs accuracy, and a missed end makes
/// times wrong.
struct StampSequence: Sendable {
    /// A sample's timestamp without wraps.
    struct Located: Hashable, Sendable {
        /// Number of its stretch in the track.
        var stretch: Int
        /// From the first timestamp of the stretch, nanoseconds by the camera's clock.
        var mediaNanoseconds: Int64
    }

    /// A pause after which a camera may have been restarted with timestamps that happen to continue.
    static let pauseNanoseconds: Int64 = 2_000_000_000
    /// Tolerated difference of two samples' distances by timestamp and by arrival where the timestamps are not at the usual
    /// distance.
    private static let stepNanoseconds: Int64 = 20_000_000
    /// The same where packets were lost between them, and the distance is a multiple of the usual one.
    private static let lossNanoseconds: Int64 = 200_000_000
    /// Tolerance of the usual distance of two timestamps.
    private static let unevenNanoseconds: Int64 = 5_000_000
    /// Maximum distance of two packet numbers within a pause: more than any camera sends.
    private static let packets: Int64 = 100_000
    /// Maximum duration of a stretch: sums of its times stay small.
    private static let longestNanoseconds: Int64 = 86_400_000_000_000

    private struct Sample: Sendable {
        var epoch: EpochID
        var clockRate: UInt32
        var stamp: CameraStamp
        var located: Located
        var ticks: Int64
    }

    private var last: Sample?
    /// The usual distance of two timestamps, nanoseconds; nil before the second sample.
    private var usual: Int64?
    private var stretches = 0
    /// Ends of stretches where timestamps were set, or stood still.
    private(set) var steps = 0

    init() {}

    /// Locates the next sample, in decoding order.
    mutating func locate(_ stamp: CameraStamp, clockRate: UInt32, epoch: EpochID) -> Located {
        if let last, last.epoch == epoch, last.clockRate == clockRate, goesOn(last, stamp) {
            let distance = Self.ticks(from: last.stamp, to: stamp)
            let ticks = last.ticks + distance
            let media = Self.nanoseconds(ticks, clockRate)
            if media < Self.longestNanoseconds {
                // The distance across lost packets is not the usual one.
                if isWhole(last, stamp) { usual = Self.nanoseconds(distance, clockRate) }
                return keep(
                    stamp, clockRate, epoch, ticks,
                    Located(stretch: last.located.stretch, mediaNanoseconds: media))
            }
        }
        stretches += 1
        return keep(
            stamp, clockRate, epoch, 0, Located(stretch: stretches - 1, mediaNanoseconds: 0))
    }

    /// A file begins. It is verified without the one before, so the usual distance is learned again.
    mutating func beginFile() { usual = nil }

    /// Locates the samples of a run.
    /// - Parameter camera: nil: without timestamps.
    /// - Returns: where the first sample lies; nil: without timestamps.
    mutating func locate(_ camera: CameraStamps?, epoch: EpochID) -> Located? {
        guard let camera else {
            interrupt()
            return nil
        }
        var first: Located?
        for stamp in camera.stamps {
            let located = locate(stamp, clockRate: camera.clockRate, epoch: epoch)
            first = first ?? located
        }
        return first
    }

    /// The distance of two samples by their timestamps, nanoseconds; nil if they are not of one stretch.
    static func distance(_ one: Located?, _ next: Located?) -> Int64? {
        guard let one, let next, one.stretch == next.stretch else { return nil }
        return next.mediaNanoseconds.clampedSubtracting(one.mediaNanoseconds)
    }

    /// Ends the stretch: samples without timestamps follow.
    mutating func interrupt() {
        last = nil
        usual = nil
    }

    private mutating func keep(
        _ stamp: CameraStamp, _ clockRate: UInt32, _ epoch: EpochID, _ ticks: Int64,
        _ located: Located
    ) -> Located {
        last = Sample(
            epoch: epoch, clockRate: clockRate, stamp: stamp, located: located, ticks: ticks)
        return located
    }

    private mutating func goesOn(_ last: Sample, _ stamp: CameraStamp) -> Bool {
        let media = Self.nanoseconds(Self.ticks(from: last.stamp, to: stamp), last.clockRate)
        let arrival = stamp.arrivalNanoseconds.clampedSubtracting(last.stamp.arrivalNanoseconds)
        let number = stamp.firstPacket.clampedSubtracting(last.stamp.firstPacket)
        guard (0...Self.packets).contains(number) else { return false }
        guard media > 0, media <= Self.pauseNanoseconds, arrival >= -Self.stepNanoseconds,
            arrival <= Self.pauseNanoseconds
        else {
            steps += 1
            return false
        }
        let difference = Int64(clamping: media.clampedSubtracting(arrival).magnitude)
        let isWhole = isWhole(last, stamp)
        guard difference > Self.stepNanoseconds else { return true }
        guard let usual else { return isWhole && media <= 10 * Self.stepNanoseconds }
        let tolerance = Self.unevenNanoseconds
        if media <= usual + usual / 2 + tolerance, media >= usual / 2 - tolerance { return true }
        let rest = media % max(1, usual)
        let isMultiple = min(rest, usual - rest) <= tolerance
        if !isWhole, isMultiple, difference <= Self.lossNanoseconds { return true }
        steps += 1
        return false
    }

    /// Whether no packet is missing between two samples. One packet may hold several samples of audio.
    private func isWhole(_ last: Sample, _ stamp: CameraStamp) -> Bool {
        stamp.firstPacket.clampedSubtracting(last.stamp.firstPacket) <= Int64(last.stamp.packets)
    }

    private static func ticks(from one: CameraStamp, to next: CameraStamp) -> Int64 {
        Int64(Int32(bitPattern: next.timestamp &- one.timestamp))
    }

    static func nanoseconds(_ ticks: Int64, _ clockRate: UInt32) -> Int64 {
        Timescale(max(1, clockRate)).nanoseconds(ticks)
    }
}
