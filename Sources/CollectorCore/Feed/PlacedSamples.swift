import Archive
import Media
import Wire

/// Samples of one message on the session's timeline, before they are written.
struct PlacedSamples<Payload: Sendable>: Sendable {
    var source: SourceKey
    var sessionZero: UTCTime
    /// How the source's tracks are coded.
    var formats: [TrackFormat]
    var piece: PlannedPiece<Payload>
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
    /// A subscription for each of a thousand sources, and a few besides.
    private static let maximumTopics = 1_200

    /// Takes a subscription, or its end.
    /// - Parameter message: as a publisher receives it: 1 or 0, then the topic (ZMTP 3.1 §4.4.1).
    /// - Returns: whether it was one.
    mutating func take(_ message: [UInt8]) -> Bool {
        let topic = Array(message.dropFirst())
        switch message.first {
        case 1 where topics.count < Self.maximumTopics: topics.insert(topic)
        case 1: break
        case 0: topics.remove(topic)
        default: return false
        }
        return true
    }

    /// Whether anybody wants media of any source.
    var wantsMedia: Bool { topics.contains { $0.first != UInt8(ascii: "@") } }

    func includes(_ source: String) -> Bool {
        guard !topics.isEmpty else { return false }
        return wants(FeedTopic.source(source))
    }

    /// Whether a message with this topic reaches anybody.
    func wants(_ topic: [UInt8]) -> Bool { topics.contains { topic.starts(with: $0) } }
}
