import Logging
import Messaging
import Operations
import Wire

/// A collector's feeds. A failure here is logged once, and recording continues without the feed.
struct Feed {
    private static let statusNanoseconds: Int64 = 1_000_000_000

    /// For viewers on this machine, and for viewers on other machines.
    private var publishers: [FeedPublisher]
    private let logger: Logger
    private var nextStatus: Int64 = .min
    private let spine: Spine
    /// Receives events while there are subscribers to them.
    private var events: SpineListener?
    private static let queuedEvents = 1_024

    /// - Parameters:
    ///   - publishers: none if the feed is disabled.
    ///   - spine: the source of events.
    init(_ publishers: [FeedPublisher], spine: Spine, logger: Logger) {
        self.publishers = publishers
        self.spine = spine
        self.logger = logger
    }

    /// The union of all subscriptions.
    var watched: WatchedSources {
        publishers.reduce(WatchedSources()) { $0.union($1.watched) }
    }
    /// Whether there are subscriptions to media.
    var isWatched: Bool { publishers.contains(where: \.isWatched) }

    /// Updates the subscriptions; called ten times a second. Publishes the status once a second.
    mutating func tick(board: StatusBoard, now: Int64) {
        each { _ = try $0.followSubscriptions() }
        publishEvents()
        each { try $0.reportLostEvents() }
        guard now >= nextStatus else { return }
        nextStatus = now + Self.statusNanoseconds
        each { try $0.publish { try board.view.encoded() } }
    }

    private mutating func publishEvents() {
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
            if let document = EventDocument(event) { each { try $0.publish(document) } }
        }
        switch heard.lost {
        case .nothing: break
        case .sessions(let sessions):
            for session in sessions.sorted() { each { try $0.publish(.lost(session)) } }
        case .everything: each { try $0.publish(.lost("")) }
        }
    }

    /// Publishes samples of watched sources.
    mutating func publish(_ placed: [PlacedSamples]) {
        guard !placed.isEmpty else { return }
        each { publisher in
            for samples in placed { try publisher.publish(samples) }
        }
    }

    /// Calls `body` with each publisher. A publisher that fails is closed.
    private mutating func each(_ body: (FeedPublisher) throws -> Void) {
        let logger = logger
        publishers.removeAll { publisher in
            do {
                try body(publisher)
                return false
            } catch {
                logger.error("\(publisher.audience) cannot watch live any more: \(error)")
                return true
            }
        }
    }
}
