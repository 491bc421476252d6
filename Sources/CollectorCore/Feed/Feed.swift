import Logging
import Messaging
import Operations
import Wire

/// A collector's feed while it runs. What fails here is said once, and recording goes on without it.
struct Feed {
    private static let statusNanoseconds: Int64 = 1_000_000_000

    private var publisher: FeedPublisher?
    private let logger: Logger
    private var nextStatus: Int64 = .min
    private let spine: Spine
    /// Hears events while somebody has subscribed to them.
    private var events: SpineListener?
    private static let queuedEvents = 1_024

    /// - Parameters:
    ///   - publisher: nil: nobody can watch.
    ///   - spine: says what happens to recordings.
    init(_ publisher: FeedPublisher?, spine: Spine, logger: Logger) {
        self.publisher = publisher
        self.spine = spine
        self.logger = logger
    }

    var watched: WatchedSources { publisher?.watched ?? WatchedSources() }
    /// Somebody has subscribed to anything.
    var isWatched: Bool { publisher?.isWatched ?? false }

    /// Takes in who has come and gone; ten times a second. Publishes the status once a second.
    mutating func tick(board: StatusBoard, now: Int64) {
        do {
            _ = try publisher?.followSubscriptions()
            try publishEvents()
            try publisher?.tellOfLostEvents()
            guard now >= nextStatus else { return }
            nextStatus = now + Self.statusNanoseconds
            try publisher?.publish { try board.view.encoded() }
        } catch {
            give(up: error)
        }
    }

    private mutating func publishEvents() throws {
        guard watched.wants(FeedTopic.events) else {
            if let events { spine.remove(events) }
            events = nil
            return
        }
        guard let events else {
            let listener = SpineListener(
                [.sessions, .segments, .ledgers], capacity: Self.queuedEvents)
            spine.add(listener)
            events = listener
            return
        }
        let heard = events.take()
        for event in heard.events {
            if let document = EventDocument(event) { try publisher?.publish(document) }
        }
        switch heard.lost {
        case .nothing: break
        case .sessions(let sessions):
            for session in sessions.sorted() { try publisher?.publish(.lost(session)) }
        case .everything: try publisher?.publish(.lost(""))
        }
    }

    /// Publishes samples of watched sources.
    mutating func publish(_ placed: [PlacedSamples<ReceivedPart>]) {
        do throws(MessagingError) {
            for samples in placed { try publisher?.publish(samples) }
        } catch {
            give(up: error)
        }
    }

    private mutating func give(up error: any Error) {
        logger.error("nobody can watch live any more: \(error)")
        publisher = nil
    }
}
