/// One look at a sound device: how many frames it had captured by a time.
package struct AudioReading: Hashable, Sendable {
    /// Frames since the device was started, the lost ones among them.
    package var frames: Int64
    /// When the newest of them was captured, nanoseconds of `CLOCK_MONOTONIC`; late, if anything.
    package var nanoseconds: Int64

    package init(frames: Int64, nanoseconds: Int64) {
        self.frames = frames
        self.nanoseconds = nanoseconds
    }
}

/// When each frame of a sound device was captured on the monotonic clock, and how fast the device really is.
///
/// The device's crystal is not the system's: it runs some hundred ppm off, and wanders with the temperature. A reading is
/// never early, since a frame cannot be counted before it was captured, but it may be late by an interrupt's delay, a
/// USB packet, or a busy processor. So of all readings of a window only the least late one counts, and a line is fitted
/// through those: a Kalman filter of two states, phase and rate, whose rate is free to wander. It follows quickly at first
/// and averages over half a minute later.
///
/// What is late for three windows in a row is no lateness: frames were lost that nobody counted. The line is moved there
/// and says so.
package struct AudioClock: Sendable {
    /// What a reading has brought about.
    package enum Event: Hashable, Sendable {
        /// Nothing that anybody must know.
        case none
        /// From now on, times can be asked for.
        case settled
        /// Before that frame, so many are missing from the count; negative: it gave as many too many. All frames from now
        /// on are that much later, or earlier.
        case shifted(frames: Int64, beforeFrame: Int64)
    }

    /// Of the readings of so long a time, one counts.
    private static let windowNanoseconds: Int64 = 200_000_000
    /// After so many windows the rate is known well enough to begin with.
    private static let settlingWindows = 3
    /// A window that is off by more is not believed at once.
    private static let gateNanoseconds = 3_000_000.0
    /// So many windows that are off the same way are believed.
    private static let convincingWindows = 3
    /// How late the least late reading of a window is, typically, nanoseconds.
    private static let noise = 100_000.0
    /// How far off a device is that nothing is known of, ppb.
    private static let unknownSkew = 500_000.0
    /// How far one has wandered since it was measured, ppb.
    private static let knownSkew = 5_000.0
    /// How far the rate wanders in a second, ppb.
    private static let wander = 100.0
    /// What is off by more than a percent is no crystal: its sound is kept in place by filling in and leaving out.
    private static let largestStretch = 10_000_000.0

    package let sampleRate: Int
    /// Nanoseconds that a nominal second of frames takes beyond a second: positive for a slow device.
    package private(set) var stretchPPB: Double
    /// The line goes through this frame …
    private var anchorFrame: Int64 = 0
    /// … at this time, whole nanoseconds …
    private var anchorNanoseconds: Int64 = 0
    /// … and the rest of it.
    private var anchorRest = 0.0
    /// What is known of phase (ns) and rate (ppb): variances and covariance.
    private var phaseVariance = 0.0
    private var covariance = 0.0
    private var rateVariance: Double

    private var windows = 0
    private var windowStart: Int64?
    private var best: (reading: AudioReading, lateness: Double)?
    private var doubts: (count: Int, least: Double, frame: Int64) = (0, 0, 0)

    /// A device of which nothing is known but what it says of itself, or also what an earlier clock has measured.
    package init(sampleRate: Int, measuredBefore earlier: AudioClock? = nil) {
        precondition(sampleRate > 0)
        self.sampleRate = sampleRate
        if let earlier, earlier.sampleRate == sampleRate, earlier.isSettled {
            stretchPPB = earlier.stretchPPB
            let variance = earlier.rateVariance + Self.knownSkew * Self.knownSkew
            rateVariance = min(variance, Self.unknownSkew * Self.unknownSkew)
        } else {
            stretchPPB = 0
            rateVariance = Self.unknownSkew * Self.unknownSkew
        }
    }

    /// How much faster the device is than it says, parts per million; negative: slower.
    package var skewPPM: Double { (1 / (1 + stretchPPB * 1e-9) - 1) * 1e6 }

    /// When that frame was, or will be, captured.
    /// - Precondition: ``isSettled``.
    package func nanoseconds(ofFrame frame: Int64) -> Int64 {
        precondition(isSettled, "nothing is known of the device's clock yet")
        let (whole, rest) = distance(to: frame)
        return anchorNanoseconds + whole + Int64((anchorRest + rest).rounded())
    }

    /// Makes do with the readings there are: no more will come in time. Of use only if there was one.
    package mutating func settle() {
        guard !isSettled, windowStart != nil else { return }
        if windows == 0, let best { begin(best.reading) }
        windows = Self.settlingWindows
    }

    /// Takes a reading; the frames never go back, nor does the time.
    package mutating func observe(_ reading: AudioReading) -> Event {
        guard let start = windowStart else {
            windowStart = reading.nanoseconds
            anchorFrame = reading.frames
            anchorNanoseconds = reading.nanoseconds
            best = (reading, 0)
            return .none
        }
        let lateness = lateness(of: reading)
        if best.map({ lateness < $0.lateness }) ?? true { best = (reading, lateness) }
        guard reading.nanoseconds - start >= Self.windowNanoseconds, let best else { return .none }
        windowStart = reading.nanoseconds
        self.best = nil
        guard windows < Self.settlingWindows else { return update(best.reading) }
        if windows == 0 { begin(best.reading) } else { _ = update(best.reading) }
        windows += 1
        return isSettled ? .settled : .none
    }

    /// Times can be asked for.
    package var isSettled: Bool { windows >= Self.settlingWindows }

    // MARK: The line

    /// From the anchor to the frame: whole nanoseconds, as the device's nominal rate has it, and what the skew adds.
    private func distance(to frame: Int64) -> (whole: Int64, rest: Double) {
        let frames = frame - anchorFrame
        let (seconds, left) = frames.quotientAndRemainder(dividingBy: Int64(sampleRate))
        let nominal = seconds * 1_000_000_000 + left * 1_000_000_000 / Int64(sampleRate)
        let cut = Double(left * 1_000_000_000 % Int64(sampleRate)) / Double(sampleRate)
        return (nominal, cut + Double(nominal) * 1e-9 * stretchPPB)
    }

    /// How much later the reading is than the line says, nanoseconds.
    private func lateness(of reading: AudioReading) -> Double {
        let (whole, rest) = distance(to: reading.frames)
        return Double(reading.nanoseconds - anchorNanoseconds - whole) - rest - anchorRest
    }

    private mutating func moveAnchor(to frame: Int64, laterBy nanoseconds: Double) {
        let (whole, rest) = distance(to: frame)
        let sum = anchorRest + rest + nanoseconds
        let carry = sum.rounded(.down)
        anchorFrame = frame
        anchorNanoseconds += whole + Int64(carry)
        anchorRest = sum - carry
    }

    // MARK: The filter

    private mutating func begin(_ reading: AudioReading) {
        anchorFrame = reading.frames
        anchorNanoseconds = reading.nanoseconds
        let drift = rateVariance.squareRoot() * Double(Self.windowNanoseconds) * 1e-9
        phaseVariance = Self.noise * Self.noise + drift * drift
    }

    private mutating func update(_ reading: AudioReading) -> Event {
        let elapsed = Double(reading.frames - anchorFrame) / Double(sampleRate)
        moveAnchor(to: reading.frames, laterBy: 0)
        let growth = Self.wander * Self.wander
        phaseVariance +=
            2 * elapsed * covariance + elapsed * elapsed * rateVariance
            + growth * elapsed * elapsed * elapsed / 3
        covariance += elapsed * rateVariance + growth * elapsed * elapsed / 2
        rateVariance += growth * elapsed
        let innovation = lateness(of: reading)
        let expected = phaseVariance + Self.noise * Self.noise
        guard abs(innovation) <= max(Self.gateNanoseconds, 6 * expected.squareRoot()) else {
            return doubt(innovation, reading)
        }
        doubts = (0, 0, 0)
        let phaseGain = phaseVariance / expected
        let rateGain = covariance / expected
        moveAnchor(to: anchorFrame, laterBy: phaseGain * innovation)
        stretchPPB = min(
            max(stretchPPB + rateGain * innovation, -Self.largestStretch), Self.largestStretch)
        rateVariance -= rateGain * covariance
        covariance -= phaseGain * covariance
        phaseVariance -= phaseGain * phaseVariance
        return .none
    }

    private mutating func doubt(_ innovation: Double, _ reading: AudioReading) -> Event {
        if doubts.count == 0 || (doubts.least < 0) != (innovation < 0) {
            doubts = (1, innovation, reading.frames)
            return .none
        }
        doubts.count += 1
        if abs(innovation) < abs(doubts.least) { doubts.least = innovation }
        guard doubts.count >= Self.convincingWindows else { return .none }
        // What the line is moved by is a whole number of frames: that many are then filled in, or left out.
        let nanosecondsPerFrame = (1e9 + stretchPPB) / Double(sampleRate)
        let frames = (doubts.least / nanosecondsPerFrame).rounded()
        let frame = doubts.frame
        doubts = (0, 0, 0)
        moveAnchor(to: anchorFrame, laterBy: frames * nanosecondsPerFrame)
        phaseVariance += Self.noise * Self.noise
        return .shifted(frames: Int64(frames), beforeFrame: frame)
    }
}
