import Accounts
import FoundationEssentials
import Media
import Operations
import Synchronization

/// Numbered recent events, for current clients and for those that reconnect (server-sent events).
final class EventLog: Sendable {
    /// Events kept for clients that reconnect: some hours of a typical site.
    private static let capacity = 2_000
    static let maximumListeners = 500
    /// Limit per account, which leaves places for others. Not applied without accounts.
    static let maximumListenersOfAccount = 100

    /// Sessions whose sources are cached, which determine who may see their events.
    private static let knownSessions = 1_000

    /// The audience of an event.
    enum Audience: Hashable, Sendable {
        /// All clients; each gets its part of a status.
        case everybody
        /// Clients that may see the source.
        case source(String)
        /// Clients that may see one of the session's sources.
        case session(sources: Set<String>)
        /// Clients that may see the job.
        case job(owner: Identity, sources: [String])
    }

    /// An event and its audience.
    struct Event: Equatable, Sendable {
        var number: UInt64
        /// `event:` of a server-sent event.
        var name: String
        var audience: Audience
        var json: String
        /// Variant of a status for accounts that may see some of the sources; nil for other events.
        var narrowed: NarrowedStatus?

        /// Ignores cached variants of the JSON.
        static func == (one: Event, other: Event) -> Bool {
            (one.number, one.name, one.audience, one.json)
                == (other.number, other.name, other.audience, other.json)
        }

        /// All clients may have missed events up to this one, and must read the state again.
        static func lost(_ number: UInt64) -> Event {
            Event(
                number: number, name: EventLog.lost, audience: .everybody, json: EventLog.lostJSON)
        }

        /// Whether it is kept for clients that reconnect.
        var isKept: Bool { name != EventLog.status && name != EventLog.beat }

        /// The event as an account may see it; nil if it may not.
        ///
        /// An event that reveals only a session's name is sent to accounts that may see one of its sources. Changes of other sessions
        /// are sent as `lost`, without a name: the client reads the state again.
        func told(to identity: Identity, _ rights: Rights) -> Event? {
            switch audience {
            case .everybody: return self
            case .source(let source): return rights.mayRead(source) ? self : nil
            case .job(let owner, let sources):
                return rights.mayFollowJob(of: owner, sources: sources, as: identity) ? self : nil
            case .session(let sources):
                if rights.mayReadEverything || sources.contains(where: rights.mayRead) {
                    return self
                }
                // A client that may see one of its sources gets the source's events.
                guard !["session", "sessionEnded"].contains(name) else { return nil }
                var event = self
                (event.name, event.json) = (EventLog.lost, EventLog.lostJSON)
                return event
            }
        }
    }

    /// Waits for events.
    final class Listener: Sendable {
        fileprivate struct State {
            var events: [Event] = []
            /// The number of the last event that was left out; nil: none was since the last call.
            var lost: UInt64?
            var waiting: CheckedContinuation<[Event], Never>?

            /// The queued events, in order; empties the queue.
            mutating func takeEvents() -> [Event] {
                defer { (events, lost) = ([], nil) }
                return (lost.map { [Event.lost($0)] } ?? []) + events
            }
        }

        /// Limit for a slow client, which loses the oldest events and is notified.
        static let capacity = 500

        fileprivate let owner: Identity
        fileprivate let state = Mutex(State())

        fileprivate init(for owner: Identity) { self.owner = owner }

        fileprivate func take(_ event: Event) {
            let (waiting, events) = state.withLock {
                state -> (CheckedContinuation<[Event], Never>?, [Event]) in
                // Only the newest status is kept.
                if event.name == EventLog.status {
                    state.events.removeAll { $0.name == EventLog.status }
                }
                state.events.append(event)
                if state.events.count > Self.capacity {
                    let oldest = state.events.removeFirst()
                    if oldest.isKept { state.lost = oldest.number }
                }
                guard let waiting = state.waiting else { return (nil, []) }
                state.waiting = nil
                return (waiting, state.takeEvents())
            }
            waiting?.resume(returning: events)
        }

        /// Events up to a number were dropped.
        fileprivate func lose(upTo number: UInt64) { state.withLock { $0.lost = number } }

        /// The events since the last call; waits for one. At least one event follows each second: a heartbeat.
        func next() async -> [Event] {
            await withCheckedContinuation { continuation in
                let events = state.withLock { state -> [Event]? in
                    guard state.events.isEmpty else { return state.takeEvents() }
                    state.waiting = continuation
                    return nil
                }
                if let events { continuation.resume(returning: events) }
            }
        }
    }

    static let status = "status"
    /// Events were lost: the client must read the state again.
    static let lost = "lost"
    private static let lostJSON = #"{"session":"","type":"lost"}"#
    /// `event:` of all events (`proto/openapi.yaml`, `/api/v1/events`).
    static let types: Set<String> = [
        status, lost, "session", "sessionEnded", "sessionChanged", "sessionRemoved", "source",
        "sourceEnded", "segment", "segmentFinished", "segmentRemoved", "gap", "job",
    ]
    /// No event for a second.
    static let beat = "beat"
    /// A new client gets a status at once if it is not older, nanoseconds. It is sent once a second.
    private static let statusNanoseconds: Int64 = 2_000_000_000

