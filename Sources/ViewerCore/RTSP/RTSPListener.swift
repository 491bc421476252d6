import Logging
import Media
import NIOCore
import NIOPosix
import NIOSSL
import RTSPServer

/// Listens for RTSP connections, and owns the UDP ports.
struct RTSPListener: Sendable {
    /// Attempts to find a pair of free ports.
    private static let attempts = 64
    /// Socket send buffer for the datagrams of a keyframe.
    private static let datagramBytes: SocketOptionValue = 2 << 20

    private let channels: [any Channel]
    private let service: RTSPService
    let port: UInt16

    /// - Throws: if the address cannot be bound.
    static func start(
        _ service: RTSPService, host: String, port: UInt16, certificate: Certificate?,
        on group: MultiThreadedEventLoopGroup
    ) async throws -> RTSPListener {
        let tls = try certificate.map { try NIOSSLContext(configuration: $0.configuration) }
        var channels: [any Channel] = []
        do {
            if tls == nil {
                let pair = try await datagrams(service, host: host, on: group)
                channels += [pair.rtp, pair.rtcp]
                service.use(pair)
            }
            let server = try await ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelOption(.maxMessagesPerRead, value: 4)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let tls {
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLServerHandler(context: tls))
                        }
                        try channel.pipeline.syncOperations.addHandler(
                            RTSPConnection(service, isSecure: tls != nil))
                    }
                }
                .bind(host: host, port: Int(port)).get()
            channels.append(server)
            return RTSPListener(
                channels: channels, service: service,
                port: UInt16(clamping: server.localAddress?.port ?? Int(port)))
        } catch {
            for channel in channels { channel.close(promise: nil) }
            throw error
        }
    }

    func stop() {
        for channel in channels { channel.close(promise: nil) }
        service.sources.stop()
    }

    /// Binds two consecutive ports, the first one even (RFC 3550 §11).
    private static func datagrams(
        _ service: RTSPService, host: String, on group: MultiThreadedEventLoopGroup
    ) async throws -> RTSPService.DatagramChannels {
        // Both ports on one event loop, which keeps the order of writes.
        let bootstrap = DatagramBootstrap(group: group.next())
            .channelOption(.socketOption(.so_sndbuf), value: datagramBytes)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ReportReader(service))
                }
            }
        var refusal: any Error = ChannelError.operationUnsupported
        for _ in 0..<attempts {
            let first = try await bootstrap.bind(host: host, port: 0).get()
            let port = first.localAddress?.port ?? 0
            guard port > 0, port % 2 == 0 else {
                try await first.close()
                continue
            }
            do {
                let second = try await bootstrap.bind(host: host, port: port + 1).get()
                return RTSPService.DatagramChannels(
                    rtp: first, rtcp: second,
                    ports: ServerPorts(rtp: UInt16(port), rtcp: UInt16(port + 1)))
            } catch {
                refusal = error
                try await first.close()
            }
        }
        throw refusal
    }
}

/// Registers receiver reports, whose content is not used.
private final class ReportReader: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let service: RTSPService

    init(_ service: RTSPService) { self.service = service }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard let address = envelope.remoteAddress.ipAddress,
            let port = envelope.remoteAddress.port
        else { return }
        service.noteReport(
            RTSPService.datagramKey(address, port: port), now: SystemClock.monotonic.nowNanoseconds)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // ICMP reports a closed port; the connection's timeout handles it.
    }
}
