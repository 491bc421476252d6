package import Media

/// What is missing, and why: it takes the numbers of the records that it stands for.
package struct GapRecord: Hashable, Sendable {
    /// The source's place in Hello.
    package var source: Int
    /// The numbers that it stands for; a loss that never had numbers takes one of its own.
    package var sequences: ClosedRange<UInt64>
    /// nil: of all tracks.
    package var track: TrackKind?
    package var cause: GapCause
    /// The clock domain of `startNanoseconds`.
    package var epoch: UInt32
    /// When the first lost sample was due, nanoseconds of the agent's clock.
    package var startNanoseconds: Int64
    /// For how long samples are missing, nanoseconds.
    package var durationNanoseconds: Int64
    /// How many samples were lost; 0: nobody knows.
    package var samples: UInt64
    /// One line for people.
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
    /// A cause that this version has no word for.
    case unspecified = 0
    /// The driver had no buffer.
    case driverDrop = 1
    /// The sound card's buffer ran over.
    case overrun = 2
    /// The encoder, or what paints the pictures, was slower than the camera.
    case encoderOverload = 3
    /// The box kept as much as it may, and the collector had not persisted it.
    case spoolFull = 4
    /// A kept record did not read back as it was written.
    case corruptRecord = 5
    /// The late-frame policy.
    case policy = 6
    /// The device was gone.
    case deviceLost = 7
    /// The source's data was damaged.
    case damagedInput = 8
    /// The agent, or its box, was not running.
    case restart = 9
    /// Capture was stopped, or its device exchanged, by a command.
    case command = 10

    /// A few words for people.
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
        }
    }
}

/// From the next record on, a track has this format.
package struct TrackUpdate: Hashable, Sendable {
    /// The source's place in Hello.
    package var source: Int
    package var sequence: UInt64
    package var format: TrackFormat

    package init(source: Int, sequence: UInt64, format: TrackFormat) {
        self.source = source
        self.sequence = sequence
        self.format = format
    }
}

/// The source's last record: it is complete.
package struct Goodbye: Hashable, Sendable {
    /// The source's place in Hello.
    package var source: Int
    package var sequence: UInt64
    /// One line for people: why.
    package var text: String

    package init(source: Int, sequence: UInt64, text: String) {
        self.source = source
        self.sequence = sequence
        self.text = text
    }
}

/// "Still here", with what has been measured since the last one.
package struct Heartbeat: Hashable, Sendable {
    package var clockExchanges: [ReportedExchange]
    package var health: [SourceHealth]

    package init(clockExchanges: [ReportedExchange] = [], health: [SourceHealth] = []) {
        self.clockExchanges = clockExchanges
        self.health = health
    }
}

/// How a source does on its box.
package struct SourceHealth: Hashable, Sendable {
    /// The source's place in Hello.
    package var source: Int
    /// Bytes of the records kept on the box that are not yet persisted.
    package var keptBytes: UInt64
    /// Number of the newest record; 0: none yet.
    package var newestSequence: UInt64
    /// Samples lost since the agent started.
    package var lostSamples: UInt64
    /// Nil: no sound is captured, or it is copied.
    package var sound: AudioHealth?
    /// Somebody has stopped the capture: nothing is due until it is started again.
    package var isStopped: Bool

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

/// How a source's sound does.
package struct AudioHealth: Hashable, Sendable {
    /// How loud one channel was since the last report: hundredths of a decibel, 0 is full scale.
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
    /// How much faster the sound device runs than it says, parts per billion; nil while that is not known.
    package var skewPPB: Int32?

    package init(levels: [Level], skewPPB: Int32?) {
        self.levels = levels
        self.skewPPB = skewPPB
    }
}
