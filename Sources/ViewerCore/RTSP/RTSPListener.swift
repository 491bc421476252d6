import Logging
import Media
import NIOCore
import NIOPosix
import NIOSSL
import RTSPServer

/// Accepts the connections of RTSP, and has the two ports of datagrams.
struct RTSPListener: Sendable {
    /// Pairs of ports that are tried: a program that takes many has none beside each other.
    private static let attempts = 64
    /// Datagrams of a keyframe wait here while the network takes them.
    private static let datagramBytes: SocketOptionValue = 2 << 20

    private let channels: [any Channel]
    private let service: RTSPService
    let port: UInt16

    /// - Throws: when the address cannot be listened at.
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

    /// Two ports beside each other, the first of them even (RFC 3550 §11).
    private static func datagrams(
        _ service: RTSPService, host: String, on group: MultiThreadedEventLoopGroup
    ) async throws -> RTSPService.DatagramChannels {
        // One loop writes both, in the order in which it is told.
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

/// Notes that reports come from readers of datagrams; what they say is not used.
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
        // A reader whose port is closed is told of by ICMP: its connection ends it.
    }
}
