import Archive
import Dispatch
import Synchronization

/// Distributes events of recordings from the disk thread to listeners: the catalog, the log, the metrics, uploads and
/// the feed.
///
/// It never blocks the disk thread. Each listener has its own bounded queue. Events that do not fit are lost to that
/// listener; it is notified of the sessions concerned, and reads their files again, which are authoritative. Events of
/// a kind without a listener are not created.
final class Spine: Sendable {
    private let listeners = Mutex<[SpineListener]>([])
    /// Kinds that any listener has selected, ``RecordingEvent/Kinds``.
    private let heard = Atomic<UInt16>(0)

    init() {}

    func add(_ listener: SpineListener) {
        listeners.withLock { listeners in
            listeners.append(listener)
            heard.store(Self.kinds(of: listeners), ordering: .releasing)
        }
    }

    func remove(_ listener: SpineListener) {
        listeners.withLock { listeners in
            listeners.removeAll { $0 === listener }
            heard.store(Self.kinds(of: listeners), ordering: .releasing)
        }
    }

    /// Whether any listener has selected such events.
    func hasListener(for kinds: RecordingEvent.Kinds) -> Bool {
        heard.load(ordering: .acquiring) & kinds.rawValue != 0
    }

    /// Publishes events, in order. Never blocks.
    func publish(_ events: [RecordingEvent]) {
        guard !events.isEmpty else { return }
        for listener in listeners.withLock({ $0 }) { listener.hear(events) }
    }

    private static func kinds(of listeners: [SpineListener]) -> UInt16 {
        listeners.reduce(RecordingEvent.Kinds()) { $0.union($1.kinds) }.rawValue
    }
}

/// One listener's queue. Any thread may read it; only one should.
final class SpineListener: Sendable {
    /// The events since it was last read.
    struct Batch: Sendable {
        var events: [RecordingEvent] = []
        /// Sessions with lost events since then; ``events`` may contain other events of these sessions.
        var lost = Lost.nothing
    }

    /// The events that a slow listener has lost.
    enum Lost: Hashable, Sendable {
        case nothing
        /// Events of these sessions.
        case sessions(Set<String>)
        /// Events of too many sessions to list.
        case everything
    }

    let kinds: RecordingEvent.Kinds
    private let capacity: Int
    private let heard = Mutex(Batch())
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: maximum number of queued events.
    ///   - wake: called when the queue becomes non-empty. It must not block.
    init(
        _ kinds: RecordingEvent.Kinds, capacity: Int,
        wake: @escaping @Sendable () -> Void = {}
    ) {
        self.kinds = kinds
        self.capacity = capacity
        self.wake = wake
    }

    /// The events since the last call.
    func take() -> Batch {
        heard.withLock { heard in
            defer { heard = Batch() }
            return heard
        }
    }

    fileprivate func hear(_ events: [RecordingEvent]) {
        let isFirst = heard.withLock { heard in
            let wasEmpty = heard.events.isEmpty && heard.lost == .nothing
            for event in events where kinds.contains(event.kind) {
                if heard.events.count < capacity {
                    heard.events.append(event)
                } else {
                    heard.lost.add(event.session)
                }
            }
            return wasEmpty && !(heard.events.isEmpty && heard.lost == .nothing)
        }
        if isFirst { wake() }
    }
}

extension SpineListener.Lost {
    /// Maximum number of sessions that are listed.
    private static var mostSessions: Int { 256 }

    mutating func add(_ session: String) { formUnion(.sessions([session])) }

    mutating func formUnion(_ other: Self) {
        switch (self, other) {
        case (_, .nothing), (.everything, _): break
        case (.nothing, _), (_, .everything): self = other
        case (.sessions(let own), .sessions(let others)):
            let all = own.union(others)
            self = all.count > Self.mostSessions ? .everything : .sessions(all)
        }
    }
}
