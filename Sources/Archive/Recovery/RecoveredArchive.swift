package import Media

/// An archive in order, after whatever ended the collector before.
package struct RecoveredArchive: Sendable {
    /// The session that goes on, if one was open.
    package var session: RecoveredSession?
    /// By source: what of its spools is on disk, so that nothing is asked for, or recorded, twice.
    package var spools: [String: [RecordedSpool]] = [:]
    /// What was found and done, for the log.
    package var notes: [RecoveryNote] = []

    package init() {}
}

/// A session that was open, and the sources that have a place in it.
package struct RecoveredSession: Sendable {
    package var manifest: SessionManifest
    package var sources: [RecoveredSource]

    package init(manifest: SessionManifest, sources: [RecoveredSource]) {
        self.manifest = manifest
        self.sources = sources
    }
}

/// A source's part of a session as it was left.
package struct RecoveredSource: Sendable {
    package var entry: SessionManifest.Source
    /// The formats of its newest file.
    package var formats: [TrackFormat]
    /// The spool that its newest records are of; nil before the first.
    package var spool: SpoolID?
    /// All spools that it had in this session.
    package var spools: [SpoolID]
    /// Where each track stands.
    package var ends: [TrackKind: TrackEnd]
    /// How its agent's clock was mapped last.
    package var clock: RecordedClock?
    /// Session time of its files, nanoseconds.
    package var origins: [Int64]
    /// The file that can be gone on with.
    package var open: UnfinishedSegment?
    /// What its ledger takes.
    package var ledgerBytes: Int64 = 0

    package init(entry: SessionManifest.Source) {
        self.entry = entry
        formats = []
        spools = []
        ends = [:]
        origins = []
    }
}

/// How an agent's clock was mapped in the newest fragment of its source.
package struct RecordedClock: Hashable, Sendable {
    /// Whose clock: 16 bytes.
    package var epoch: EpochID
    /// Offset, bound and skew, on the session's timeline: collector less agent, the session's zero being 0.
    package var clock: FragmentRecord.Clock
    /// The agent's clock where that held.
    package var agentNanoseconds: Int64

    package init(epoch: EpochID, clock: FragmentRecord.Clock, agentNanoseconds: Int64) {
        self.epoch = epoch
        self.clock = clock
        self.agentNanoseconds = agentNanoseconds
    }
}

/// One line on what recovery found.
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
