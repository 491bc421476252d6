import Glibc

/// Finds the starts of the test audio's beeps, in contiguous audio.
///
/// A beep is 20 ms of 1 kHz starting at a zero crossing. A sliding window of 20 ms measures the 1 kHz component: across
/// a beep its amplitude rises and falls in a triangle, whose middle gives the start to within half a millisecond,
/// regardless of the codec's smearing. The phase of the tone at the peak then gives it to a fraction of a sample.
struct BeepFinder {
    private static let toneHertz = 1_000
    private static let beepMilliseconds = 20
    /// Minimum amplitude of a beep (−26 dBFS); one of the test audio reaches 0.5.
    private static let quietest = 0.05
    /// Minimum part of the window's energy in the tone, to exclude music.
    private static let leastPurity = 0.5

    /// Samples of one window.
    private let window: Int
    private let radiansPerSample: Double
    /// The tone's cosine and sine, over a whole number of its periods.
    private let tone: [(cosine: Double, sine: Double)]

    private var recent: [Double]
    /// Samples added.
    private var count = 0
    private var real = 0.0
    private var imaginary = 0.0
    private var energy = 0.0
    /// The window's amplitudes since the tone appeared.
    private var heard: [Double] = []
    private var peak = (amplitude: 0.0, phase: 0.0, purity: 0.0)

    init(sampleRate: Int) {
        window = sampleRate * Self.beepMilliseconds / 1000
        radiansPerSample = 2 * .pi * Double(Self.toneHertz) / Double(sampleRate)
        let period = sampleRate / Self.greatestDivisor(sampleRate, Self.toneHertz)
        let step = radiansPerSample
        tone = (0..<period).map { (cos(step * Double($0)), sin(step * Double($0))) }
        recent = [Double](repeating: 0, count: window)
    }

    private static func greatestDivisor(_ left: Int, _ right: Int) -> Int {
        right == 0 ? left : greatestDivisor(right, left % right)
    }

    /// Adds the next sample, −1 … 1; returns the start of a beep that has just ended, in samples from the first.
    mutating func add(_ sample: Double) -> Double? {
        let old = recent[count % window]
        recent[count % window] = sample
        // The entering and the leaving sample are multiplied by the tone at their times.
        let entering = tone[count % tone.count]
        let leaving = count >= window ? tone[(count - window) % tone.count] : (0, 0)
        real += sample * entering.cosine - old * leaving.0
        imaginary -= sample * entering.sine - old * leaving.1
        energy = max(0, energy + sample * sample - old * old)
        count += 1
        let amplitude = 2 * (real * real + imaginary * imaginary).squareRoot() / Double(window)
        if amplitude >= Self.quietest {
            listen(amplitude)
            return nil
        }
        guard !heard.isEmpty else { return nil }
        defer { heard.removeAll(keepingCapacity: true) }
        return beginning(endingAt: count - 1)
    }

    private mutating func listen(_ amplitude: Double) {
        if heard.isEmpty || amplitude > peak.amplitude {
            // A tone of amplitude a has an energy of a² ÷ 2 per sample.
            let pure = amplitude * amplitude / 2 * Double(window)
            peak = (amplitude, atan2(imaginary, real), energy > 0 ? pure / energy : 0)
        }
        // Longer than any beep: the rest is not needed.
        if heard.count < 4 * window { heard.append(amplitude) }
    }

    /// The start of the beep, in samples from the first one; nil if the tone was not a beep of the test audio.
    /// - Parameter end: the sample at which the tone has ended.
    private func beginning(endingAt end: Int) -> Double? {
        let half = peak.amplitude / 2
        guard half >= Self.quietest, peak.purity >= Self.leastPurity, heard.count < 4 * window,
            let up = heard.firstIndex(where: { $0 >= half }),
            let down = heard.lastIndex(where: { $0 >= half })
        else { return nil }
        // The triangle is above half its height for one window's length.
        guard abs(down - up - window) * 4 <= window else { return nil }
        let first = end - heard.count
        let middle = Double(first) + Double(up + down) / 2
        let coarse = middle - Double(window - 1)
        // A sine that begins at sample t has the phase −π/2 − 2πft.
        let period = 2 * .pi / radiansPerSample
        let fine = -(peak.phase + .pi / 2) / radiansPerSample
        return fine + ((coarse - fine) / period).rounded() * period
    }
}
