import Accounts
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The host that a request is for, where it is named without contradiction (RFC 9112 §3.2, RFC 9113 §8.3.1).
///
/// A proxy and the viewer that understand different fields differ about which site is asked for. So there is one host, or the request is refused.
enum RequestHost {
    /// HTTP/2 is spoken over TLS only.
    private static let usualPort: UInt16 = 443

    /// A host, with its port if it has one; nil: none, several, or what is no host.
    /// - Parameter head: of HTTP/1.1, behind a ``HostFieldHandler``: a `Host` field beside the authority is then that of HTTP/2.
    static func text(of head: HTTPRequest) -> String? {
        let fields = HTTPField.Name("Host").map { head.headerFields[values: $0] } ?? []
        guard fields.count <= 1, let text = head.authority ?? fields.first,
            let host = HostAndPort(text)
        else { return nil }
        guard let field = fields.first else { return text }
        guard let other = HostAndPort(field), other.host == host.host,
            other.port ?? usualPort == host.port ?? usualPort
        else { return nil }
        return text
    }
}

/// Leaves requests of HTTP/1.1 one `Host` field, or none: behind it, the first one is the request's authority, and others are fields like all.
///
/// - Several of them, also equal ones: none is left.
/// - A target that is a URL has the host, and the field does not count (§3.2.2).
///
/// It stands behind the decoder of HTTP/1.1. Used on the connection's event loop.
final class HostFieldHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private static let name = "Host"

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        if head.headers[Self.name].count != 1 {
            head.headers.remove(name: Self.name)
        } else if let host = Self.host(in: head.uri) {
            head.headers.replaceOrAdd(name: Self.name, value: host)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// The authority of a target in absolute form; nil: it has another form.
    private static func host(in target: String) -> String? {
        guard !target.hasPrefix("/"), let colon = target.firstIndex(of: ":") else { return nil }
        let rest = target[colon...].dropFirst()
        guard rest.hasPrefix("//") else { return nil }
        return String(rest.dropFirst(2).prefix { !"/?#".contains($0) })
    }
}

/// Adds a ``HostFieldHandler`` to a connection of HTTP/1.1, where Hummingbird has handlers behind its own translation of requests only.
final class HostFieldInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                HostFieldHandler(),
                position: ChannelPipeline.SynchronousOperations.Position.after(decoder))
        } catch ChannelPipelineError.notFound {
            // HTTP/2 has no such decoder.
        } catch {
            context.fireErrorCaught(error)
        }
    }
}
