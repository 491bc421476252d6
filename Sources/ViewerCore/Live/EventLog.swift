import FoundationEssentials
import Operations
import Synchronization

/// What has happened lately, numbered, for those who listen and for those who come back (server-sent events).
final class EventLog: Sendable {
    /// Events that a listener who comes back can be told of: some hours of an ordinary site.
    private static let capacity = 2_000
    static let maximumListeners = 500

    /// One event, and who may hear of it.
    struct Event: Sendable {
        var number: UInt64
        /// `event:` of a server-sent event.
        var name: String
        /// The sources that it is about: who may not see them does not hear of it.
        var sources: [String]
        var json: String
    }

    /// Waits for events.
    final class Listener: Sendable {
        fileprivate struct State {
            var events: [Event] = []
            var waiting: CheckedContinuation<[Event], Never>?
        }

        /// Who does not read loses the oldest.
        private static let capacity = 500

        fileprivate let state = Mutex(State())

        fileprivate func take(_ event: Event) {
            let (waiting, events) = state.withLock {
                state -> (CheckedContinuation<[Event], Never>?, [Event]) in
                // Of the status, the newest counts.
                if event.name == EventLog.status {
                    state.events.removeAll { $0.name == EventLog.status }
                }
                state.events.append(event)
                if state.events.count > Self.capacity { state.events.removeFirst() }
                guard let waiting = state.waiting else { return (nil, []) }
                state.waiting = nil
                defer { state.events.removeAll() }
                return (waiting, state.events)
            }
            waiting?.resume(returning: events)
        }

        /// The events since the last call; waits for one. There is one at least each second: a beat.
        func next() async -> [Event] {
            await withCheckedContinuation { continuation in
                let events = state.withLock { state -> [Event]? in
                    guard state.events.isEmpty else {
                        defer { state.events.removeAll() }
                        return state.events
                    }
                    state.waiting = continuation
                    return nil
                }
                if let events { continuation.resume(returning: events) }
            }
        }
    }

    static let status = "status"
    /// Nothing has happened for a second.
    static let beat = "beat"

    private struct State {
        var events: [Event] = []
        var last: UInt64
        var listeners: [ObjectIdentifier: Listener] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter first: larger than any number of a run before.
    init(first: UInt64) { state = Mutex(State(last: first)) }

    /// One more can listen.
    var hasRoom: Bool { state.withLock { $0.listeners.count < Self.maximumListeners } }
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// Begins to listen.
    /// - Parameter last: the number that was heard last; nil: only what comes.
    /// - Returns: nil when there are too many.
    func listen(after last: UInt64?) -> Listener? {
        let listener = Listener()
        let isTaken = state.withLock { state in
            guard state.listeners.count < Self.maximumListeners else { return false }
            state.listeners[ObjectIdentifier(listener)] = listener
            if let last {
                for event in state.events where event.number > last { listener.take(event) }
            }
            return true
        }
        return isTaken ? listener : nil
    }

    func stop(_ listener: Listener) {
        state.withLock { _ = $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) }
    }

    /// Adds an event; the status and beats are told, and not kept.
    func add(_ name: String, sources: [String] = [], json: String) {
        state.withLock { state in
            let isKept = name != Self.status && name != Self.beat
            if isKept { state.last += 1 }
            let event = Event(number: state.last, name: name, sources: sources, json: json)
            if isKept {
                state.events.append(event)
                if state.events.count > Self.capacity { state.events.removeFirst() }
            }
            for listener in state.listeners.values { listener.take(event) }
        }
    }

    /// Takes an event of a feed (`proto/json/schema.json`, "event").
    func take(feed json: [UInt8]) {
        struct Head: Decodable {
            var type: String
            var source: String?
        }
        do {
            let head = try JSONDecoder().decode(Head.self, from: Data(json))
            let name = String(head.type.filter { $0.isLetter }.prefix(32))
            add(name, sources: head.source.map { [$0] } ?? [], json: Self.line(json))
        } catch {
            // Of another version: nothing that could be told.
            return
        }
    }

    /// JSON without line breaks, which would end a server-sent event; within its strings there are none.
    static func line(_ json: [UInt8]) -> String {
        String(
            decoding: json.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") },
            as: UTF8.self)
    }
}
