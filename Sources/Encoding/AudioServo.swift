/// Decides how much longer or shorter a resampler makes the sound, so that its frames stay where the clock has them.
///
/// The device's measured skew is fed forward; what is still wrong in phase is closed slowly on top of that, by at most
/// ``largestCorrectionPPB``. The rate glides from one value to the next: pitch never steps. 500 ppm are 0.9 cent, and
/// people begin to hear 5.
package struct AudioServo: Sendable {
    /// The most that is added to the measured skew.
    package static let largestCorrectionPPB = 500_000.0
    /// The most that the rate changes in a second of sound.
    package static let largestGlidePPBPerSecond = 500_000.0
    /// A phase error is closed with this time constant.
    private static let closingSeconds = 2.0

    /// The stretch in force: this much more sound comes out than went in.
    package private(set) var stretchPPB = 0.0
    private var isFirst = true

    package init() {}

    /// The stretch for the next sound.
    /// - Parameters:
    ///   - measuredPPB: how much longer the device takes for its frames than it says.
    ///   - lagNanoseconds: how far what came out lies behind where it should be.
    ///   - seconds: how much sound has gone by since the last call.
    package mutating func stretch(
        measuredPPB: Double, lagNanoseconds: Double, seconds: Double
    ) -> Double {
        // Nanoseconds in a second are parts per billion.
        let limit = Self.largestCorrectionPPB
        let correction = min(max(lagNanoseconds / Self.closingSeconds, -limit), limit)
        let wanted = measuredPPB + correction
        if isFirst {
            // Nothing has been heard yet that it could step away from.
            stretchPPB = wanted
            isFirst = false
        } else {
            let glide = Self.largestGlidePPBPerSecond * seconds
            stretchPPB += min(max(wanted - stretchPPB, -glide), glide)
        }
        return stretchPPB
    }
}
