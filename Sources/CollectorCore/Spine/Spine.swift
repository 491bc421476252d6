import Archive
import Dispatch
import Synchronization

/// Carries what happens to recordings from the disk thread to whoever listens: the catalog, the log and the metrics, and whoever shows,
/// uploads or counts recordings.
///
/// It never makes the disk thread wait. Each listener has a bounded queue of its own; what does not fit is lost to that listener, which is
/// told of which sessions it has lost something, and reads them again: the files are the truth. Where nobody listens to a kind of
/// events, none is made.
final class Spine: Sendable {
    private let listeners = Mutex<[SpineListener]>([])
    /// Kinds that anybody listens to, ``RecordingEvent/Kinds``.
    private let heard = Atomic<UInt16>(0)

    init() {}

    /// Somebody listens from now on.
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

    /// Whether anybody listens to such events.
    func hears(_ kinds: RecordingEvent.Kinds) -> Bool {
        heard.load(ordering: .acquiring) & kinds.rawValue != 0
    }

    /// Says what has happened, in its order. Never blocks.
    func say(_ events: [RecordingEvent]) {
        guard !events.isEmpty else { return }
        for listener in listeners.withLock({ $0 }) { listener.hear(events) }
    }

    private static func kinds(of listeners: [SpineListener]) -> UInt16 {
        listeners.reduce(RecordingEvent.Kinds()) { $0.union($1.kinds) }.rawValue
    }
}

/// One listener's queue. Any thread may take from it; one should.
final class SpineListener: Sendable {
    /// What was heard since it was taken last.
    struct Heard: Sendable {
        var events: [RecordingEvent] = []
        /// Sessions of which something was lost since then; ``events`` may hold others of theirs.
        var lost = Lost.nothing
    }

    /// What a slow listener did not get.
    enum Lost: Hashable, Sendable {
        case nothing
        /// Of these sessions something.
        case sessions(Set<String>)
        /// Of so many sessions that they are not counted any more.
        case everything
    }

    let kinds: RecordingEvent.Kinds
    private let capacity: Int
    private let heard = Mutex(Heard())
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: how many events wait at most.
    ///   - wake: called when something waits and nothing did before. It must not block.
    init(
        _ kinds: RecordingEvent.Kinds, capacity: Int,
        wake: @escaping @Sendable () -> Void = {}
    ) {
        self.kinds = kinds
        self.capacity = capacity
        self.wake = wake
    }

    /// What has been heard since the last call.
    func take() -> Heard {
        heard.withLock { heard in
            defer { heard = Heard() }
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
    /// So many sessions are told apart.
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
