/// Every bound of the protocol. The table in `proto/README.md` says the same, and a test keeps the two equal.
package enum WireLimits {
    /// "TRIB": tells a tributary agent from anything else that speaks ZMTP.
    package static let magic: UInt32 = 0x5452_4942
    /// The protocol's major version; another one is refused.
    package static let major: UInt32 = 1
    /// The protocol's minor version: additions that old peers skip.
    package static let minor: UInt32 = 4
    /// The first minor version whose agents take commands.
    package static let commandMinor: UInt32 = 2

    /// Bytes of a header part: 4096 samples with every column full take half of it.
    package static let headerBytes = 256 * 1024
    /// Bytes of a payload part: one keyframe at 80 Mbit/s and four per second; a batch closes at a quarter of it.
    package static let payloadBytes = 4 * 1024 * 1024
    /// Parts of a message besides the routing identity: header and payload.
    package static let parts = 2
    /// Samples of one batch: over a minute of sound, and what the header's size allows.
    package static let samplesPerBatch = 4_096
    /// Runs of one batch: one per kind of track.
    package static let runsPerBatch = 2
    /// Sources of one agent: more cameras than a small box encodes.
    package static let sourcesPerAgent = 16
    /// Tracks of one source: one per kind.
    package static let tracksPerSource = 2
    /// Clock domains in one Hello: reboots that one spool survives before the oldest records must have gone.
    package static let epochsPerAgent = 64
    /// Clock exchanges in one message: a minute of steady probing, and the burst before it.
    package static let exchangesPerMessage = 64

    /// Sequence parameter sets of a format: what an `avcC` box can count (ISO/IEC 14496-15 §5.3.3.1).
    package static let sequenceParameterSets = 31
    /// Picture parameter sets of a format: what an `avcC` box can count.
    package static let pictureParameterSets = 255
    /// Bytes of all parameter sets of a format together: the length field of one in `avcC`.
    package static let parameterSetBytes = 65_535
    /// Bytes of an AudioSpecificConfig: the longest with a program config element (ISO/IEC 14496-3 §4.4.1.1).
    package static let audioConfigurationBytes = 512
    /// Width and height of a picture in pixels: H.264 level 6.2 allows 16,888 at most.
    package static let pictureSide: UInt32 = 16_888
    /// Sampling frequency of sound in Hz: the fastest that AudioSpecificConfig's escape is used for.
    package static let sampleRate: UInt32 = 768_000
    /// Channels of sound: the most that ISO/IEC 23091-3 lays out, with room.
    package static let channels: UInt32 = 64

    /// Bytes of a source's name: it becomes a directory.
    package static let nameBytes = 64
    /// Bytes of the agent's name and of a software's name, which only logs show.
    package static let labelBytes = 128
    /// Bytes of a line for people: a gap's, a refusal's, a goodbye's.
    package static let textBytes = 512
    /// Bytes of a word of a command line, such as a file's path: the longest that Linux opens.
    package static let argumentBytes = 4_096
    /// Bytes of a snapshot's JPEG: 4K at good quality, and half a message.
    package static let snapshotBytes = 2 * 1024 * 1024
    /// Controls in one message: more than any camera has.
    package static let controlsPerMessage = 128
    /// Choices of one control: with all of them at their longest, a report of usual controls fits in a header.
    package static let choicesPerControl = 64
    /// Lines on what was picked in one status: one per track, and some that say why.
    package static let descriptionsPerStatus = 8
    /// Bits per second that can be asked for.
    package static let bitsPerSecond: UInt64 = 1_000_000_000
    /// Commands that an agent has not answered: more than people type.
    package static let openCommands = 8
    /// Milliseconds that an agent has for an answer: opening a camera takes some seconds.
    package static let commandMilliseconds: Int64 = 30_000
    /// Bytes of a digest: SHA-256.
    package static let digestBytes = 32
    /// Bytes of an identity (spool, epoch, capture): collisions are out of the question.
    package static let identityBytes = 16
    /// Bytes of a public key: CURVE's.
    package static let publicKeyBytes = 32
    /// Names of sources, or beginnings of names, that an agent is told it may write: more than it can have sources.
    package static let patternsPerKey = 64

    /// Nanoseconds that a time may lie from its clock's zero, either way: sums and differences of two cannot overflow.
    package static let timeNanoseconds: Int64 = 1 << 61
    /// Nanoseconds that a sample may last, or be presented after it is decoded: an hour.
    package static let intervalNanoseconds: Int64 = 3_600_000_000_000
    /// Nanoseconds that a gap may last: ten years.
    package static let gapNanoseconds: Int64 = 315_360_000_000_000_000
    /// Samples that one gap may stand for: a thousand a second for thirty years.
    package static let gapSamples: UInt64 = 1 << 40
    /// The highest count of anything that an agent reports of itself (bytes kept, samples lost).
    package static let reportedCount: UInt64 = 1 << 62
    /// A sound level, hundredths of a decibel of full scale: from silence to twice what can be heard unclipped.
    package static let levelMillibels: ClosedRange<Int32> = -12_000...600
    /// The highest record number: arithmetic on numbers cannot overflow.
    package static let sequence: UInt64 = 1 << 62

    /// Bytes of credit that a record costs besides its payload, so that credit bounds the number of messages too.
    package static let recordCostBytes: UInt64 = 256
    /// Bytes of credit that a source is granted ahead of what is on disk, at most: a second at 64 Mbit/s.
    package static let creditWindowBytes: UInt64 = 8 * 1024 * 1024
    /// The same for all sources together, where that leaves each ``smallestCreditWindowBytes``: memory that is used anew all the
    /// time costs a third less than ten times as much that is not.
    package static let commonCreditWindowBytes: UInt64 = 64 * 1024 * 1024
    /// What a source is granted at least, and with the Welcome: 100 ms at 80 Mbit/s.
    package static let smallestCreditWindowBytes: UInt64 = 1024 * 1024

    /// Milliseconds between signs of life, unless the collector's Welcome says otherwise.
    package static let heartbeatMilliseconds: UInt32 = 1_000
    /// What a Welcome may say: fewer would flood, more would hide a dead peer.
    package static let heartbeatMillisecondsRange: ClosedRange<UInt32> = 100...60_000
    /// Heartbeat intervals of silence after which a peer counts as gone: four may be lost.
    package static let silentHeartbeats: Int64 = 5
    /// Milliseconds that the holder of a source has for answering a Ping: twice a heartbeat.
    package static let claimMilliseconds: Int64 = 2_000
    /// Messages per second without records that a connection may send: thirty times the usual.
    package static let controlMessagesPerSecond: Int64 = 60
    /// How many of those may come at once.
    package static let controlMessageBurst: Int64 = 120
    /// Clock probes per second that a connection may send: a prober that searches sends 83.
    package static let clockProbesPerSecond: Int64 = 100
    /// How many of those may come at once: what an agent sends to a collector that stands still, until it gives the connection up.
    package static let clockProbeBurst: Int64 = 1_000
}
