import Archive
import Media
import Wire

/// Samples of one message on the session's timeline, before they are written.
struct PlacedSamples: Sendable {
    var source: SourceKey
    var sessionZero: UTCTime
    /// How the source's tracks are coded.
    var formats: [TrackFormat]
    var piece: PlannedPiece
    var boundNanoseconds: UInt64
    /// When the collector had them, session time.
    var arrivedNanoseconds: Int64

    /// Decoding can begin with it.
    var beginsDecodable: Bool {
        guard formats.contains(where: { $0.kind == .video }) else { return true }
        let pictures = piece.runs.first { $0.track == .video }
        return pictures?.samples.first?.flags.contains(.keyframe) ?? false
    }
}

/// Whose samples somebody watches live. With none, asking costs a comparison.
struct WatchedSources: Hashable, Sendable {
    /// What subscribers want messages to begin with (``FeedTopic``).
    private(set) var topics: Set<[UInt8]> = []
    /// For each source, how many topics wish to have samples within so many milliseconds.
    private var wishes: [String: [UInt32: Int]] = [:]
    /// As many as all connections together may have.
    private static let maximumTopics =
        WatcherConnections<Never>.maximumConnections * WatcherConnections<Never>.maximumTopics

    /// Takes a subscription, or its end.
    /// - Parameter message: as a publisher receives it: 1 or 0, then the topic (ZMTP 3.1 §4.4.1).
    /// - Returns: whether it was one.
    mutating func take(_ message: [UInt8]) -> Bool {
        let topic = Array(message.dropFirst())
        switch message.first {
        case 1 where topics.count < Self.maximumTopics:
            if topics.insert(topic).inserted { count(topic, 1) }
        case 1: break
        case 0:
            if topics.remove(topic) != nil { count(topic, -1) }
        default: return false
        }
        return true
    }

    /// A publisher hears of the first subscription to a topic and of the last one's end, and of the end when a subscriber is gone. So a
    /// wish lasts exactly as long as anybody has it.
    private mutating func count(_ topic: [UInt8], _ change: Int) {
        guard let (source, milliseconds) = FeedTopic.wish(of: topic) else { return }
        var counts = wishes[source] ?? [:]
        counts[milliseconds, default: 0] += change
        if counts[milliseconds] == 0 { counts[milliseconds] = nil }
        wishes[source] = counts.isEmpty ? nil : counts
    }

    /// What those want who watch in two places.
    func union(_ other: WatchedSources) -> WatchedSources {
        if other.topics.isEmpty { return self }
        var both = self
        both.topics.formUnion(other.topics)
        both.wishes.merge(other.wishes) { $0.merging($1, uniquingKeysWith: +) }
        return both
    }

    /// Whether anybody wants media of any source.
    var wantsMedia: Bool { topics.contains { $0.first != UInt8(ascii: "@") } }

    func includes(_ source: String) -> Bool {
        guard !topics.isEmpty else { return false }
        return wants(FeedTopic.source(source))
    }

    /// Within how many milliseconds of its capture each sample of a source is wanted: the smallest wish of all who watch. Somebody who
    /// subscribes and wishes nothing gets what ``WireLimits/watchMillisecondsRange`` ends with.
    /// - Returns: 0: nobody watches the source.
    func wishMilliseconds(of source: String) -> UInt32 {
        guard includes(source) else { return 0 }
        return wishes[source]?.keys.min() ?? WireLimits.watchMillisecondsRange.upperBound
    }

    /// Whether a message with this topic reaches anybody.
    func wants(_ topic: [UInt8]) -> Bool {
        // Topics are short, and subscriptions may be many.
        !topics.isEmpty && (0...topic.count).contains { topics.contains(Array(topic.prefix($0))) }
    }
}
