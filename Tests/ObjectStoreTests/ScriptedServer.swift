import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that answers each request with the script's next bytes, valid or not.
final class ScriptedServer: Sendable {
    enum Step: Sendable {
        /// Sends these bytes and keeps the connection.
        case send(String)
        /// Sends these bytes and closes the connection.
        case sendAndClose(String)
        /// Sends this many bytes of an answer that never ends.
        case flood(Int)
        /// Sends these bytes, then one more at each interval, endlessly.
        case drip(String, milliseconds: Int64)
        /// Never answers.
        case silence
        /// Sends these bytes, and closes the connection when the next request begins.
        case sendAndCloseNext(String)
    }

    private let channel: any Channel
    private let shared: Shared

    init(_ steps: [Step]) throws {
        let shared = Shared(steps)
        self.shared = shared
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ScriptHandler(shared))
                }
            }.bind(host: "127.0.0.1", port: 0).wait()
    }

    deinit { channel.close(promise: nil) }

    var port: Int { channel.localAddress?.port ?? 0 }

    /// Heads and bodies as received.
    var requests: [String] { shared.requests }

    /// State shared by connections.
    fileprivate final class Shared: Sendable {
        private let state: Mutex<(steps: [Step], requests: [String])>

        init(_ steps: [Step]) { state = Mutex((steps, [])) }

        var requests: [String] { state.withLock { $0.requests } }

        func next(_ request: String) -> Step {
            state.withLock { state in
                state.requests.append(request)
                return state.steps.isEmpty ? .silence : state.steps.removeFirst()
            }
        }
    }
}

/// One connection. Lives on its event loop.
private final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let shared: ScriptedServer.Shared
    private var received: [UInt8] = []
    private var closesAtNext = false

    init(_ shared: ScriptedServer.Shared) { self.shared = shared }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if closesAtNext { return context.close(promise: nil) }
        received += Array(unwrapInboundIn(data).readableBytesView)
        let text = String(decoding: received, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return }
        let head = text[..<end.lowerBound].lowercased()
        let length =
            head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) } ?? 0
        guard text[end.upperBound...].utf8.count >= length else { return }
        received.removeAll()
        switch shared.next(text) {
        case .silence: return
        case .send(let answer):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        case .sendAndCloseNext(let answer):
            closesAtNext = true
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        case .sendAndClose(let answer):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            context.close(promise: nil)
        case .drip(let answer, let milliseconds):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            let channel = context.channel
            context.eventLoop.scheduleRepeatedTask(
                initialDelay: .zero, delay: .milliseconds(milliseconds)
            ) { task in
                guard channel.isActive else { return task.cancel() }
                channel.writeAndFlush(ByteBuffer(string: "a"), promise: nil)
            }
        case .flood(let count):
            context.write(
                wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")),
                promise: nil)
            context.writeAndFlush(
                wrapOutboundOut(ByteBuffer(repeating: 0x41, count: count)), promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
