/// Controls the stretch of a resampler, so that frames stay aligned with the clock.
///
/// The device's measured skew is fed forward. The remaining phase error is corrected slowly, by at most
/// ``largestCorrectionPPB`` in addition. The stretch changes gradually, so that the pitch has no steps. 500 ppm are 0.9
/// cent; the threshold of hearing is about 5 cents.
package struct AudioServo: Sendable {
    /// Maximum correction in addition to the measured skew.
    package static let largestCorrectionPPB = 500_000.0
    /// Maximum change of the rate per second of audio.
    package static let largestGlidePPBPerSecond = 500_000.0
    /// Time constant for closing a phase error.
    private static let closingSeconds = 2.0

    /// The present stretch: the excess of output over input.
    package private(set) var stretchPPB = 0.0
    private var isFirst = true

    package init() {}

    /// The stretch for the next audio.
    /// - Parameters:
    ///   - measuredPPB: excess of the device's time for its frames over the nominal time.
    ///   - lagNanoseconds: lag of the output behind its target.
    ///   - seconds: duration of audio since the last call.
    package mutating func stretch(
        measuredPPB: Double, lagNanoseconds: Double, seconds: Double
    ) -> Double {
        // Nanoseconds per second are parts per billion.
        let limit = Self.largestCorrectionPPB
        let correction = min(max(lagNanoseconds / Self.closingSeconds, -limit), limit)
        let wanted = measuredPPB + correction
        if isFirst {
            // No earlier audio: a step is inaudible.
            stretchPPB = wanted
            isFirst = false
        } else {
            let glide = Self.largestGlidePPBPerSecond * seconds
            stretchPPB += min(max(wanted - stretchPPB, -glide), glide)
        }
        return stretchPPB
    }
}
