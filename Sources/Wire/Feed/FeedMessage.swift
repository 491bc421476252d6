package import Media

/// A message of a collector's feed (`proto/README.md`, "Feed"), without its topic and its media.
package enum FeedMessage: Hashable, Sendable {
    case samples(FeedSamples)
    /// The collector's status: a JSON document (`proto/json/schema.json`, "tributary top").
    case status([UInt8])
    /// Something has happened to recordings: a JSON document ("event").
    case event([UInt8])
    /// Unknown to this version.
    case unknown
}

/// Samples of one source on the session's timeline; their bytes are another part of the message.
package struct FeedSamples: Hashable, Sendable {
    package struct Sample: Hashable, Sendable {
        package var sizeBytes: UInt32
        /// Ticks of the track's timescale on the session's timeline.
        package var dts: Int64
        package var pts: Int64
        package var duration: Int64
        package var flags: SampleFlags

        package init(
            sizeBytes: UInt32, dts: Int64, pts: Int64, duration: Int64, flags: SampleFlags
        ) {
            self.sizeBytes = sizeBytes
            self.dts = dts
            self.pts = pts
            self.duration = duration
            self.flags = flags
        }
    }

    package struct Run: Hashable, Sendable {
        package var track: TrackKind
        package var firstSequence: UInt64
        /// At least one.
        package var samples: [Sample]

        package init(track: TrackKind, firstSequence: UInt64, samples: [Sample]) {
            self.track = track
            self.firstSequence = firstSequence
            self.samples = samples
        }
    }

    package var session: String
    /// Nanoseconds since 1970, UTC.
    package var zeroUTCNanoseconds: Int64
    package var source: String
    /// One more than in the message of this source before.
    package var number: UInt64
    package var formats: [TrackFormat]
    package var boundNanoseconds: UInt64
    /// Session time.
    package var arrivedNanoseconds: Int64
    package var runs: [Run]

    package init(
        session: String, zeroUTCNanoseconds: Int64, source: String, number: UInt64,
        formats: [TrackFormat], boundNanoseconds: UInt64, arrivedNanoseconds: Int64, runs: [Run]
    ) {
        self.session = session
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        self.source = source
        self.number = number
        self.formats = formats
        self.boundNanoseconds = boundNanoseconds
        self.arrivedNanoseconds = arrivedNanoseconds
        self.runs = runs
    }

    /// Bytes of all samples.
    package var sizeBytes: Int {
        runs.reduce(0) { $1.samples.reduce($0) { $0 + Int($1.sizeBytes) } }
    }
}

/// What a subscriber asks for: the beginning of a message's first part.
package enum FeedTopic {
    /// The collector's status.
    package static let status = Array("@status".utf8) + [0]

    /// What happens to recordings.
    package static let events = Array("@events".utf8) + [0]

    /// Media of one source.
    package static func source(_ name: String) -> [UInt8] { Array(name.utf8) + [0] }
}
