import Media

/// All limits of the protocol. The table in `proto/README.md` repeats them, and a test keeps the two equal.
package enum WireLimits {
    /// "TRIB": distinguishes a tributary agent from any other ZMTP peer.
    package static let magic: UInt32 = 0x5452_4942
    /// The protocol's major version; others are refused.
    package static let major: UInt32 = 1
    /// The protocol's minor version: additions that older peers ignore.
    package static let minor: UInt32 = 15
    /// The first minor version with support for commands.
    package static let commandMinor: UInt32 = 2
    /// The first minor version in which a collector reports watched sources, and supports several records in one
    /// message.
    package static let watchMinor: UInt32 = 5
    /// The first minor version in which an agent keeps its records until they are released.
    package static let releaseMinor: UInt32 = 6
    /// The first minor version with terms, and with agents that have several collectors.
    package static let termMinor: UInt32 = 9
    /// The first minor version with mirroring.
    package static let mirrorMinor: UInt32 = 10

    /// Bytes of a header part: twice the size of 4096 samples with all columns full.
    package static let headerBytes = 256 * 1024
    /// Bytes of a payload part: one keyframe at 80 Mbit/s and four keyframes per second; an agent closes a batch at a quarter of
    /// it.
    package static let payloadBytes = 4 * 1024 * 1024
    /// Parts of a message in addition to the routing identity: header and payload.
    package static let parts = 2
    /// Maximum number of records in one message: three seconds of records of 100 ms.
    package static let recordsPerMessage = 32
    /// Payload bytes of a message with several records. An incomplete message of this size stays below the threshold of
    /// the collector's memory guard.
    package static let messageBytes = 384 * 1024
    /// Samples of one batch: over a minute of audio, and what fits in a header.
    package static let samplesPerBatch = 4_096
    /// Runs of one batch: one per kind of track.
    package static let runsPerBatch = 2
    /// Sources of one agent: more cameras than a small box encodes.
    package static let sourcesPerAgent = 16
    /// Tracks of one source: one per kind.
    package static let tracksPerSource = 2
    /// Clock domains in one Hello: the number of reboots that a spool survives before its oldest records must have been
    /// dropped.
    package static let epochsPerAgent = 64
    /// Clock exchanges in one message: a minute of steady probing, and the burst before it.
    package static let exchangesPerMessage = 64
    /// Ranges of records of one source that other collectors hold: more moves than a spool outlives.
    package static let heldRanges = 64
    /// Limit of collectors in the owed records of a heartbeat: two, with a margin.
    package static let owedCollectors = 8
    /// Nanoseconds of a segment: those of `--segment`, with a margin.
    package static let segmentNanoseconds: Int64 = 8_640_000_000_000_000

    /// Sequence parameter sets of a format: the maximum of an `avcC` box (ISO/IEC 14496-15 §5.3.3.1).
    package static let sequenceParameterSets = 31
    /// Picture parameter sets of a format: the maximum of an `avcC` box.
    package static let pictureParameterSets = 255
    /// Parameter sets of a format of any other codec: as many as of an H.264 format, with a margin.
    package static let parameterSets = 288
    /// Bytes of all parameter sets of a format together: the length field of one in `avcC`.
    package static let parameterSetBytes = 65_535
    /// Bytes of an AudioSpecificConfig: the longest with a program config element (ISO/IEC 14496-3 §4.4.1.1).
    package static let audioConfigurationBytes = 512
    /// Width and height of a picture in pixels: level 6.2 of H.264 and H.265 allows 16,888 at most.
    package static let pictureSide: UInt32 = 16_888
    /// Sampling rate of audio in Hz: the highest that is accepted (`AudioSpecificConfig.maximumSampleRate`).
    package static let sampleRate: UInt32 = 768_000
    /// Channels of audio: the most that ISO/IEC 23091-3 defines, with a margin.
    package static let channels: UInt32 = 64

    /// Bytes of a source's name, which becomes a directory name.
    package static let nameBytes = DirectoryName.maximumBytes
    /// Bytes of the agent's name and of a software's name, which are only logged.
    package static let labelBytes = 128
    /// Bytes of a text line: of a gap, a refusal, a goodbye.
    package static let textBytes = 512
    /// Bytes of a command-line argument such as a path: the longest that Linux opens.
    package static let argumentBytes = 4_096
    /// Bytes of a snapshot's JPEG: 4K at good quality, and half the size of a payload.
    package static let snapshotBytes = 2 * 1024 * 1024
    /// Controls in one message: more than any camera has.
    package static let controlsPerMessage = 128
    /// Choices of one control: a report of usual controls with all choices at their maximum length fits in a header.
    package static let choicesPerControl = 64
    /// Description lines in one status: one per track, and some explanations.
    package static let descriptionsPerStatus = 8
    /// Maximum requested bit rate.
    package static let bitsPerSecond: UInt64 = 1_000_000_000
    /// Unanswered commands of an agent: more than an operator enters.
    package static let openCommands = 8
    /// Milliseconds that an agent has for an answer: opening a camera takes some seconds.
    package static let commandMilliseconds: Int64 = 30_000
    /// Bytes of a digest: SHA-256.
    package static let digestBytes = 32
    /// Bytes of an identity (spool, epoch, capture): large enough to rule out collisions.
    package static let identityBytes = 16
    /// Bytes of a public key: CURVE's.
    package static let publicKeyBytes = 32
    /// Source names or name patterns in an agent's right to write: more than it can have sources.
    package static let patternsPerKey = 64

    /// Nanoseconds that a time may be from its clock's zero, in either direction: sums and differences of two cannot overflow.
    package static let timeNanoseconds: Int64 = 1 << 61
    /// Nanoseconds that a sample may last, or that its presentation may follow its decoding: an hour.
    package static let intervalNanoseconds: Int64 = 3_600_000_000_000
    /// Nanoseconds that a gap may last: ten years.
    package static let gapNanoseconds: Int64 = 315_360_000_000_000_000
    /// Samples that one gap may stand for: a thousand a second for thirty years.
    package static let gapSamples: UInt64 = 1 << 40
    /// Maximum of any count that an agent reports about itself (bytes kept, samples lost).
    package static let reportedCount: UInt64 = 1 << 62
    /// An audio level, hundredths of a decibel relative to full scale: from silence to twice the largest unclipped
    /// amplitude.
    package static let levelMillibels: ClosedRange<Int32> = -12_000...600
    /// The highest record number: arithmetic on numbers cannot overflow.
    package static let sequence: UInt64 = 1 << 62

    /// Credit that a record costs in addition to its payload, bytes, so that credit bounds the number of messages too.
    package static let recordCostBytes: UInt64 = 256
    /// Maximum credit of a source beyond what is on disk, bytes: a second at 64 Mbit/s.
    package static let creditWindowBytes: UInt64 = 8 * 1024 * 1024
    /// Maximum credit of all sources together, as long as each has ``smallestCreditWindowBytes``. A small window reuses the
    /// same memory, and costs a third less than a window of ten times the size.
    package static let commonCreditWindowBytes: UInt64 = 64 * 1024 * 1024
    /// Minimum credit of a source, also granted with the Welcome: twice 100 ms at 80 Mbit/s. Half of a window is for the
    /// fragment that is being collected.
    package static let smallestCreditWindowBytes: UInt64 = 2 * 1024 * 1024

    /// Milliseconds between heartbeats, unless the collector's Welcome says otherwise.
    package static let heartbeatMilliseconds: UInt32 = 1_000
    /// Allowed values in a Welcome: a shorter interval would flood the link, a longer one would hide a dead peer.
    package static let heartbeatMillisecondsRange: ClosedRange<UInt32> = 100...60_000
    /// Heartbeat intervals of silence after which a peer counts as disconnected: four heartbeats may be lost.
    package static let silentHeartbeats: Int64 = 5
    /// Allowed values of the maximum delay of samples of a watched source, milliseconds: 1 requests that each picture is sent at
    /// once; 100 is the length of a batch without a viewer. Agents clamp other values to this range.
    package static let watchMillisecondsRange: ClosedRange<UInt32> = 1...100
    /// Milliseconds that samples of an unwatched source may wait for others at their agent.
    package static let gatherMilliseconds: UInt32 = 500
    /// Maximum number of instants per ``gatherMilliseconds`` at which agents send their batches: 25 ms apart.
    package static let sendInstants = 20
    /// Milliseconds that the holder of a source has for answering a Ping: two heartbeats.
    package static let claimMilliseconds: Int64 = 2_000
    /// Messages without records that a connection may send per second: thirty times the usual number.
    package static let controlMessagesPerSecond: Int64 = 60
    /// Burst of messages without records.
    package static let controlMessageBurst: Int64 = 120
    /// Clock probes that a connection may send per second: the fastest probing sends 83.
    package static let clockProbesPerSecond: Int64 = 100
    /// Burst of clock probes: those of an agent to a stalled collector, until it closes the connection.
    package static let clockProbeBurst: Int64 = 1_000
}
