import Archive
import Media
import Wire

/// Samples of one message on the session's timeline, before they are written.
struct PlacedSamples: Sendable {
    var source: SourceKey
    var sessionZero: UTCTime
    /// The formats of the source's tracks.
    var formats: [TrackFormat]
    var piece: PlannedPiece
    var boundNanoseconds: UInt64
    /// Arrival at the collector, session time.
    var arrivedNanoseconds: Int64

    /// Whether decoding can start with it.
    var beginsDecodable: Bool {
        DecodingStart.isPossible(
            at: piece.runs.first { $0.track == .video }?.samples.first?.flags,
            hasVideo: formats.contains { $0.kind == .video })
    }
}

/// The subscriptions to a feed. Without any, a check costs one comparison.
struct WatchedSources: Hashable, Sendable {
    /// Subscribed topic prefixes (``FeedTopic``).
    private(set) var topics: Set<[UInt8]> = []
    /// For each source, the number of subscriptions by requested delay, milliseconds.
    private var requests: [String: [UInt32: Int]] = [:]
    /// The limit of all connections together.
    private static let maximumTopics =
        WatcherConnections<Never>.maximumConnections * WatcherConnections<Never>.maximumTopics

    /// Adds or removes a subscription.
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

    /// A publisher receives the first subscription to a topic, and the end of the last one, also when a subscriber
    /// disconnects. So a requested delay lasts exactly as long as its subscriptions.
    private mutating func count(_ topic: [UInt8], _ change: Int) {
        guard let (source, milliseconds) = FeedTopic.delayRequest(of: topic) else { return }
        var counts = requests[source] ?? [:]
        counts[milliseconds, default: 0] += change
        if counts[milliseconds] == 0 { counts[milliseconds] = nil }
        requests[source] = counts.isEmpty ? nil : counts
    }

    func union(_ other: WatchedSources) -> WatchedSources {
        if other.topics.isEmpty { return self }
        var both = self
        both.topics.formUnion(other.topics)
        both.requests.merge(other.requests) { $0.merging($1, uniquingKeysWith: +) }
        return both
    }

    /// Whether there are subscriptions to media.
    var wantsMedia: Bool { topics.contains { $0.first != UInt8(ascii: "@") } }

    func includes(_ source: String) -> Bool {
        guard !topics.isEmpty else { return false }
        return wants(FeedTopic.source(source))
    }

    /// The maximum delay from capture for samples of a source: the minimum over its subscribers. A subscriber that
    /// requests no delay gets the upper end of ``WireLimits/watchMillisecondsRange``.
    /// - Returns: milliseconds; 0: the source has no subscribers.
    func requestedMilliseconds(of source: String) -> UInt32 {
        guard includes(source) else { return 0 }
        return requests[source]?.keys.min() ?? WireLimits.watchMillisecondsRange.upperBound
    }

    /// Whether any subscription matches a topic.
    func wants(_ topic: [UInt8]) -> Bool {
        // Topics are short, and subscriptions may be many.
        !topics.isEmpty && (0...topic.count).contains { topics.contains(Array(topic.prefix($0))) }
    }
}
