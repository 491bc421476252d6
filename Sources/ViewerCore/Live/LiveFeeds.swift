import Catalog
import Dispatch
import Logging
import Media
import Messaging
import Operations
import Synchronization
import Threads
import Wire

/// The feeds that a viewer receives, with a ``FeedSubscriber`` for each collector. Any thread may call.
///
/// Each feed has a thread and a connection of its own, so that a feed that floods or hangs delays no other. A thread sends heartbeats and,
/// of several collectors, one status for all (``SiteStatus``), once a second.
final class LiveFeeds: Sendable {
    private static let beatMilliseconds = 1_000
    /// Rate limit of one feed's events. A source with a bad connection causes a few a second. Past it, clients get `lost` and read the
    /// state again.
    private static let eventsPerSecond = 50.0
    private static let eventBurst = 500.0

    private struct State {
        var subscribers: [FeedEndpoint: FeedSubscriber] = [:]
        var status: SiteStatus?
        var budgets: [String: EventBudget] = [:]
        var isRunning = false
        var isStopping = false
    }

    private let hub: LiveHub
    private let log: EventLog
    private let history: StatusHistory
    private let logger: Logger
    private let state: Mutex<State>
    private let wake = Semaphore(value: 0)
    private let thread = JoinableThread()

    /// - Parameter isSite: whether the viewer receives the feeds of a site's collectors, and sends one status for all.
    init(hub: LiveHub, log: EventLog, history: StatusHistory, isSite: Bool, logger: Logger) {
        self.hub = hub
        self.log = log
        self.history = history
        self.logger = logger
        state = Mutex(State(status: isSite ? SiteStatus() : nil))
    }

    func start() {
        hub.onChange { [self] in
            for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.wake() }
        }
        let subscribers = state.withLock { state in
            state.isRunning = true
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.start() }
        thread.start("live") { [self] in
            while !state.withLock(\.isStopping) {
                tick(now: SystemClock.monotonic.nowNanoseconds)
                _ = wake.wait(timeout: .now() + .milliseconds(Self.beatMilliseconds))
            }
        }
    }

    func stop() {
        let subscribers = state.withLock { state in
            state.isStopping = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        wake.signal()
        thread.join()
        for subscriber in subscribers { subscriber.stop() }
    }

    /// Sets the feeds to receive; immediately, or from ``start()`` on.
    func follow(_ places: [FeedEndpoint]) throws(MessagingError) {
        let known = state.withLock { Set($0.subscribers.keys) }
        var new: [FeedEndpoint: FeedSubscriber] = [:]
        for place in places where !known.contains(place) && new[place] == nil {
            new[place] = try FeedSubscriber(place, hub: hub, logger: logger) { [weak self] in
                self?.take($0, from: place.collector, now: $1)
            }
        }
        let wanted = Set(places)
        let (begun, ended) = state.withLock { state -> ([FeedSubscriber], [FeedSubscriber]) in
            guard !state.isStopping else { return ([], []) }
            let over = state.subscribers.filter { !wanted.contains($0.key) }
            for place in over.keys { state.subscribers[place] = nil }
            for (place, subscriber) in new { state.subscribers[place] = subscriber }
            return state.isRunning ? (Array(new.values), Array(over.values)) : ([], [])
        }
        for subscriber in begun { subscriber.start() }
        for subscriber in ended { subscriber.stop() }
    }

    /// Updates the feeds from the reports of the site's collectors.
    func note(_ collectors: [SiteCollector]) {
        let now = SystemClock.monotonic.nowNanoseconds
        state.withLock { $0.status?.note(collectors, now: now) }
    }

    /// The archives' directories of the collectors that a command about a source or session goes to.
    func archives(for subject: CollectorCommands.Subject) -> [String] {
        state.withLock { state in
            let places = state.subscribers.keys.filter { $0.archive != nil }
            guard let status = state.status else { return places.compactMap(\.archive) }
            let names =
                switch subject {
                case .source(let source):
                    [status.collector(of: source)].compactMap { $0 }
                case .session(let session): status.collectors(recording: session)
                }
            return places.filter { names.contains($0.collector) }
                .sorted { $0.collector < $1.collector }.compactMap(\.archive)
        }
    }

    private func tick(now: Int64) {
        hub.tick(now: now)
        log.add(EventLog.beat, json: "")
        let status = state.withLock { $0.status }
        guard let status, log.hasListeners || history.isDue(now: now) else { return }
        guard let view = status.view(now: now, feed: { hub.feed(of: $0) }) else { return }
        do {
            let json = try view.encoded()
            history.take(status: json, now: now)
            log.add(EventLog.status, json: EventLog.line(json), now: now)
        } catch {
            preconditionFailure("all numbers of a status are finite: \(error)")
        }
    }

    /// Takes a message of a feed.
    /// - Parameter now: monotonic, nanoseconds.
    func take(_ message: FeedSubscriber.Message, from collector: String, now: Int64) {
        switch message {
        case .samples(let samples, let media):
            hub.take(samples, media: media, from: collector, now: now)
        case .status(let json):
            let isOne = state.withLock { state in
                state.status?.take(json, from: collector, now: now)
                return state.status == nil
            }
            guard isOne else { return }
            history.take(status: json, now: now)
            log.add(EventLog.status, json: EventLog.line(json), now: now)
        case .event(let json):
            switch state.withLock({ $0.budgets[collector, default: EventBudget()].spend(now) }) {
            case .all: log.take(feed: json)
            case .last: log.addLost()
            case .none: return
            }
        case .reconnected: log.addLost()
        }
    }

    /// Limits the events of a feed.
    private struct EventBudget {
        enum Share { case all, last, none }

        var left = LiveFeeds.eventBurst
        var nanoseconds: Int64?
        var isExhausted = false

        mutating func spend(_ now: Int64) -> Share {
            let elapsed = max(0, now.clampedSubtracting(nanoseconds ?? now))
            nanoseconds = now
            left = min(
                LiveFeeds.eventBurst, left + Double(elapsed) / 1e9 * LiveFeeds.eventsPerSecond)
            guard left >= 1 else {
                defer { isExhausted = true }
                return isExhausted ? .none : .last
            }
            left -= 1
            isExhausted = false
            return .all
        }
    }
}
