import Media
import Operations
import Synchronization

/// Figures of each source for the last hour, every 15 s, for newly opened pages. Any thread may call.
///
/// They are taken from the collector's status, which is published once a second. Memory: 6 KB per source.
final class StatusHistory: Sendable {
    /// The resolution of an hour's plot.
    static let stepSeconds: Int64 = 15
    static let steps = 240
    /// The limit of a status.
    static let maximumSources = 512
    /// Minimum interval of parsing a status: one of 64 sources costs a millisecond.
    private static let pauseNanoseconds: Int64 = 5_000_000_000
    private static let stepNanoseconds = stepSeconds * 1_000_000_000

    /// A figure of a source.
    private enum Figure: Int, CaseIterable {
        /// The maximum value of a step is kept, because peaks matter.
        case lagSeconds, clockBoundSeconds, spoolBytes
        /// The last value of a step is kept.
        case bitsPerSecond, lostSamples, gaps

        var isGreatest: Bool { rawValue <= Self.spoolBytes.rawValue }
    }

    /// Figures of the last ``steps``, by figure and step; NaN: not known.
    private struct Rings {
        var values = [Float](
            repeating: .nan, count: Figure.allCases.count * StatusHistory.steps)
        var lastStep: Int64

        func place(_ figure: Figure, _ step: Int64) -> Int {
            figure.rawValue * StatusHistory.steps + Int(step % Int64(StatusHistory.steps))
        }

        /// Advances to a step, and removes older ones.
        mutating func go(to step: Int64) {
            let first = max(lastStep + 1, step - Int64(StatusHistory.steps) + 1)
            guard first <= step else { return }
            for step in first...step {
                for figure in Figure.allCases { values[place(figure, step)] = .nan }
            }
            lastStep = step
        }

        mutating func put(_ figure: Figure, _ value: Double?) {
            guard let value else { return }
            let place = place(figure, lastStep)
            let before = values[place]
            values[place] = figure.isGreatest && before > Float(value) ? before : Float(value)
        }

        /// Oldest first; nil: not known.
        func series(_ figure: Figure, _ steps: ClosedRange<Int64>) -> [Double?] {
            steps.map { step in
                guard step <= lastStep, step > lastStep - Int64(StatusHistory.steps) else {
                    return nil
                }
                let value = values[place(figure, step)]
                return value.isNaN ? nil : Self.rounded(value)
            }
        }

        /// Three digits suffice for a plot, and keep answers short.
        private static func rounded(_ value: Float) -> Double {
            let value = Double(value)
            guard value.isFinite, value != 0 else { return value.isFinite ? value : 0 }
            var unit = 1.0
            while abs(value) / unit >= 1_000 { unit *= 10 }
            var parts = 1.0
            while abs(value) * parts < 100, parts < 1e9 { parts *= 10 }
            return unit > 1 ? (value / unit).rounded() * unit : (value * parts).rounded() / parts
        }
    }

    private struct State {
        var sources: [String: Rings] = [:]
        var firstStep: Int64?
        var lastStep: Int64 = 0
        var nextNanoseconds = Int64.min
    }

    private let state = Mutex(State())

    /// Whether a status would be parsed now.
    func isDue(now: Int64) -> Bool { state.withLock { now >= $0.nextNanoseconds } }

    /// Adds a status (`proto/json/schema.json`, "top"), unless one was parsed recently.
    /// - Parameter now: monotonic, nanoseconds.
    func take(status json: [UInt8], now: Int64) {
        let isDue = state.withLock { state in
            guard now >= state.nextNanoseconds else { return false }
            state.nextNanoseconds = now.clampedAdding(Self.pauseNanoseconds)
            return true
        }
        guard isDue else { return }
        let view: SiteView
        do {
            view = try SiteView(decoding: json)
        } catch {
            // Of another version.
            return
        }
        let step = now / Self.stepNanoseconds
        state.withLock { state in
            let oldest = step - Int64(Self.steps) + 1
            state.firstStep = max(state.firstStep ?? step, oldest)
            state.lastStep = step
            for source in view.sources {
                guard
                    state.sources[source.name] != nil || state.sources.count < Self.maximumSources
                else { continue }
                var rings = state.sources[source.name] ?? Rings(lastStep: step - 1)
                rings.go(to: step)
                rings.put(.lagSeconds, source.lagSeconds)
                rings.put(.clockBoundSeconds, source.clockBoundSeconds)
                rings.put(.spoolBytes, source.spoolBytes)
                rings.put(.bitsPerSecond, source.bitsPerSecond)
                rings.put(.lostSamples, source.lostSamples)
                // A requested stop is not a fault.
                let gaps = source.gaps.filter { $0.cause != "command" }
                rings.put(.gaps, gaps.reduce(0) { $0 + $1.count })
                state.sources[source.name] = rings
            }
            state.sources = state.sources.filter { $0.value.lastStep >= oldest }
        }
    }

    /// Whether a source was in a status of the last hour; nil without any status yet.
    func knows(_ source: String) -> Bool? {
        state.withLock { $0.firstStep == nil ? nil : $0.sources[source] != nil }
    }

    /// The last hour (`proto/openapi.yaml`, "History").
    struct Answer: Encodable, Equatable {
        struct Source: Encodable, Equatable {
            var name: String
            var lagSeconds: [Double?]
            var bitsPerSecond: [Double?]
            var clockBoundSeconds: [Double?]
            var spoolBytes: [Double?]
            var lostSamples: [Double?]
            var gaps: [Double?]
        }

        var stepSeconds: Int64
        /// Since the begin of the last step.
        var lastStepAgeSeconds: Double
        var sources: [Source]
    }

    /// - Parameter now: monotonic, nanoseconds.
    func answer(now: Int64, where mayRead: (String) -> Bool) -> Answer {
        let (sources, steps) = state.withLock { state -> ([String: Rings], ClosedRange<Int64>?) in
            let oldest = now / Self.stepNanoseconds - Int64(Self.steps) + 1
            guard let first = state.firstStep, state.lastStep >= oldest else { return ([:], nil) }
            return (state.sources, max(first, oldest)...state.lastStep)
        }
        let last = steps?.upperBound ?? now / Self.stepNanoseconds
        let named = steps.map { steps in
            sources.filter { mayRead($0.key) }.sorted { $0.key < $1.key }.map { name, rings in
                Answer.Source(
                    name: name, lagSeconds: rings.series(.lagSeconds, steps),
                    bitsPerSecond: rings.series(.bitsPerSecond, steps),
                    clockBoundSeconds: rings.series(.clockBoundSeconds, steps),
                    spoolBytes: rings.series(.spoolBytes, steps),
                    lostSamples: rings.series(.lostSamples, steps),
                    gaps: rings.series(.gaps, steps))
            }
        }
        return Answer(
            stepSeconds: Self.stepSeconds,
            lastStepAgeSeconds: Double(now - last * Self.stepNanoseconds) / 1e9,
            sources: named ?? [])
    }
}
