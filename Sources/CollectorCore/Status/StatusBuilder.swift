import Archive
import Media
import Operations
import Wire

/// Builds a ``CollectorStatus`` from the present and earlier measurements: rates from totals.
struct StatusBuilder {
    /// The time span over which the disk's fill rate is calculated, and the interval of its measurements.
    private static let rateNanoseconds: Int64 = 600_000_000_000
    private static let lookNanoseconds: Int64 = 10_000_000_000
    /// Before this time, the rate is not used: after a start, agents send their backlog for a minute, which fills the disk much
    /// faster than recording.
    static let leastRateNanoseconds: Int64 = 120_000_000_000

    private struct Totals {
        var pictures: UInt64
        var bytes: UInt64
        /// Arrival of the last of them.
        var tookNanoseconds: Int64
    }

    private var last: [String: Totals] = [:]
    private var lastNanoseconds: Int64?
    /// Totals of written bytes over time, oldest first.
    private var written: [(nanoseconds: Int64, bytes: UInt64)] = []

    /// Measurements of the disk and of the tracker.
    struct Surroundings {
        var disk = DiskStatistics.Figures()
        var diskBusySeconds = 0.0
        /// Minimum free space; nil: the default for the disk.
        var reserveBytes: UInt64?
        var removesOldSegments = false
        var refusedConnections: [ConnectionRefusal: UInt64] = [:]
        var isEntranceShut = false
    }

    /// - Parameter now: the collector's monotonic clock, nanoseconds.
    mutating func status(
        of engine: CollectorEngine, _ surroundings: Surroundings, now: Int64
    ) -> CollectorStatus {
        let recorder = engine.recorder
        let sessionNow = recorder.sessionZero.map { now - $0 }
        var status = CollectorStatus(
            session: recorder.sessionName,
            sources: sources(of: engine, sessionNow: sessionNow, now: now),
            trouble: surroundings.isEntranceShut
                ? "no agent can be admitted any more; the collector is ending" : engine.trouble)
        status.isDraining = engine.isDraining
        status.sessionSeconds = sessionNow.map { Double($0) / 1e9 }
        status.sessionsBegun = engine.counts.sessionsBegun
        status.sessionsEnded = engine.counts.sessionsEnded
        status.omittedSources = engine.sourceCounters.omitted
        status.refusedConnections = surroundings.refusedConnections
        for (cause, count) in engine.refusedMessages {
            status.refusedMessages.addClamped(count)
            guard let refusal = ConnectionRefusal(cause) else { continue }
            status.refusedConnections[refusal, default: 0].addClamped(count)
        }
        status.repeatedRecords = engine.repeatedRecords
        status.failedFiles = engine.counts.failedFiles
        status.removedSegments = engine.counts.removedSegments
        status.hasCatalog = engine.counts.hasCatalog
        status.captureToDurable = engine.captureToDurable
        status.disk = disk(of: engine, surroundings, now: now)
        return status
    }

    private mutating func disk(
        of engine: CollectorEngine, _ surroundings: Surroundings, now: Int64
    ) -> DiskStatus {
        var disk = DiskStatus()
        if let (free, size) = surroundings.disk.space {
            disk.freeBytes = free
            disk.sizeBytes = size
            disk.reserveBytes =
                surroundings.reserveBytes ?? FreeSpace.defaultReserve(ofDiskWith: size)
        }
        disk.writtenBytes = engine.sourceCounters.writtenBytes
        disk.writtenBytesPerSecond = writingRate(disk.writtenBytes, now: now)
        disk.filesWithoutRoom = UInt64(engine.filesWithoutRoom)
        disk.stuckFiles = UInt64(engine.stuckFiles)
        disk.busySeconds = surroundings.diskBusySeconds
        disk.synchronising = surroundings.disk.synchronising
        disk.removesOldSegments = surroundings.removesOldSegments
        return disk
    }

