import Media
import Timing

/// The lower envelope of arrivals against a camera's timestamps, over one stretch of its clock: an upper bound of the
/// capture times that is as tight as the quickest packets around each sample.
///
/// A capture time, as a function of the timestamp, is below all arrivals, and its rate changes by at most
/// ``ClockLimits/wanderPPBPerSecond``. With a parabola of that curvature added, it is convex, so it is below the convex hull
/// of the arrivals with the same parabola added. The hull is kept while samples arrive; its size follows from the duration,
/// not from the number of samples.
struct ArrivalEnvelope: Sendable {
    /// Why a stretch is not used.
    enum Fault: Hashable, Sendable {
        /// Too short for a reliable shortest delay.
        case short
        /// Recorded times do not reach the arrivals: a delay was subtracted, and its size is unknown here.
        case delayed
    }

    private struct Point: Sendable {
        /// Timestamp, nanoseconds from the beginning of the stretch.
        var media: Int64
        /// Arrival less ``base`` and `media`, nanoseconds.
        var delay: Int64
    }

    /// Minimum duration of a stretch that is used.
    static let shortestNanoseconds: Int64 = 10_000_000_000
    /// Minimum number of its samples.
    static let fewestSamples = 50
    /// Recorded times of a stretch reach an arrival to within this, unless a delay was subtracted.
    private static let touchNanoseconds: Int64 = 500_000
    /// Within ``reachSeconds`` of a usable sample, there are ``nearSeconds`` in which a packet arrives at most this much
    /// later than its envelope. Otherwise the network was slow, the camera's clock did not run evenly, or an arrival is
    /// wrong: then the envelope may be too early.
    static let distantNanoseconds: Int64 = 5_000_000
    static let reachSeconds = 5
    static let nearSeconds = 3
    /// Maximum rate difference of a camera's clock and the agent's, ppm. Crystals differ by less.
    static let ratePPM: Int64 = 500
    /// Maximum number of corners: far more than a day has.
    private static let mostCorners = 1 << 16
    private static let second: Int64 = 1_000_000_000

    /// Arrival of the first sample, nanoseconds of the agent's clock.
    private let base: Int64
    /// Corners of the hull, with the parabola added.
    private var corners: [Point] = []
    /// The least delay in each second of media time, until the end of the stretch.
    private var floors: [Point] = []
    /// Seconds of media time in which the envelope is near arrivals; empty before the end of the stretch.
    private var usable: [Bool] = []
    private(set) var samples = 0
    private var lastMedia: Int64 = 0
    private var touch = Int64.max
    private var isFull = false
    /// Why the stretch is not used; nil: it is used.
    private(set) var fault: Fault?

    init(arrivalNanoseconds: Int64) { base = arrivalNanoseconds }

    /// Adds the next sample of the stretch.
    /// - Parameters:
    ///   - media: its timestamp, later than all before.
    ///   - time: its recorded time, nanoseconds of the agent's clock.
    mutating func add(media: Int64, arrivalNanoseconds arrival: Int64, time: Int64) {
        samples += 1
        lastMedia = media
        touch = min(touch, arrival.clampedSubtracting(time))
        let delay = arrival.clampedSubtracting(base).clampedSubtracting(media)
        let point = Point(media: media, delay: delay)
        if let floor = floors.last, floor.media / Self.second == media / Self.second {
            if delay < floor.delay { floors[floors.count - 1] = point }
        } else {
            floors.append(point)
        }
        let corner = Point(media: media, delay: delay.clampedAdding(Self.bend(media)))
        while corners.count > 1,
            !Self.turnsUp(corners[corners.count - 2], corners[corners.count - 1], corner)
        {
            corners.removeLast()
        }
        corners.append(corner)
        isFull = isFull || corners.count > Self.mostCorners
        if isFull { corners.removeLast() }
    }

