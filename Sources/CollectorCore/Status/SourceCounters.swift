import Media
import Operations
import Wire

/// Counters of each source since the collector was started, across sessions, for monitoring. A value that is updated with events;
/// counters only grow.
struct SourceCounters: Sendable {
    /// Each has about 55 lines of metrics. A collector with more sources reports how many it omits.
    static let maximumSources = 2_048
    /// A disconnected source remains visible for this long.
    static let forgottenAfterNanoseconds: Int64 = 3_600_000_000_000

    struct Tally: Sendable {
        var agent = ""
        var software = ""
        var isConnected = false
        /// Arrival of the last message.
        var heardNanoseconds: Int64 = 0
        /// Arrival of the last samples.
        var tookNanoseconds: Int64?
        var counts = SourceCounters.noCounts
        var health: SourceHealth?
        var healthNanoseconds: Int64 = 0
        /// Sequence number of the last record that the agent may delete.
        fileprivate var releasedThrough: UInt64 = 0
        fileprivate var spool: SpoolID?
        fileprivate var newest: UInt64 = 0
        /// Since when records have been waiting to become durable, without any progress in the meantime.
        var unpersistedSinceNanoseconds: Int64?
        /// Records that are not in the object store, oldest first; nil: not counted.
        var unreleased: UnreleasedArrivals?

        /// Bytes that the agent keeps. After a disconnection, the last report counts until all of it has been released. Nil
        /// without a report.
        var keptBytes: UInt64? {
            guard let health else { return nil }
            let isReleased = health.newestSequence > 0 && health.newestSequence <= releasedThrough
            return !isConnected && isReleased ? 0 : health.keptBytes
        }
    }

    /// All causes, so that each counter starts at zero and its first increase is visible.
    private static let noCounts: SourceCounts = {
        var counts = SourceCounts()
        for cause in GapCause.allCases.map(\.description) + LostRecords.own {
            counts.gaps[label(cause)] = SourceCounts.Gaps()
        }
        return counts
    }()

    /// Whether agents keep records until they are in the object store.
    private let countsUnreleased: Bool
    private var sourceCounters: [String: Tally] = [:]
    /// Total of all sources, including omitted ones.
    private(set) var writtenBytes: UInt64 = 0
    /// Number of times a source was omitted.
    private(set) var omitted: UInt64 = 0

    init(countsUnreleased: Bool = false) { self.countsUnreleased = countsUnreleased }

    subscript(name: String) -> Tally? { sourceCounters[name] }

    /// The tracked sources.
    var names: Dictionary<String, Tally>.Keys { sourceCounters.keys }

    /// The name of a cause in metrics.
    private static func label(_ cause: String) -> String { cause.replacing(" ", with: "_") }

    /// A source has connected or reconnected.
    mutating func opened(_ source: SourceIntroduction, at now: Int64) {
        if sourceCounters[source.name] == nil {
            guard makeRoom() else {
                omitted += 1
                return
            }
            sourceCounters[source.name] = Tally()
        }
        change(source.name, at: now) {
            $0.agent = source.agent
            $0.software = source.software
            $0.isConnected = true
            $0.counts.connections += 1
            if $0.spool != source.spool {
                $0.spool = source.spool
                $0.newest = 0
                $0.unpersistedSinceNanoseconds = nil
                $0.unreleased = nil
                // The report was about another spool.
                $0.health = nil
                $0.releasedThrough = 0
            }
        }
    }

    /// - Parameter isComplete: whether the source has ended, and its agent may delete everything.
    mutating func closed(_ name: String, isComplete: Bool = false, at now: Int64) {
        change(name, at: now) {
            $0.isConnected = false
            if isComplete { $0.health?.keptBytes = 0 }
        }
    }

