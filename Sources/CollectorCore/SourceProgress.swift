import Media

/// What a source has done so far.
struct SourceProgress: Hashable, Sendable {
    var name: String
    var pictures: UInt64 = 0
    var soundPackets: UInt64 = 0
    var payloadBytes: UInt64 = 0
    /// Samples that are known to be missing.
    var lostSamples: UInt64 = 0
    /// Session time of the newest sample, nanoseconds.
    var newestNanoseconds: Int64?
    var isComplete = false

    /// One line for people.
    var summary: String {
        var parts: [String] = []
        if pictures > 0 { parts.append("\(pictures) pictures") }
        if soundPackets > 0 { parts.append("\(soundPackets) AAC packets") }
        parts.append("\(payloadBytes) bytes")
        parts.append(lostSamples == 0 ? "nothing lost" : "\(lostSamples) samples lost")
        return parts.joined(separator: ", ")
    }
}

/// How a collector does at this moment.
package struct CollectorStatus: Hashable, Sendable {
    /// The session that is being recorded; nil: none has begun.
    package var session: String?
    /// Those that are connected or have a place in the session, by name.
    package var sources: [SourceStatus]
    /// What keeps it from recording, in a few words; nil: nothing.
    package var trouble: String?
}

/// How a source does at this moment.
package struct SourceStatus: Hashable, Sendable {
    package var name: String
    /// Pictures per second over the last interval.
    package var picturesPerSecond: Double
    /// Payload bits per second over the last interval.
    package var bitsPerSecond: Double
    /// From capture to the collector, seconds; none before the first sample.
    package var lagSeconds: Double?
    package var lostSamples: UInt64
}

/// Makes rates of totals.
struct RateMeter {
    private var last: [String: SourceProgress] = [:]
    private var lastNanoseconds: Int64?

    /// The sources' state now.
    /// - Parameters:
    ///   - progress: totals of each source.
    ///   - sessionNow: the session's time now, nanoseconds; none where there is no session.
    ///   - now: a monotonic clock, nanoseconds.
    mutating func status(
        _ progress: [SourceProgress], sessionNow: Int64?, now: Int64
    ) -> [SourceStatus] {
        let seconds = lastNanoseconds.map { Double(now - $0) / 1e9 } ?? 0
        defer {
            last = Dictionary(uniqueKeysWithValues: progress.map { ($0.name, $0) })
            lastNanoseconds = now
        }
        return progress.map { source in
            let before = last[source.name]
            func rate(_ total: KeyPath<SourceProgress, UInt64>) -> Double {
                guard let before, seconds > 0, source[keyPath: total] >= before[keyPath: total]
                else {
                    return 0
                }
                return Double(source[keyPath: total] - before[keyPath: total]) / seconds
            }
            var lag: Double?
            if let sessionNow, let newest = source.newestNanoseconds {
                lag = Double(sessionNow - newest) / 1e9
            }
            return SourceStatus(
                name: source.name, picturesPerSecond: rate(\.pictures),
                bitsPerSecond: rate(\.payloadBytes) * 8, lagSeconds: lag,
                lostSamples: source.lostSamples)
        }
    }
}
