package import Media

/// A loss of samples and its cause. It has the numbers of the records that it replaces.
package struct GapRecord: Hashable, Sendable {
    /// The source's index in Hello.
    package var source: Int
    /// The numbers that it replaces; a loss that never had numbers uses one of its own.
    package var sequences: ClosedRange<UInt64>
    /// nil: of all tracks.
    package var track: TrackKind?
    package var cause: GapCause
    /// The clock domain of `startNanoseconds`.
    package var epoch: UInt32
    /// When the first lost sample was due, nanoseconds of the agent's clock.
    package var startNanoseconds: Int64
    /// Duration of the missing samples, nanoseconds.
    package var durationNanoseconds: Int64
    /// Number of lost samples; 0: unknown.
    package var samples: UInt64
    /// One line of text.
    package var text: String

    package init(
        source: Int, sequences: ClosedRange<UInt64>, track: TrackKind?, cause: GapCause,
        epoch: UInt32, startNanoseconds: Int64, durationNanoseconds: Int64, samples: UInt64,
        text: String
    ) {
        self.source = source
        self.sequences = sequences
        self.track = track
        self.cause = cause
        self.epoch = epoch
        self.startNanoseconds = startNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.samples = samples
        self.text = text
    }
}

/// Why samples are missing; the raw value is the one on the wire.
package enum GapCause: Int, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    /// A cause unknown to this version.
    case unspecified = 0
    /// The driver had no buffer.
    case driverDrop = 1
    /// The sound card's buffer overflowed.
    case overrun = 2
    /// The encoder, or the source that renders the pictures, was slower than the camera.
    case encoderOverload = 3
    /// The box's storage for records was full, and the collector had not persisted them.
    case spoolFull = 4
    /// A stored record was damaged when it was read.
    case corruptRecord = 5
    /// The late-frame policy.
    case policy = 6
    /// The device was disconnected.
    case deviceLost = 7
    /// The source's data was damaged.
    case damagedInput = 8
    /// The agent, or its box, was not running.
    case restart = 9
    /// Capture was stopped, or its device replaced, by a command.
    case command = 10
    /// The network between a camera and its agent lost packets.
    case packetLoss = 11

    /// A short description.
    package var description: String {
        switch self {
        case .unspecified: "unspecified"
        case .driverDrop: "driver drop"
        case .overrun: "overrun"
        case .encoderOverload: "encoder overload"
        case .spoolFull: "spool full"
        case .corruptRecord: "corrupt record"
        case .policy: "policy"
        case .deviceLost: "device lost"
        case .damagedInput: "damaged input"
        case .restart: "restart"
        case .command: "command"
        case .packetLoss: "packet loss"
        }
    }
}

/// From the next record on, a track has this format.
package struct TrackUpdate: Hashable, Sendable {
    /// The source's index in Hello.
    package var source: Int
    package var sequence: UInt64
    package var format: TrackFormat

    package init(source: Int, sequence: UInt64, format: TrackFormat) {
        self.source = source
        self.sequence = sequence
        self.format = format
    }
}

/// The source's last record: it has ended.
package struct Goodbye: Hashable, Sendable {
    /// The source's index in Hello.
    package var source: Int
    package var sequence: UInt64
    /// The reason, in one line of text.
    package var text: String

    package init(source: Int, sequence: UInt64, text: String) {
        self.source = source
        self.sequence = sequence
        self.text = text
    }
}

/// Proof that a peer is alive, with the measurements since the last one.
package struct Heartbeat: Hashable, Sendable {
    package var clockExchanges: [ReportedExchange]
    package var health: [SourceHealth]

    package init(clockExchanges: [ReportedExchange] = [], health: [SourceHealth] = []) {
        self.clockExchanges = clockExchanges
        self.health = health
    }
}

/// The state of a source on its box.
package struct SourceHealth: Hashable, Sendable {
    /// The source's index in Hello.
    package var source: Int
    /// Bytes of the records on the box that are not yet persisted.
    package var keptBytes: UInt64
    /// Number of the newest record; 0: none yet.
    package var newestSequence: UInt64
    /// Samples lost since the agent started.
    package var lostSamples: UInt64
    /// Nil: no audio is captured, or it is copied without decoding.
    package var sound: AudioHealth?
    /// Capture was stopped by a command: no samples are expected until it is started again.
    package var isStopped: Bool
    /// Records that the box keeps for a collector that lacks them.
    package var owed: [OwedRecords] = []
    /// The source's previous collector, and why it was left; empty if there was none since the agent's start.
    package var moved = ""
    /// The tracks that are not captured at present, and the reason, on one line; empty: none, or unknown.
    package var trouble = ""

    package init(
        source: Int, keptBytes: UInt64, newestSequence: UInt64, lostSamples: UInt64,
        sound: AudioHealth? = nil, isStopped: Bool = false
    ) {
        self.source = source
        self.keptBytes = keptBytes
        self.newestSequence = newestSequence
        self.lostSamples = lostSamples
        self.sound = sound
        self.isStopped = isStopped
    }
}

/// Records that a collector must persist and has not persisted yet.
package struct OwedRecords: Hashable, Sendable {
    /// The collector's name; its endpoint if it has no name.
    package var collector: String
    /// Number of records, counted by sequence numbers.
    package var records: UInt64
    package var bytes: UInt64

    package init(collector: String, records: UInt64, bytes: UInt64) {
        self.collector = collector
        self.records = records
        self.bytes = bytes
    }
}

/// The state of a source's audio.
package struct AudioHealth: Hashable, Sendable {
    /// The level of one channel since the last report: hundredths of a decibel, 0 is full scale.
    package struct Level: Hashable, Sendable {
        package var peakMillibels: Int32
        package var rmsMillibels: Int32

        package init(peakMillibels: Int32, rmsMillibels: Int32) {
            self.peakMillibels = peakMillibels
            self.rmsMillibels = rmsMillibels
        }
    }

    /// One for each channel.
    package var levels: [Level]
    /// Deviation of the audio device's rate from its nominal rate, parts per billion; positive: faster; nil while
    /// unknown.
    package var skewPPB: Int32?

    package init(levels: [Level], skewPPB: Int32?) {
        self.levels = levels
        self.skewPPB = skewPPB
    }
}
