import NIOCore
import NIOTLS

/// Removes RST_STREAM frames of clients for streams that are closed on both sides (RFC 9113 §6.4).
///
/// Such a frame has no effect (§5.1, "closed"); curl 7.88 sends one after each response. swift-nio-http2 counts all resets against
/// rapid-reset attacks, and closes a connection after 200 in 30 s; Hummingbird has no setting for that. Resets of open streams pass,
/// and count.
struct StreamResetFilter: Sendable {
    /// Maximum tracked streams, open and finished ones each; far more than may be open at once.
    private static let maximumStreams = 1_024

    private enum Side: Hashable {
        case client, server
    }

    private var fromClient = FrameReader(skipping: FrameReader.prefaceBytes)
    private var fromServer = FrameReader(skipping: 0)
    private var isRemoving = false
    /// Streams that one side has ended.
    private var halfClosed: [UInt32: Side] = [:]
    /// Finished streams without a reset yet, in the order of their ends.
    private var closed: [UInt32] = []

    /// Input from the client without the removed frames. A frame's header is buffered until it is complete.
    mutating func received(_ input: ByteBuffer) -> ByteBuffer {
        var input = input
        var output = ByteBuffer()
        output.reserveCapacity(input.readableBytes + FrameHead.sizeBytes)
        while let piece = fromClient.next(&input) {
            switch piece {
            case .payload(let bytes):
                if !isRemoving { output.writeImmutableBuffer(bytes) }
            case .head(let head):
                isRemoving = removes(head)
                if !isRemoving { output.writeBytes(head.bytes) }
            }
        }
        return output
    }

    /// Parses output of the server.
    mutating func sent(_ output: ByteBuffer) {
        var output = output
        while let piece = fromServer.next(&output) {
            guard case .head(let head) = piece else { continue }
            if head.endsStream { end(head.stream, .server) }
            if head.isReset { halfClosed[head.stream] = nil }
        }
    }

    /// Whether a frame of the client is removed.
    private mutating func removes(_ head: FrameHead) -> Bool {
        if head.endsStream { end(head.stream, .client) }
        guard head.isReset else { return false }
        halfClosed[head.stream] = nil
        guard let place = closed.firstIndex(of: head.stream) else { return false }
        // One reset per stream: further ones count.
        closed.remove(at: place)
        return true
    }

    private mutating func end(_ stream: UInt32, _ side: Side) {
        guard let other = halfClosed[stream] else {
            // A refused stream is never ended by the other side.
            if halfClosed.count >= Self.maximumStreams { halfClosed.removeAll() }
            halfClosed[stream] = side
            return
        }
        guard other != side else { return }
        halfClosed[stream] = nil
        if closed.count >= Self.maximumStreams { closed.removeFirst(Self.maximumStreams / 2) }
        closed.append(stream)
    }
}

/// The head of a frame of HTTP/2: length (3 bytes), type, flags, stream (4 bytes) (RFC 9113 §4.1).
struct FrameHead: Hashable, Sendable {
    static let sizeBytes = 9
    private static let dataType: UInt8 = 0
    private static let headersType: UInt8 = 1
    private static let resetType: UInt8 = 3
    private static let resetBytes = 4
    /// END_STREAM.
    private static let endFlag: UInt8 = 1

    /// As on the wire.
    let bytes: [UInt8]

    /// - Parameter bytes: ``sizeBytes``.
    fileprivate init(_ bytes: [UInt8]) {
        precondition(bytes.count == Self.sizeBytes)
        self.bytes = bytes
    }

    var payloadBytes: Int { bytes[..<3].reduce(0) { $0 << 8 | Int($1) } }
    var stream: UInt32 { bytes[5...].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF }

    /// It is the last of its stream.
    var endsStream: Bool {
        (bytes[3] == Self.dataType || bytes[3] == Self.headersType) && bytes[4] & Self.endFlag != 0
    }

    /// Whether it is a well-formed RST_STREAM; the HTTP/2 parser refuses malformed ones.
    var isReset: Bool {
        bytes[3] == Self.resetType && payloadBytes == Self.resetBytes && stream != 0
    }
}

/// Finds the frames of HTTP/2 in bytes that arrive in pieces.
private struct FrameReader: Sendable {
    /// The client's connection preface (RFC 9113 §3.4).
    static let prefaceBytes = 24

    enum Piece {
        case head(FrameHead)
        /// A part of the connection preface, or of a frame's payload.
        case payload(ByteBuffer)
    }

    /// The part of a frame's head that has arrived.
    private var head: [UInt8] = []
    /// Bytes of the preface, or of the current frame's payload, that have not arrived yet.
    private var missingBytes: Int

    init(skipping bytes: Int) { missingBytes = bytes }

    /// The next piece; nil when nothing is left of the input, or the beginning of a head only, which is kept.
    mutating func next(_ input: inout ByteBuffer) -> Piece? {
        if missingBytes > 0 {
            let count = min(missingBytes, input.readableBytes)
            guard count > 0, let bytes = input.readSlice(length: count) else { return nil }
            missingBytes -= count
            return .payload(bytes)
        }
        let count = min(FrameHead.sizeBytes - head.count, input.readableBytes)
        head += input.readableBytesView.prefix(count)
        input.moveReaderIndex(forwardBy: count)
        guard head.count == FrameHead.sizeBytes else { return nil }
        defer { head.removeAll(keepingCapacity: true) }
        let frame = FrameHead(head)
        missingBytes = frame.payloadBytes
        return .head(frame)
    }
}

/// Applies a ``StreamResetFilter`` to a connection once TLS has negotiated HTTP/2. It is between TLS and HTTP/2 in the pipeline.
final class StreamResetHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Nil: HTTP/1.1, or not negotiated yet.
    private var filter: StreamResetFilter?

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(negotiatedProtocol: "h2")? = event as? TLSUserEvent {
            filter = StreamResetFilter()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let bytes = filter?.received(unwrapInboundIn(data)) else {
            return context.fireChannelRead(data)
        }
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        filter?.sent(unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }
}
