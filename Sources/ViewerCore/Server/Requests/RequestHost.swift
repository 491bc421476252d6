import Accounts
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The host of a request, if it is unambiguous (RFC 9112 §3.2, RFC 9113 §8.3.1).
///
/// A proxy and the viewer might use different fields, and disagree about the site. So a request with several hosts is refused.
enum RequestHost {
    /// HTTP/2 is spoken over TLS only.
    private static let usualPort: UInt16 = 443

    /// The host, with its port if it has one; nil if it is missing, ambiguous or invalid.
    /// - Parameter head: of HTTP/1.1, after a ``HostFieldHandler``: a `Host` field beside the authority is then from HTTP/2.
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

/// Reduces the `Host` fields of HTTP/1.1 requests to at most one, because later handlers use the first one as the authority.
///
/// - Several fields, also equal ones: all are removed.
/// - An absolute URL as target: its host is used, and the field is removed (§3.2.2).
///
/// It follows the decoder of HTTP/1.1. Used on the connection's event loop.
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

/// Adds a ``RequestFlawHandler`` and a ``HostFieldHandler`` to HTTP/1.1 connections, because Hummingbird only allows
/// handlers after its own translation of requests.
final class HostFieldInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandlers(
                [RequestFlawHandler(), HostFieldHandler()],
                position: ChannelPipeline.SynchronousOperations.Position.after(decoder))
        } catch ChannelPipelineError.notFound {
            // HTTP/2 has no such decoder.
        } catch {
            context.fireErrorCaught(error)
        }
    }
}
