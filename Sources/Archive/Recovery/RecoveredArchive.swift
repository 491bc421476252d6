package import Media
package import Timing

/// The result of a recovery.
package struct RecoveredArchive: Sendable {
    /// The session to resume, if one was open.
    package var session: RecoveredSession?
    /// By source: the records of its spools on disk, so that nothing is requested or recorded twice.
    package var spools: [String: [RecordedSpool]] = [:]
    /// Findings and actions, for the log.
    package var notes: [RecoveryNote] = []

    package init() {}
}

/// A session that was open, and its sources.
package struct RecoveredSession: Sendable {
    package var manifest: SessionManifest
    package var sources: [RecoveredSource]

    package init(manifest: SessionManifest, sources: [RecoveredSource]) {
        self.manifest = manifest
        self.sources = sources
    }
}

/// The state of a source's part of a session.
package struct RecoveredSource: Sendable {
    package var entry: SessionManifest.Source
    /// The formats of its newest file.
    package var formats: [TrackFormat]
    /// The spool of its newest records; nil before the first one.
    package var spool: SpoolID?
    /// All its spools in this session.
    package var spools: [SpoolID]
    /// The records that this session has or explains, by spool; for other spools, all records on disk.
    package var accounted: [SpoolID: SequenceSet] = [:]
    /// The first record of each spool that this session has.
    package var firsts: [SpoolID: UInt64] = [:]
    /// The end of each track.
    package var ends: [TrackKind: TrackEnd]
    /// The last clock model of each epoch, in the order of the recording.
    package var clocks: [RecordedClock] = []
    /// Session time of its files, nanoseconds.
    package var origins: [Int64]
    /// The file that can be resumed.
    package var open: UnfinishedSegment?
    /// The size of its ledger.
    package var ledgerBytes: Int64 = 0
    /// Lines that its ledger does not have yet.
    package var unwritten: [LedgerEntry] = []

    package init(entry: SessionManifest.Source) {
        self.entry = entry
        formats = []
        spools = []
        ends = [:]
        origins = []
    }

    /// Maximum number of epochs whose clock models are kept: that of an agent's Hello.
    private static let maximumClocks = 64

    /// Adds a clock model that is newer than those of the same epoch before.
    mutating func keep(_ clock: RecordedClock) {
        clocks.removeAll { $0.epoch == clock.epoch }
        clocks.append(clock)
        if clocks.count > Self.maximumClocks { clocks.removeFirst() }
    }
}

/// The clock model in the newest fragment of an epoch.
package struct RecordedClock: Hashable, Sendable {
    /// The clock's epoch: 16 bytes.
    package var epoch: EpochID
    /// Offset, bound and skew on the session's timeline: collector minus agent, with the session's zero as 0.
    package var clock: FragmentRecord.Clock
    /// The time on the agent's clock at which that applied.
    package var agentNanoseconds: Int64
    /// Growth of the bound after that, parts per billion: the uncertainty of the skew according to the exchanges in the
    /// file.
    package var growthPartsPerBillion: Int64

    package init(
        epoch: EpochID, clock: FragmentRecord.Clock, agentNanoseconds: Int64,
        growthPartsPerBillion: Int64 = ClockLimits.skewPPB
    ) {
        self.epoch = epoch
        self.clock = clock
        self.agentNanoseconds = agentNanoseconds
        self.growthPartsPerBillion = growthPartsPerBillion
    }

    /// The model with the skew, and the growth of the bound, from the exchanges before it.
    func extrapolable(with exchanges: [ClockExchange]) -> RecordedClock {
        var estimator = ClockEstimator()
        for exchange in exchanges { _ = estimator.add(exchange) }
        guard let model = estimator.model(at: agentNanoseconds) else { return self }
        var known = self
        known.clock.skewPartsPerBillion = model.skewPPB
        known.growthPartsPerBillion = min(ClockLimits.skewPPB, model.boundGrowthPPB)
        return known
    }

    /// The clock's mapping to the session's timeline, extrapolated with its bound.
    package var placed: ClockModel {
        ClockModel(
            referenceAgentNanoseconds: agentNanoseconds,
            offsetNanoseconds: clock.offsetNanoseconds, skewPPB: clock.skewPartsPerBillion,
            boundNanoseconds: Int64(clamping: clock.boundNanoseconds),
            boundGrowthPPB: growthPartsPerBillion, validFromAgentNanoseconds: agentNanoseconds)
    }
}

/// A log line of the recovery.
package struct RecoveryNote: Hashable, Sendable {
    package enum Level: Sendable { case info, warning, error }

    package var level: Level
    package var source: String?
    package var text: String

    package init(_ level: Level, source: String? = nil, _ text: String) {
        self.level = level
        self.source = source
        self.text = text
    }
}
