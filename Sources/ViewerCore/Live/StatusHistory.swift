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

    /// A figure of a source, by its name in the status and in the answer.
    enum Figure: String, CaseIterable, CodingKey {
        case lagSeconds, bitsPerSecond, clockBoundSeconds, spoolBytes, lostSamples, gaps

        /// Whether a step keeps its maximum, because peaks matter. Otherwise it keeps its last value.
        fileprivate var keepsMaximum: Bool {
            switch self {
            case .lagSeconds, .clockBoundSeconds, .spoolBytes: true
            case .bitsPerSecond, .lostSamples, .gaps: false
            }
        }

        fileprivate func value(of source: SiteView.Source) -> Double? {
            switch self {
            case .lagSeconds: source.lagSeconds
            case .bitsPerSecond: source.bitsPerSecond
            case .clockBoundSeconds: source.clockBoundSeconds
            case .spoolBytes: source.spoolBytes
            case .lostSamples: source.lostSamples
            case .gaps:
                // A requested stop is not a fault.
                source.gaps.reduce(0) { $0 + ($1.cause == "command" ? 0 : $1.count) }
            }
        }
    }

    /// Figures of the last ``steps``, by figure and step; NaN: not known.
    private struct Rings {
        private var values: [Figure: [Float]] = [:]
        private(set) var lastStep: Int64

        init(lastStep: Int64) { self.lastStep = lastStep }

        private static func index(_ step: Int64) -> Int { Int(step % Int64(StatusHistory.steps)) }

        /// Adds a source's figures to a step; steps between it and the last one are not known.
        mutating func put(_ source: SiteView.Source, step: Int64) {
            let first = max(lastStep + 1, step - Int64(StatusHistory.steps) + 1)
            for figure in Figure.allCases {
                var ring = values[figure] ?? Array(repeating: .nan, count: StatusHistory.steps)
                values[figure] = nil
                if first <= step {
                    for skipped in first...step { ring[Self.index(skipped)] = .nan }
                }
                if let value = figure.value(of: source).map({ Float($0) }) {
                    let before = ring[Self.index(step)]
                    ring[Self.index(step)] =
                        figure.keepsMaximum && before > value ? before : value
                }
                values[figure] = ring
            }
            lastStep = step
        }

        /// Oldest first; nil: not known.
        func series(_ steps: ClosedRange<Int64>) -> [Figure: [Double?]] {
            values.mapValues { ring in
                steps.map { step in
                    guard step <= lastStep, step > lastStep - Int64(StatusHistory.steps) else {
                        return nil
                    }
                    let value = ring[Self.index(step)]
                    return value.isNaN ? nil : Self.rounded(value)
                }
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
            // A status of another version is skipped.
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
                rings.put(source, step: step)
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
            /// A value for each step, the oldest first; nil: not known.
            var figures: [Figure: [Double?]]

            private enum CodingKeys: CodingKey { case name }

            func encode(to encoder: any Encoder) throws {
                var own = encoder.container(keyedBy: CodingKeys.self)
                try own.encode(name, forKey: .name)
                var values = encoder.container(keyedBy: Figure.self)
                for (figure, steps) in figures { try values.encode(steps, forKey: figure) }
            }
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
                Answer.Source(name: name, figures: rings.series(steps))
            }
        }
        return Answer(
            stepSeconds: Self.stepSeconds,
            lastStepAgeSeconds: Double(now - last * Self.stepNanoseconds) / 1e9,
            sources: named ?? [])
    }
}
