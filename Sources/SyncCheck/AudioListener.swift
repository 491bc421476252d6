import Media

/// Collects the times of a recording's beeps on the file's timeline.
struct AudioListener {
    /// A larger gap or step in the audio begins a new run, nanoseconds. Smaller ones are clock corrections, and a beep
    /// across them is still one.
    private static let toleranceNanoseconds: Int64 = 1_000_000
    /// Beeps this early in a run are ignored: a run's first packet is decoded without its predecessor, and the run may
    /// begin within a beep. Two packets of AAC.
    private static let leastFrames = 2_048.0
    /// Packets whose times are kept: longer than a beep and its window.
    private static let mostMarks = 16

    /// The time of a decoded frame.
    private struct Mark {
        var frame: Int
        var nanoseconds: Int64
    }

    private var finder: BeepFinder?
    private var sampleRate = 0
    private var frames = 0
    private var endNanoseconds: Int64 = 0
    private var marks: [Mark] = []
    /// Start times of beeps, nanoseconds.
    private(set) var beeps: [Int64] = []

    mutating func add(_ sound: RawAudio) {
        let start = sound.captureNanoseconds
        let isNext = abs(start - endNanoseconds) <= Self.toleranceNanoseconds
        if finder == nil || sampleRate != sound.layout.sampleRate || !isNext {
            sampleRate = sound.layout.sampleRate
            finder = BeepFinder(sampleRate: sampleRate)
            frames = 0
            marks = []
        }
        if marks.count == Self.mostMarks { marks.removeFirst() }
        marks.append(Mark(frame: frames, nanoseconds: start))
        var found: [Double] = []
        sound.forEachMixedFrame { value in
            if let beep = finder?.add(value) { found.append(beep) }
        }
        frames += sound.frameCount
        endNanoseconds = start + nanoseconds(Double(sound.frameCount))
        for beep in found where beep >= Self.leastFrames { beeps.append(time(of: beep)) }
    }

    /// Presentation time of a fractional frame.
    private func time(of frame: Double) -> Int64 {
        let mark = marks.last { Double($0.frame) <= frame } ?? marks[0]
        return mark.nanoseconds + nanoseconds(frame - Double(mark.frame))
    }

    private func nanoseconds(_ frames: Double) -> Int64 {
        Int64((frames * 1e9 / Double(sampleRate)).rounded())
    }
}

extension RawAudio {
    /// Passes the mean of the channels of each frame, −1 … 1.
    fileprivate func forEachMixedFrame(_ body: (Double) -> Void) {
        withExtendedLifetime(owner) {
            switch layout.sampleType {
            case .unsigned8: mix(UInt8.self, body) { (Double($0) - 128) / 128 }
            case .signed16: mix(Int16.self, body) { Double($0) / 32_768 }
            case .signed32: mix(Int32.self, body) { Double($0) / 2_147_483_648 }
            case .float: mix(Float.self, body) { Double($0) }
            case .double: mix(Double.self, body) { $0 }
            }
        }
    }

    private func mix<Sample: BitwiseCopyable>(
        _: Sample.Type, _ body: (Double) -> Void, _ value: (Sample) -> Double
    ) {
        let stride = layout.frameStrideBytes
        let size = MemoryLayout<Sample>.size
        for frame in 0..<frameCount {
            var sum = 0.0
            for channel in 0..<layout.channels {
                let plane = layout.isPlanar ? planes[channel] : planes[0] + channel * size
                sum += value(plane.loadUnaligned(fromByteOffset: frame * stride, as: Sample.self))
            }
            body(sum / Double(layout.channels))
        }
    }
}