    mutating func took(_ samples: Samples, of name: String, at now: Int64) {
        let countsUnreleased = countsUnreleased
        change(name, at: now) { counters in
            counters.counts.receivedBytes += UInt64(samples.payloadSizeBytes)
            for run in samples.runs {
                switch run.track {
                case .video: counters.counts.pictures += UInt64(run.count)
                case .audio: counters.counts.soundPackets += UInt64(run.count)
                }
            }
            counters.tookNanoseconds = now
            counters.newest = max(counters.newest, samples.lastSequence)
            if countsUnreleased {
                counters.unreleased = counters.unreleased ?? UnreleasedArrivals()
                counters.unreleased?.add(
                    through: samples.lastSequence, bytes: samples.payloadSizeBytes, at: now)
            }
            if counters.unpersistedSinceNanoseconds == nil {
                counters.unpersistedSinceNanoseconds = now
            }
        }
    }

    /// Samples are missing.
    /// - Parameter samples: their number, as far as it is known.
    mutating func missed(_ samples: UInt64, of name: String, cause: String) {
        guard let index = sourceCounters.index(forKey: name) else { return }
        var counts = sourceCounters.values[index].counts
        counts.gaps[Self.label(cause), default: SourceCounts.Gaps()].count += 1
        counts.gaps[Self.label(cause)]?.samples.addClamped(samples)
        counts.lostSamples.addClamped(samples)
        sourceCounters.values[index].counts = counts
    }

    mutating func reported(_ health: SourceHealth, of name: String, at now: Int64) {
        change(name, at: now) { counters in
            // Only some reports contain levels.
            let sound = health.sound ?? counters.health?.sound
            counters.health = health
            counters.health?.sound = sound
            counters.healthNanoseconds = now
        }
    }

    mutating func wrote(_ bytes: Int, of name: String) {
        writtenBytes += UInt64(bytes)
        sourceCounters[name]?.counts.writtenBytes += UInt64(bytes)
    }

    /// Everything up to a record is durable.
    mutating func persisted(_ name: String, spool: SpoolID, upTo sequence: UInt64, at now: Int64) {
        guard let counters = sourceCounters[name], counters.spool == spool else { return }
        sourceCounters[name]?.unpersistedSinceNanoseconds = sequence >= counters.newest ? nil : now
        if !countsUnreleased { released(name, through: sequence) }
    }

    /// Everything up to a record is in the object store.
    mutating func stored(_ name: String, spool: SpoolID, upTo sequence: UInt64) {
        guard sourceCounters[name]?.spool == spool else { return }
        sourceCounters[name]?.unreleased?.remove(through: sequence)
        released(name, through: sequence)
    }

    private mutating func released(_ name: String, through sequence: UInt64) {
        guard let index = sourceCounters.index(forKey: name) else { return }
        let before = sourceCounters.values[index].releasedThrough
        sourceCounters.values[index].releasedThrough = max(before, sequence)
    }

    mutating func segmentBegan(of name: String) { sourceCounters[name]?.counts.segmentsBegun += 1 }

    mutating func segmentFinished(of name: String) {
        sourceCounters[name]?.counts.segmentsFinished += 1
    }

    /// Forgets sources that have been disconnected for long enough.
    mutating func forget(at now: Int64) {
        guard
            sourceCounters.values.contains(where: {
                !$0.isConnected && now - $0.heardNanoseconds >= Self.forgottenAfterNanoseconds
            })
        else { return }
        sourceCounters = sourceCounters.filter {
            $0.value.isConnected || now - $0.value.heardNanoseconds < Self.forgottenAfterNanoseconds
        }
    }

    /// Whether one more source can be tracked; the source that has been disconnected longest makes room.
    private mutating func makeRoom() -> Bool {
        guard sourceCounters.count >= Self.maximumSources else { return true }
        let gone = sourceCounters.filter { !$0.value.isConnected }
        guard let oldest = gone.min(by: { $0.value.heardNanoseconds < $1.value.heardNanoseconds })
        else { return false }
        sourceCounters[oldest.key] = nil
        return true
    }

    /// Changes a source's counters in place; an omitted source has none.
    private mutating func change(_ name: String, at now: Int64, _ body: (inout Tally) -> Void) {
        guard let index = sourceCounters.index(forKey: name) else { return }
        body(&sourceCounters.values[index])
        sourceCounters.values[index].heardNanoseconds = now
    }
}
