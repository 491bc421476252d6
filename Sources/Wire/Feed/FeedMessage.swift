package import Media

/// A message of a collector's feed (`proto/README.md`, "Feed"), without its topic and its media.
package enum FeedMessage: Hashable, Sendable {
    case samples(FeedSamples)
    /// The collector's status: a JSON document (`proto/json/schema.json`, "tributary top").
    case status([UInt8])
    /// A recording event: a JSON document ("event").
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
    /// The previous message's number of this source, plus one.
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

/// Topics of subscriptions: prefixes of a message's first part.
package enum FeedTopic {
    /// The collector's status.
    package static let status = Array("@status".utf8) + [0]

    /// Recording events.
    package static let events = Array("@events".utf8) + [0]

    /// Media of one source.
    package static func source(_ name: String) -> [UInt8] { Array(name.utf8) + [0] }

    private static let delayPrefix = Array("@batch/".utf8)

    /// Not a topic of messages: a subscription to it requests a maximum delay from capture for a source's samples. It
    /// is clamped to ``WireLimits/watchMillisecondsRange``.
    package static func delayRequest(_ milliseconds: UInt32, for source: String) -> [UInt8] {
        delayPrefix + Array("\(milliseconds)/\(source)".utf8) + [0]
    }

    /// The requested delay in a topic; nil for another topic, or an invalid source name.
    package static func delayRequest(of topic: [UInt8]) -> (source: String, milliseconds: UInt32)? {
        guard topic.starts(with: delayPrefix), topic.last == 0 else { return nil }
        let parts = topic[delayPrefix.count..<topic.count - 1].split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let milliseconds = UInt32(String(decoding: parts[0], as: UTF8.self))
        else { return nil }
        let source = String(decoding: parts[1], as: UTF8.self)
        guard SourceName.isValid(source) else { return nil }
        let range = WireLimits.watchMillisecondsRange
        return (source, min(max(milliseconds, range.lowerBound), range.upperBound))
    }
}
