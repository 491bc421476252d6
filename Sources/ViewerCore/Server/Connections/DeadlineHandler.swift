import NIOCore
import NIOTLS

/// An outbound event: the peer has received a part of an answer that was not written through the pipeline.
struct AnswerProgress: Sendable {}

/// Applies ``ConnectionDeadlines`` to one connection. Used on the connection's event loop.
final class DeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    /// Position in the pipeline, which determines what counts as progress.
    enum Position {
        /// After the HTTP decoder: headers and parts of bodies.
        case behindDecoder
        /// Directly after TLS, for any protocol.
        ///
        /// A handler behind the decoder is added only after the TLS handshake, and sees only the streams of HTTP/2. This
        /// position covers a connection from its start: it closes endless handshakes, endless HTTP/2 header blocks, and
        /// connections without streams.
        case behindTLS
    }

    private let deadlines: ConnectionDeadlines
    private let position: Position
    private var place: DeadlineRegistration?

    init(_ deadlines: ConnectionDeadlines, _ position: Position) {
        self.deadlines = deadlines
        self.position = position
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
        switch position {
        case .behindDecoder: place?.asked()
        // Bytes alone are not progress: a peer may send forever without a request.
        case .behindTLS: break
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch position {
        case .behindDecoder: break
        case .behindTLS:
            if case .handshakeCompleted? = event as? TLSUserEvent { place?.answered() }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        context.write(data, promise: place?.answers(with: promise) ?? promise)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard position == .behindDecoder, event is AnswerProgress else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        place?.answered()
        promise?.succeed()
    }

    private func begin(_ context: ChannelHandlerContext) {
        if place == nil { place = DeadlineRegistration(of: context.channel, in: deadlines) }
    }

    private func end() {
        place?.leave()
        place = nil
    }
}
