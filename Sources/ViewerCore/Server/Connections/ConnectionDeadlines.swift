import NIOCore
import OperationsServer
import Synchronization

/// Closes the HTTP connections that exceed a ``ConnectionBudget``. Shared by the handlers of all connections.
final class ConnectionDeadlines: Sendable {
    private struct State: Sendable {
        var budget: ConnectionBudget
        var channels: [Int: any Channel] = [:]
    }

    private let state: Mutex<State>

    init(_ limits: ConnectionLimits = .statusPages) {
        state = Mutex(State(budget: ConnectionBudget(limits)))
    }

    /// A handler for one connection, after the HTTP decoder in the pipeline.
    func handler() -> some RemovableChannelHandler {
        DeadlineHandler(self, .behindDecoder)
    }

    /// A handler for one connection over TLS, directly after TLS in the pipeline.
    func transportHandler() -> some RemovableChannelHandler {
        DeadlineHandler(self, .behindTLS)
    }

    func opened(_ channel: any Channel, now: Int64) -> Int {
        let (id, displaced) = state.withLock { state in
            let (id, displaced) = state.budget.opened(now: now)
            state.channels[id] = channel
            return (id, displaced.flatMap { state.channels.removeValue(forKey: $0) })
        }
        displaced?.close(promise: nil)
        return id
    }

    func asked(_ id: Int, now: Int64) { state.withLock { $0.budget.asked(id, now: now) } }

    func answered(_ id: Int, now: Int64) { state.withLock { $0.budget.answered(id, now: now) } }

    func closed(_ id: Int) {
        state.withLock { state in
            state.budget.closed(id)
            state.channels.removeValue(forKey: id)
        }
    }

    func isOverdue(_ id: Int, now: Int64) -> Bool {
        state.withLock { $0.budget.isOverdue(id, now: now) }
    }
}

/// Registration of one connection in ``ConnectionDeadlines``. Used on the connection's event loop.
struct DeadlineRegistration {
    /// Interval of deadline checks.
    private static let look = TimeAmount.seconds(1)

    private let deadlines: ConnectionDeadlines
    private let id: Int
    private let eventLoop: any EventLoop
    private let looking: RepeatedTask

    /// Registers a connection, and closes it past its deadline.
    init(of channel: any Channel, in deadlines: ConnectionDeadlines) {
        let eventLoop = channel.eventLoop
        let id = deadlines.opened(channel, now: Self.now(eventLoop))
        self.deadlines = deadlines
        self.id = id
        self.eventLoop = eventLoop
        looking = eventLoop.scheduleRepeatedTask(initialDelay: Self.look, delay: Self.look) { _ in
            if deadlines.isOverdue(id, now: Self.now(eventLoop)) { channel.close(promise: nil) }
        }
    }

    /// A header or a part of a body was received.
    func asked() { deadlines.asked(id, now: Self.now(eventLoop)) }

    /// The peer has made progress.
    func answered() { deadlines.answered(id, now: Self.now(eventLoop)) }

    /// A write counts as progress when it completes.
    func answers(with promise: EventLoopPromise<Void>?) -> EventLoopPromise<Void> {
        let written = promise ?? eventLoop.makePromise(of: Void.self)
        let (deadlines, id, eventLoop) = (deadlines, id, eventLoop)
        written.futureResult.whenSuccess {
            deadlines.answered(id, now: Self.now(eventLoop))
        }
        return written
    }

    /// The connection was closed.
    func leave() {
        looking.cancel()
        deadlines.closed(id)
    }

    /// The event loop's clock: monotonic, nanoseconds.
    private static func now(_ eventLoop: any EventLoop) -> Int64 {
        Int64(clamping: eventLoop.now.uptimeNanoseconds)
    }
}