    /// Ends the stretch.
    mutating func finish() {
        limitRate()
        if lastMedia < Self.shortestNanoseconds || samples < Self.fewestSamples || isFull {
            fault = .short
        } else if touch > Self.touchNanoseconds {
            fault = .delayed
        }
        let distances = floors.map {
            ($0.media / Self.second, $0.delay.clampedSubtracting(delay(at: $0.media)))
        }
        floors = []
        guard fault == nil else {
            corners = []
            return
        }
        var near = [Int](repeating: 0, count: Int(lastMedia / Self.second) + 1)
        for (second, distance) in distances where distance <= Self.distantNanoseconds {
            let first = max(0, Int(second) - Self.reachSeconds)
            let last = min(near.count - 1, Int(second) + Self.reachSeconds)
            for index in first...last { near[index] += 1 }
        }
        usable = near.map { $0 >= Self.nearSeconds }
    }

    /// Number of stored values.
    var sizeOfState: Int { corners.count + floors.count }

    /// Seconds of the stretch, and those in which the envelope is not used.
    var seconds: (all: Int, distant: Int) { (usable.count, usable.count { !$0 }) }

    /// Whether a sample's time may follow the envelope.
    func isUsable(at media: Int64) -> Bool {
        let second = Int(media / Self.second)
        return usable.indices.contains(second) && usable[second]
    }

    /// The envelope, nanoseconds of the agent's clock.
    func time(at media: Int64) -> Int64 {
        base.clampedAdding(media).clampedAdding(delay(at: media))
    }

    /// Whether quick packets limit the time on both sides. The first and the last sample are corners however late they are.
    func isInside(_ media: Int64) -> Bool {
        corners.count > 3 && media >= corners[1].media
            && media <= corners[corners.count - 2].media
    }

    /// Removes corners at both ends that a clock of another rate would need; the ends are continued at the greatest rate.
    private mutating func limitRate() {
        var first = 0
        while first + 1 < corners.count,
            Self.ratePPM(corners[first], corners[first + 1]) < -Self.ratePPM
        {
            first += 1
        }
        corners.removeFirst(first)
        while corners.count > 1,
            Self.ratePPM(corners[corners.count - 2], corners[corners.count - 1]) > Self.ratePPM
        {
            corners.removeLast()
        }
    }

    private func delay(at media: Int64) -> Int64 {
        var low = 0
        var high = corners.count
        while low < high {
            let middle = (low + high) / 2
            if corners[middle].media <= media { low = middle + 1 } else { high = middle }
        }
        guard let next = low < corners.count ? corners[low] : corners.last else { return 0 }
        guard low > 0, low < corners.count else {
            // Before the first corner, or after the last one.
            let distance = Int64(clamping: media.clampedSubtracting(next.media).magnitude)
            return Self.plain(next).clampedAdding(distance / 1_000_000 * Self.ratePPM)
        }
        let before = corners[low - 1]
        let rise = Int128(next.delay) - Int128(before.delay)
        let run = Int128(next.media - before.media)
        let bent = Int128(before.delay) + rise * Int128(media - before.media) / run
        return Int64(clamping: bent - Int128(Self.bend(media)))
    }

    private static func plain(_ corner: Point) -> Int64 {
        corner.delay.clampedSubtracting(bend(corner.media))
    }

    /// The rate between two corners, relative to the timestamps'.
    private static func ratePPM(_ one: Point, _ next: Point) -> Int64 {
        let rise = Int128(plain(next)) - Int128(plain(one))
        return Int64(clamping: rise * 1_000_000 / Int128(max(1, next.media - one.media)))
    }

    /// The parabola.
    private static func bend(_ media: Int64) -> Int64 {
        let square = Int128(media) * Int128(media)
        return Int64(
            clamping: square * Int128(ClockLimits.wanderPPBPerSecond) / 2_000_000_000_000_000_000)
    }

    /// Whether the way from `one` by `middle` to `next` is convex.
    private static func turnsUp(_ one: Point, _ middle: Point, _ next: Point) -> Bool {
        let first =
            (Int128(middle.delay) - Int128(one.delay)) * Int128(next.media - middle.media)
        let second =
            (Int128(next.delay) - Int128(middle.delay)) * Int128(middle.media - one.media)
        return first < second
    }
}
