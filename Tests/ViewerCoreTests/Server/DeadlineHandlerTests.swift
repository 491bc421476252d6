import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

import OperationsServer
@testable import ViewerCore

/// TLS connections on an event loop with a manual clock. For use by one thread.
private final class TransportScene {
    private static let limits = ConnectionLimits(
        maximumConnections: 3, headerNanoseconds: 10_000_000_000,
        answerNanoseconds: 60_000_000_000, idleNanoseconds: 180_000_000_000)

    private let loop = EmbeddedEventLoop()
    private let deadlines = ConnectionDeadlines(TransportScene.limits)
    private var channels: [EmbeddedChannel] = []

    func connect() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: deadlines.transportHandler(), loop: loop)
        channels.append(channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    func goOn(seconds: Int64) { loop.advanceTime(by: .seconds(seconds)) }

    /// An embedded channel must not be left open.
    func end() throws {
        for channel in channels { _ = try channel.finish(acceptAlreadyClosed: true) }
    }
}

extension EmbeddedChannel {
    fileprivate func endHandshake() {
        pipeline.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
    }
}

struct `A connection over TLS` {
    @Test func `is ended when its handshake is not over after ten seconds`() throws {
        let scene = TransportScene()
        let channel = try scene.connect()
        scene.goOn(seconds: 9)
        #expect(channel.isActive)
        // Bytes alone are no handshake.
        try channel.writeInbound(ByteBuffer(string: "hello"))
        scene.goOn(seconds: 1)
        #expect(!channel.isActive)
        try scene.end()
    }

    @Test func `stays after its handshake while it is answered`() throws {
        let scene = TransportScene()
        let channel = try scene.connect()
        scene.goOn(seconds: 5)
        channel.endHandshake()
        for _ in 0..<4 {
            scene.goOn(seconds: 170)
            #expect(channel.isActive)
            try channel.writeOutbound(ByteBuffer(string: "an answer"))
        }
        scene.goOn(seconds: 180)
        #expect(!channel.isActive)
        try scene.end()
    }

    /// HTTP/2: a header block that never ends, or pings.
    @Test func `is closed if it sends for three minutes without a response`() throws {
        let scene = TransportScene()
        let channel = try scene.connect()
        channel.endHandshake()
        for _ in 0..<179 {
            try channel.writeInbound(ByteBuffer(string: "more"))
            scene.goOn(seconds: 1)
        }
        #expect(channel.isActive)
        scene.goOn(seconds: 1)
        #expect(!channel.isActive)
        try scene.end()
    }

    @Test func `displaces the connection that is silent for longest`() throws {
        let scene = TransportScene()
        var silent: [EmbeddedChannel] = []
        for _ in 0..<3 {
            silent.append(try scene.connect())
            scene.goOn(seconds: 1)
        }
        let next = try scene.connect()
        #expect(silent.map(\.isActive) == [false, true, true])
        next.endHandshake()
        let other = try scene.connect()
        #expect(silent.map(\.isActive) == [false, false, true])
        #expect(next.isActive && other.isActive)
        try scene.end()
    }
}
