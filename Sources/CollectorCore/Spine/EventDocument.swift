import Archive
import JSON
import Terminal

/// A recording event in the feed: the document of ``FeedMessage/event(_:)`` (`proto/json/schema.json`, "event").
struct EventDocument: Encodable, Sendable {
    var type: String
    var session: String
    var source: String?
    /// The file's name.
    var segment: String?
    var sizeBytes: UInt64?
    /// The cause of a gap or of a removal.
    var cause: String?
    var track: String?
    var samples: UInt64?
    /// Session time.
    var startNanoseconds: Int64?
    var durationNanoseconds: UInt64?
    var text: String?

    private init(_ type: String, _ session: String, source: String? = nil) {
        self.type = type
        self.session = session
        self.source = source
    }

    private init(_ type: String, _ segment: SegmentKey) {
        self.init(type, segment.session, source: segment.source)
        self.segment = segment.fileName
    }

    /// - Returns: nil for an event that is not published.
    init?(_ event: RecordingEvent) {
        switch event {
        case .sessionDescribed(let manifest): self.init("session", manifest.session)
        case .sessionEnded(let manifest): self.init("sessionEnded", manifest.session)
        case .sessionRemoved(let session): self.init("sessionRemoved", session)
        case .sessionChanged(let session): self.init("sessionChanged", session)
        case .sourceBegan(let source): self.init("source", source.session, source: source.source)
        case .sourceEnded(let source):
            self.init("sourceEnded", source.session, source: source.source)
        case .segmentBegan(let segment, _, _): self.init("segment", segment)
        case .segmentFinished(let segment, let size, _, _):
            self.init("segmentFinished", segment)
            sizeBytes = size
        case .segmentRemoved(let segment, let cause):
            self.init("segmentRemoved", segment)
            self.cause = cause
        case .noted(let source, let entry, _) where entry.kind == .gap:
            self.init("gap", source.session, source: source.source)
            cause = entry.cause
            track = entry.track
            samples = entry.samples
            startNanoseconds = entry.startNanoseconds
            durationNanoseconds = entry.durationNanoseconds
            text = entry.text
        case .noted, .sourceMended, .fragmentAppended, .durable, .segmentStored, .segmentMoved:
            return nil
        }
    }

    /// Events of a session, or of all sessions, were lost: subscribers have to read the state again.
    static func lost(_ session: String) -> EventDocument { EventDocument("lost", session) }

    func encoded() throws -> [UInt8] { Array(try JSONOutput.text(self).utf8) }
}