    /// Bytes per second since the oldest measurement that is kept.
    private mutating func writingRate(_ bytes: UInt64, now: Int64) -> Double? {
        if now - (written.last?.nanoseconds ?? .min / 2) >= Self.lookNanoseconds {
            written.append((now, bytes))
            // Keeps one measurement older than the span, so that the span is covered completely.
            while written.count > 1, now - written[1].nanoseconds >= Self.rateNanoseconds {
                written.removeFirst()
            }
        }
        guard let first = written.first, now - first.nanoseconds >= Self.leastRateNanoseconds else {
            return nil
        }
        return Double(bytes - first.bytes) / (Double(now - first.nanoseconds) / 1e9)
    }

    private mutating func sources(
        of engine: CollectorEngine, sessionNow: Int64?, now: Int64
    ) -> [SourceStatus] {
        let recorders = engine.recorder.sources
        var totals: [String: Totals] = [:]
        var sources: [SourceStatus] = []
        for name in Set(engine.sourceCounters.names).union(recorders.keys).sorted() {
            let counters = engine.sourceCounters[name] ?? SourceCounters.Tally()
            var source = SourceStatus(name: name, counters, now: now)
            totals[name] = Totals(
                pictures: counters.counts.pictures, bytes: counters.counts.receivedBytes,
                tookNanoseconds: counters.tookNanoseconds ?? now)
            // A counter only decreases when its source was forgotten in between. Samples arrive in batches of half a
            // second, so they are divided by the time between arrivals: a report interval contains two batches or
            // three.
            if let before = last[name], let took = counters.tookNanoseconds,
                took > before.tookNanoseconds, counters.counts.pictures >= before.pictures,
                counters.counts.receivedBytes >= before.bytes
            {
                // Two messages on either side of a report are too close for a rate.
                let least = lastNanoseconds.map { (now - $0) / 2 } ?? 0
                let seconds = Double(max(took - before.tookNanoseconds, least)) / 1e9
                source.picturesPerSecond =
                    Double(counters.counts.pictures - before.pictures) / seconds
                source.bitsPerSecond =
                    Double(counters.counts.receivedBytes - before.bytes) * 8 / seconds
            }
            if let recorder = recorders[name]?.value {
                source.isRecorded = recorder.hasJoined && !recorder.progress.isComplete
                source.clock = recorder.intake.presentClock.map {
                    SourceStatus.Clock(
                        offsetNanoseconds: $0.offsetNanoseconds,
                        boundNanoseconds: $0.boundNanoseconds, skewPPB: $0.skewPartsPerBillion)
                }
                if source.isRecorded, !source.isConnected { source.elsewhere = engine.places[name] }
                // A source that was stopped deliberately is not late, nor one that another collector has.
                if let sessionNow, source.isRecorded, source.elsewhere == nil,
                    !(source.isConnected && source.isStopped),
                    let newest = recorder.progress.newestNanoseconds
                {
                    source.lagSeconds = Double(sessionNow - newest) / 1e9
                }
            }
            sources.append(source)
        }
        last = totals
        lastNanoseconds = now
        return sources
    }
}

extension SourceStatus {
    fileprivate init(name: String, _ counters: SourceCounters.Tally, now: Int64) {
        self.init(name: name)
        agent = counters.agent
        software = counters.software
        isConnected = counters.isConnected
        isStopped = counters.isConnected && counters.health?.isStopped ?? false
        counts = counters.counts
        persistedAgeSeconds =
            counters.unpersistedSinceNanoseconds.map { Double(now - $0) / 1e9 } ?? 0
        unreleased = counters.unreleased.map { arrivals in
            Unreleased(
                bytes: UInt64(arrivals.bytes),
                ageSeconds: arrivals.sinceNanoseconds.map { Double(now - $0) / 1e9 } ?? 0)
        }
        report = counters.health.map { health in
            var report = Report(
                keptBytes: counters.keptBytes ?? health.keptBytes, lostSamples: health.lostSamples,
                ageSeconds: Double(now - counters.healthNanoseconds) / 1e9,
                // A source that is not connected has no present level.
                soundPeaks: counters.isConnected
                    ? (health.sound?.levels ?? []).map { Double($0.peakMillibels) / 100 } : [])
            // An agent that has disconnected may use other collectors by now.
            guard counters.isConnected else { return report }
            report.moved = health.moved
            report.trouble = health.trouble
            report.owed = health.owed.map {
                Owed(
                    collector: $0.collector, records: Double($0.records), bytes: Double($0.bytes))
            }
            return report
        }
    }
}
