import NIOCore
import NIOTLS

/// Watches one connection over TLS, whatever is spoken in it. It stands right behind TLS.
///
/// A ``ConnectionHandler`` sees a connection only once its handshake is over, and of HTTP/2 only its streams. This one counts from the TCP
/// connection on: a handshake that does not end, a header block of HTTP/2 that does not end, and a connection without streams are ended,
/// and make room for others, like all that wait.
final class TransportHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private let deadlines: ConnectionDeadlines
    private var place: ConnectionPlace?

    init(deadlines: ConnectionDeadlines) {
        self.deadlines = deadlines
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

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { place?.answered() }
        context.fireUserInboundEventTriggered(event)
    }

    /// What the peer sends does not count: it may send for ever, and never ask for anything.
    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        context.write(data, promise: place?.answers(with: promise) ?? promise)
    }

    private func begin(_ context: ChannelHandlerContext) {
        if place == nil { place = ConnectionPlace(of: context.channel, in: deadlines) }
    }

    private func end() {
        place?.leave()
        place = nil
    }
}
