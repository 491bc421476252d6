package import NIOCore
import Synchronization

/// Ends HTTP connections that a ``ConnectionBudget`` does not let stay. Shared by the handlers of all connections.
package final class ConnectionDeadlines: Sendable {
    private struct State: Sendable {
        var budget: ConnectionBudget
        var channels: [Int: any Channel] = [:]
    }

    private let state: Mutex<State>

    package init(_ limits: ConnectionLimits = .statusPages) {
        state = Mutex(State(budget: ConnectionBudget(limits)))
    }

    /// A handler for one connection.
    package func handler() -> some RemovableChannelHandler { ConnectionHandler(warden: self) }

    fileprivate static func now() -> Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

    fileprivate func opened(_ channel: any Channel) -> Int {
        let (id, displaced) = state.withLock { state in
            let (id, displaced) = state.budget.opened(now: Self.now())
            state.channels[id] = channel
            return (id, displaced.flatMap { state.channels.removeValue(forKey: $0) })
        }
        displaced?.close(promise: nil)
        return id
    }

    fileprivate func asked(_ id: Int) { state.withLock { $0.budget.asked(id, now: Self.now()) } }

    fileprivate func answered(_ id: Int) {
        state.withLock { $0.budget.answered(id, now: Self.now()) }
    }

    fileprivate func closed(_ id: Int) {
        state.withLock { state in
            state.budget.closed(id)
            state.channels.removeValue(forKey: id)
        }
    }

    fileprivate func isOverdue(_ id: Int) -> Bool {
        state.withLock { $0.budget.isOverdue(id, now: Self.now()) }
    }
}

/// Tells the warden what happens to one connection. It stands behind the decoder: what it reads are whole headers.
private final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// How often the deadlines are looked at.
    private static let look = TimeAmount.seconds(1)

    private let warden: ConnectionDeadlines
    private var id: Int?
    private var looking: RepeatedTask?

    init(warden: ConnectionDeadlines) {
        self.warden = warden
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let id { warden.asked(id) }
        context.fireChannelRead(data)
    }

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        if let id {
            written.futureResult.whenSuccess { [warden] in warden.answered(id) }
        }
        context.write(data, promise: written)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard id == nil else { return }
        let channel = context.channel
        let id = warden.opened(channel)
        self.id = id
        looking = context.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.look, delay: Self.look
        ) { [warden] _ in
            if warden.isOverdue(id) { channel.close(promise: nil) }
        }
    }

    private func end() {
        looking?.cancel()
        looking = nil
        if let id { warden.closed(id) }
        id = nil
    }
}