    private struct State {
        var events: [Event] = []
        var last: UInt64
        var listeners: [ObjectIdentifier: Listener] = [:]
        /// The newest, and when it came; monotonic, nanoseconds.
        var status: (event: Event, nanoseconds: Int64)?

        func hasRoom(for owner: Identity) -> Bool {
            guard listeners.count < EventLog.maximumListeners else { return false }
            return owner == .anonymous
                || listeners.values.count { $0.owner == owner }
                    < EventLog.maximumListenersOfAccount
        }

        /// Sources of sessions, from the events of sources.
        var sources: [String: Set<String>] = [:]
        /// The sessions in ``sources``, in the order of their first events.
        var sessions: [String] = []
    }

    private let state: Mutex<State>

    /// - Parameter first: larger than any number of a run before.
    init(first: UInt64) { state = Mutex(State(last: first)) }

    /// Whether another client of this account can listen.
    func hasRoom(for owner: Identity) -> Bool { state.withLock { $0.hasRoom(for: owner) } }
    var listenerCount: Int { state.withLock { $0.listeners.count } }
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// Adds a client.
    /// - Parameters:
    ///   - last: number of the last received event; nil: only new events, and the present status. Events after it that are not kept
    ///     any more become a `lost`.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: nil past the limit of clients, or of this account's.
    func listen(
        after last: UInt64?, for owner: Identity = .anonymous,
        now: Int64 = SystemClock.monotonic.nowNanoseconds
    ) -> Listener? {
        let listener = Listener(for: owner)
        let isTaken = state.withLock { state in
            guard state.hasRoom(for: owner) else { return false }
            state.listeners[ObjectIdentifier(listener)] = listener
            if let (status, when) = state.status, now - when <= Self.statusNanoseconds {
                listener.take(status)
            }
            guard let last, last != state.last else { return true }
            guard last < state.last else {
                // The number is from a run with a clock ahead of this one's.
                listener.lose(upTo: state.last)
                return true
            }
            let missed = state.events.filter { $0.number > last }
            // Numbers are consecutive: missing events were removed, or are from before the viewer's start.
            let oldest = missed.first?.number ?? state.last + 1
            if last + 1 < oldest { listener.lose(upTo: oldest - 1) }
            for event in missed { listener.take(event) }
            return true
        }
        return isTaken ? listener : nil
    }

    func stop(_ listener: Listener) {
        state.withLock { _ = $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) }
    }

    /// Adds an event. Status and heartbeat events are sent, but not kept; the newest status is sent to clients that connect soon.
    /// - Parameter now: monotonic, nanoseconds.
    func add(
        _ name: String, for audience: Audience = .everybody, json: String,
        now: Int64 = SystemClock.monotonic.nowNanoseconds
    ) {
        state.withLock { Self.add(name, for: audience, json: json, to: &$0, now) }
    }

    /// Adds ``lost``, for all clients.
    func addLost() { add(Self.lost, json: Self.lostJSON) }

    private static func add(
        _ name: String, for audience: Audience, json: String, to state: inout State, _ now: Int64
    ) {
        var event = Event(number: state.last, name: name, audience: audience, json: json)
        if event.isKept {
            state.last += 1
            event.number = state.last
            state.events.append(event)
            if state.events.count > Self.capacity { state.events.removeFirst() }
        }
        if name == status {
            event.narrowed = NarrowedStatus(json)
            state.status = (event, now)
        }
        for listener in state.listeners.values { listener.take(event) }
    }

    /// Adds an event of a feed (`proto/json/schema.json`, "event").
    func take(feed json: [UInt8], now: Int64 = SystemClock.monotonic.nowNanoseconds) {
        struct Head: Decodable {
            var type: String
            var session: String
            var source: String?
        }
        do {
            let head = try JSONDecoder().decode(Head.self, from: Data(json))
            let name = String(head.type.filter { $0.isLetter }.prefix(32))
            let line = Self.line(json)
            state.withLock { state in
                let audience: Audience
                if let source = head.source {
                    audience = .source(source)
                    Self.remember(source, of: head.session, in: &state)
                } else {
                    audience = .session(sources: state.sources[head.session] ?? [])
                }
                Self.add(name, for: audience, json: line, to: &state, now)
            }
        } catch {
            // An event of another version.
            return
        }
    }

    private static func remember(_ source: String, of session: String, in state: inout State) {
        if state.sources[session] == nil {
            state.sessions.append(session)
            if state.sessions.count > knownSessions {
                let oldest = state.sessions.removeFirst()
                state.sources[oldest] = nil
            }
        }
        state.sources[session, default: []].insert(source)
    }

    /// JSON without line breaks, which would end a server-sent event; within its strings there are none.
    static func line(_ json: [UInt8]) -> String {
        String(
            decoding: json.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") },
            as: UTF8.self)
    }
}
