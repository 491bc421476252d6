/// A reading of an audio device: the number of frames captured by a time.
package struct AudioReading: Hashable, Sendable {
    /// Frames since the device was started, lost ones included.
    package var frames: Int64
    /// Capture time of the newest frame, nanoseconds of `CLOCK_MONOTONIC`; possibly late, never early.
    package var nanoseconds: Int64

    package init(frames: Int64, nanoseconds: Int64) {
        self.frames = frames
        self.nanoseconds = nanoseconds
    }
}

/// Maps an audio device's frames to the monotonic clock, and measures the device's actual rate.
///
/// The device's crystal is not the system's: it is off by some hundred ppm, and drifts with the temperature. A reading
/// is never early, since a frame cannot be counted before it was captured, but it may be late because of interrupt
/// latency, USB packets or a busy processor. So only the least late reading of each window is used, and a line is
/// fitted through those: a Kalman filter with two states, phase and rate, whose rate may drift. It converges quickly at
/// first and averages over half a minute later.
///
/// A lateness in three consecutive windows means that frames were lost without being counted. The line is moved, and
/// the shift is reported.
package struct AudioClock: Sendable {
    /// The effect of a reading.
    package enum Event: Hashable, Sendable {
        /// Nothing to report.
        case none
        /// Times are available from now on.
        case settled
        /// Before that frame, this many frames are missing from the count; negative: too many. All frames from now on
        /// are later or earlier by as many.
        case shifted(frames: Int64, beforeFrame: Int64)
    }

    /// Length of a window; one reading of each window is used.
    private static let windowNanoseconds: Int64 = 200_000_000
    /// Number of windows before the rate is accurate enough.
    private static let settlingWindows = 3
    /// Deviation above which a window is not used until others confirm it.
    private static let gateNanoseconds = 3_000_000.0
    /// Number of consistently deviating windows that are accepted.
    private static let convincingWindows = 3
    /// Typical lateness of the least late reading of a window, nanoseconds.
    private static let noise = 100_000.0
    /// Initial standard deviation of the skew, ppb.
    private static let unknownSkew = 500_000.0
    /// Standard deviation of the skew of a device that was measured before, ppb.
    private static let knownSkew = 5_000.0
    /// Drift of the rate per second, ppb.
    private static let wander = 100.0
    /// Maximum skew: a larger one is no crystal's, and is corrected by inserting and dropping frames.
    private static let largestStretch = 10_000_000.0

    package let sampleRate: Int
    /// Nanoseconds that a nominal second of frames takes in excess of a second: positive for a slow device.
    package private(set) var stretchPPB: Double
    /// The line's reference frame.
    private var anchorFrame: Int64 = 0
    /// Its time, whole nanoseconds.
    private var anchorNanoseconds: Int64 = 0
    /// The fraction of that time.
    private var anchorRest = 0.0
    /// Variances and covariance of phase (ns) and rate (ppb).
    private var phaseVariance = 0.0
    private var covariance = 0.0
    private var rateVariance: Double

    private var windows = 0
    private var windowStart: Int64?
    private var best: (reading: AudioReading, lateness: Double)?
    private var doubts: (count: Int, least: Double, frame: Int64) = (0, 0, 0)

    /// A device with its nominal rate, or with the rate that an earlier clock has measured.
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

    /// Deviation of the device's rate from the nominal one, parts per million; negative: slower.
    package var skewPPM: Double { (1 / (1 + stretchPPB * 1e-9) - 1) * 1e6 }

    /// Capture time of a past or future frame.
    /// - Precondition: ``isSettled``.
    package func nanoseconds(ofFrame frame: Int64) -> Int64 {
        precondition(isSettled, "nothing is known of the device's clock yet")
        let (whole, rest) = distance(to: frame)
        return anchorNanoseconds + whole + Int64((anchorRest + rest).rounded())
    }

    /// Settles with the present readings, because no more will arrive in time. No effect without a reading.
    package mutating func settle() {
        guard !isSettled, windowStart != nil else { return }
        if windows == 0, let best { begin(best.reading) }
        windows = Self.settlingWindows
    }

    /// Adds a reading; neither frames nor time may decrease.
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

    /// Whether times are available.
    package var isSettled: Bool { windows >= Self.settlingWindows }

    // MARK: The line

    /// Distance from the reference to the frame: whole nanoseconds at the nominal rate, and the correction for skew.
    private func distance(to frame: Int64) -> (whole: Int64, rest: Double) {
        let frames = frame - anchorFrame
        let (seconds, left) = frames.quotientAndRemainder(dividingBy: Int64(sampleRate))
        let nominal = seconds * 1_000_000_000 + left * 1_000_000_000 / Int64(sampleRate)
        let cut = Double(left * 1_000_000_000 % Int64(sampleRate)) / Double(sampleRate)
        return (nominal, cut + Double(nominal) * 1e-9 * stretchPPB)
    }

    /// Deviation of a reading from the line, nanoseconds; positive: late.
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
        // The line is moved by a whole number of frames, which are inserted or dropped.
        let nanosecondsPerFrame = (1e9 + stretchPPB) / Double(sampleRate)
        let frames = (doubts.least / nanosecondsPerFrame).rounded()
        let frame = doubts.frame
        doubts = (0, 0, 0)
        moveAnchor(to: anchorFrame, laterBy: frames * nanosecondsPerFrame)
        phaseVariance += Self.noise * Self.noise
        return .shifted(frames: Int64(frames), beforeFrame: frame)
    }
}
