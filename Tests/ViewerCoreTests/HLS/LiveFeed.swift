import TestSpools
import ViewerCore

/// A live source with irregular pictures, in batches, with losses, all from one seed.
struct LiveFeed {
    /// Properties that vary between feeds.
    struct Traits {
        var picturesPerSecond = 30.0
        /// Pictures of a batch at most.
        var batch = 3
        var groupSeconds = 2.0
        /// Greatest deviation of a picture from its regular time.
        var jitterSeconds = 0.0
        /// Number of batches per thousand after which some are lost.
        var losses = 0
        /// Number of batches per thousand before which a keyframe was requested.
        var requests = 0
        /// Number of keyframes per thousand with which the format changes.
        var changes = 0
    }

    /// A batch: its number is its payload.
    typealias Unit = LiveUnit<Int>

    private(set) var units: [Unit] = []

    init(_ traits: Traits, seconds: Double, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let period = 1 / traits.picturesPerSecond
        var pictures = 0
        var nextKey = 0.0
        var initialization = 0
        func isNow(_ thousandths: Int) -> Bool {
            Int.random(in: 0..<1_000, using: &random) < thousandths
        }
        func time(of picture: Int) -> Int64 {
            let off = Double.random(in: -1...1, using: &random) * traits.jitterSeconds
            return nanoseconds(Double(picture) * period + off)
        }
        var start = max(0, time(of: 0))
        while Double(pictures) * period < seconds {
            let isDue = Double(pictures) * period >= nextKey - period / 2
            let isKey = isDue || isNow(traits.requests)
            if isKey {
                nextKey = Double(pictures) * period + traits.groupSeconds
                if isNow(traits.changes) { initialization += 1 }
            }
            var count = Int.random(in: 1...traits.batch, using: &random)
            // A batch ends before a keyframe.
            while count > 1, Double(pictures + count - 1) * period >= nextKey - period / 2 {
                count -= 1
            }
            pictures += count
            // The end is the agent's estimate; the next picture's time is independent of it.
            let last = nanoseconds(Double(pictures - 1) * period)
            let end = max(start + 1_000_000, last + nanoseconds(period))
            var unit = Unit(
                units.count, sizeBytes: Int.random(in: 500...20_000, using: &random),
                nanoseconds: start..<end)
            unit.isIndependent = isKey
            unit.initialization = initialization
            units.append(unit)
            if isNow(traits.losses) {
                pictures += Int.random(in: 1...60, using: &random)
            }
            start = max(start + 1_000_000, time(of: pictures))
        }
    }

    /// Other traits for every seed.
    static func traits(seed: UInt64) -> Traits {
        var random = SeededGenerator(seed: seed &* 31 &+ 7)
        func one<Value>(of values: [Value], _ fallback: Value) -> Value {
            values.randomElement(using: &random) ?? fallback
        }
        var traits = Traits()
        traits.picturesPerSecond = one(
            of: [10, 12.5, 15, 20, 24, 25, 29.97, 30, 50, 60], 30)
        // A batch is not longer than a part.
        traits.batch = one(
            of: [1, 2, max(1, Int(traits.picturesPerSecond / 8))], 1)
        traits.groupSeconds = one(of: [0.3, 1, 2, 2.5, 4, 5, 10], 2)
        traits.jitterSeconds = one(of: [0, 0.001, 0.01], 0)
        traits.losses = one(of: [0, 0, 5, 30], 0)
        traits.requests = one(of: [0, 0, 20], 0)
        traits.changes = one(of: [0, 0, 200], 0)
        return traits
    }
}
