import Glibc

/// The level of one channel.
package struct AudioLevel: Hashable, Sendable {
    /// Peak and RMS relative to full scale: 0 … 1, more when clipped.
    package var peak: Double
    package var rms: Double

    package init(peak: Double, rms: Double) {
        self.peak = peak
        self.rms = rms
    }

    /// An amplitude in hundredths of a decibel: 0 is full scale, −12000 or less is silence.
    package static func millibels(_ amplitude: Double) -> Int {
        guard amplitude > 1e-6 else { return -12_000 }
        return Int((2_000 * log10(amplitude)).rounded())
    }
}

/// Measures the level of each channel between two readings.
package struct AudioMeter: Sendable {
    private var peaks: [Float]
    private var squares: [Double]
    /// Frames since the last reading.
    package private(set) var frames = 0

    package init(channels: Int) {
        peaks = Array(repeating: 0, count: channels)
        squares = Array(repeating: 0, count: channels)
    }

    /// Adds frames, one plane per channel.
    package mutating func add(_ planes: [UnsafeMutablePointer<Float>], frames count: Int) {
        precondition(planes.count == peaks.count)
        for (channel, plane) in planes.enumerated() {
            var peak: Float = 0
            var sum: Float = 0
            for sample in UnsafeBufferPointer(start: plane, count: count) {
                peak = max(peak, abs(sample))
                sum += sample * sample
            }
            peaks[channel] = max(peaks[channel], peak)
            squares[channel] += Double(sum)
        }
        frames += count
    }

    mutating func addSilence(frames count: Int) { frames += count }

    /// The levels since the last reading, which are reset; nil without audio.
    package mutating func take() -> [AudioLevel]? {
        guard frames > 0 else { return nil }
        let levels = zip(peaks, squares).map { peak, square in
            AudioLevel(peak: Double(peak), rms: (square / Double(frames)).squareRoot())
        }
        self = AudioMeter(channels: peaks.count)
        return levels
    }
}
