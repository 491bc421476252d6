/// A sound card with its own crystal, observed through late and coarse readings, all from a seed.
package struct SimulatedAudioCard {
    /// The driver's report after a period, and the true values.
    package struct Period {
        /// The first frame's number since the start.
        package var firstFrame: Int64
        package var frames: Int64
        /// The first frame's true capture time, nanoseconds.
        package var trueNanoseconds: Double
        /// The driver's count of captured frames …
        package var readingFrames: Int64
        /// … at this time.
        package var readingNanoseconds: Int64
    }

    package let sampleRate: Int
    /// The card's true rate over its nominal one.
    package var skewPPM = 300.0
    /// Room temperature: the skew varies by this much …
    package var wanderPPM = 5.0
    /// … in this time.
    package var wanderPeriodSeconds = 5_400.0
    /// The mean of the interrupts' delay, which is exponential.
    package var jitterNanoseconds = 100_000.0
    /// One reading in this number is late by up to ``latestNanoseconds``.
    package var lateOneIn = 100
    package var latestNanoseconds = 25_000_000.0
    /// The card counts frames in steps of this many, as USB does.
    package var countedFrames: Int64 = 1

    private var random: SplitMix
    /// Number of frames captured so far.
    package private(set) var capturedFrames: Int64 = 0
    private var elapsedNanoseconds: Double
    private var lastReading: Int64 = .min

    package init(sampleRate: Int = 48_000, startNanoseconds: Int64 = 0, seed: UInt64) {
        self.sampleRate = sampleRate
        elapsedNanoseconds = Double(startNanoseconds)
        random = SplitMix(state: seed)
    }

    /// True nanoseconds from one frame to the next, at this moment.
    package var nanosecondsPerFrame: Double {
        let turn = wave(elapsedNanoseconds * 1e-9 / wanderPeriodSeconds)
        return 1e9 / Double(sampleRate) / (1 + (skewPPM + wanderPPM * turn) * 1e-6)
    }

    /// Captures frames that are never read.
    package mutating func lose(_ count: Int64) {
        elapsedNanoseconds += Double(count) * nanosecondsPerFrame
        capturedFrames += count
    }

    /// Captures a period of sound.
    package mutating func capture(_ count: Int64) -> Period {
        let first = capturedFrames
        let start = elapsedNanoseconds
        lose(count)
        var delay = exponential(jitterNanoseconds)
        if Int(random.next() % UInt64(lateOneIn)) == 0 { delay = latestNanoseconds * unit() }
        // Frames not counted yet were captured all the same, so the reading is late for the counted ones.
        let counted = capturedFrames / countedFrames * countedFrames
        lastReading = max(lastReading, Int64(elapsedNanoseconds + delay))
        return Period(
            firstFrame: first, frames: count, trueNanoseconds: start, readingFrames: counted,
            readingNanoseconds: lastReading)
    }

    /// 0 ..< 1.
    package mutating func unit() -> Double { Double(random.next() >> 11) * 0x1p-53 }

    private mutating func exponential(_ mean: Double) -> Double {
        // The sum of the tails of a geometric distribution, finely stepped: no logarithm needed.
        var sum = 0.0
        while unit() < 0.875 { sum += mean / 7 }
        return sum
    }

    /// A triangle wave between −1 and 1 with period 1, like a heated room's temperature.
    private func wave(_ turns: Double) -> Double {
        let phase = turns - turns.rounded(.down)
        return phase < 0.5 ? 4 * phase - 1 : 3 - 4 * phase
    }
}

/// A generator of random numbers that is the same everywhere (Steele, Lea and Flood's SplitMix64).
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
