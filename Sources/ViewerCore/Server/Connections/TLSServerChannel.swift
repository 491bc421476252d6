import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

/// HTTP/1.1 and HTTP/2 over TLS, with deadlines that begin with the TCP connection.
struct TLSServerChannel: ServerChildChannel {
    typealias Value = HTTP2UpgradeChannel.Value

    let inner: HTTP2UpgradeChannel
    let deadlines: ConnectionDeadlines

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let ready = inner.setup(channel: channel, logger: logger)
        do {
            let pipeline = channel.pipeline.syncOperations
            let tls = try pipeline.handler(type: NIOSSLServerHandler.self)
            // Each is inserted directly after TLS, so the last one is first.
            try pipeline.addHandler(
                StreamResetHandler(),
                position: ChannelPipeline.SynchronousOperations.Position.after(tls))
            try pipeline.addHandler(
                deadlines.transportHandler(),
                position: ChannelPipeline.SynchronousOperations.Position.after(tls))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return ready
    }

    func handle(value: Value, logger: Logger) async {
        await inner.handle(value: value, logger: logger)
    }
}
