import NIOCore
import Testing

@testable import ViewerCore

/// A client's HTTP/2 frames after filtering.
struct StreamResetFilterTests {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static func frame(
        _ type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8]
    ) -> [UInt8] {
        let (size, stream) = (UInt32(payload.count).bigEndian, stream.bigEndian)
        return withUnsafeBytes(of: size) { Array($0.dropFirst()) } + [type, flags]
            + withUnsafeBytes(of: stream) { Array($0) } + payload
    }

    private static func reset(_ stream: UInt32) -> [UInt8] {
        frame(3, stream: stream, [0, 0, 0, 0])
    }

    /// HEADERS with END_STREAM and END_HEADERS.
    private static func request(_ stream: UInt32) -> [UInt8] {
        frame(1, flags: 5, stream: stream, [UInt8](repeating: 0x82, count: 40))
    }

    /// HEADERS, and DATA with END_STREAM.
    private static func answer(_ stream: UInt32) -> [UInt8] {
        frame(1, flags: 4, stream: stream, [0x88]) + frame(0, flags: 1, stream: stream, [1, 2, 3])
    }

    /// Bytes in pieces.
    private static func pieces(_ bytes: [UInt8], _ size: Int) -> [ByteBuffer] {
        stride(from: 0, to: bytes.count, by: size).map {
            ByteBuffer(bytes: bytes[$0..<min(bytes.count, $0 + size)])
        }
    }

    private static func filtered(
        _ bytes: [UInt8], piece: Int = 4_096, by filter: inout StreamResetFilter
    ) -> [UInt8] {
        var output: [UInt8] = []
        for piece in pieces(bytes, piece) { output += filter.received(piece).readableBytesView }
        return output
    }

    @Test(arguments: [1, 2, 7, 9, 23, 24, 25, 1_000])
    func `a reset after the answer is removed, wherever bytes are cut`(piece: Int) {
        var filter = StreamResetFilter()
        // An empty SETTINGS frame, and a body with bytes that look like a reset.
        let first =
            Self.preface + Self.frame(4, stream: 0, []) + Self.request(1)
            + Self.frame(1, flags: 4, stream: 3, [0x83])
            + Self.frame(0, flags: 1, stream: 3, Self.reset(1))
        let output = Self.filtered(first, piece: piece, by: &filter)
        #expect(output == first)
        for bytes in Self.pieces(Self.answer(1) + Self.answer(3), piece) { filter.sent(bytes) }
        let next = Self.request(5)
        let second = Self.reset(1) + next + Self.reset(3)
        let rest = Self.filtered(second, piece: piece, by: &filter)
        #expect(rest == next)
    }

    @Test func `a thousand requests with a reset each lose all of them`() {
        var filter = StreamResetFilter()
        _ = Self.filtered(Self.preface, by: &filter)
        for number in 0..<UInt32(1_000) {
            let stream = 2 * number + 1
            let request = Self.request(stream)
            let asked = Self.filtered(request, by: &filter)
            filter.sent(ByteBuffer(bytes: Self.answer(stream)))
            let over = Self.filtered(Self.reset(stream), by: &filter)
            #expect(asked == request && over.isEmpty)
        }
    }

    @Test func `resets of streams that are not over stay, and so do second ones`() {
        var filter = StreamResetFilter()
        // Not answered; not asked to the end; answered; and never begun.
        let first =
            Self.preface + Self.request(1) + Self.frame(1, flags: 4, stream: 3, [0x83])
            + Self.request(5)
        let output = Self.filtered(first, by: &filter)
        #expect(output == first)
        filter.sent(ByteBuffer(bytes: Self.frame(1, flags: 4, stream: 1, [0x88])))
        filter.sent(ByteBuffer(bytes: Self.answer(3) + Self.answer(5)))
        let second = Self.reset(1) + Self.reset(3) + Self.reset(5) + Self.reset(5) + Self.reset(7)
        let rest = Self.filtered(second, by: &filter)
        #expect(rest == Self.reset(1) + Self.reset(3) + Self.reset(5) + Self.reset(7))
    }

    @Test func `malformed resets stay, and are refused by the protocol's parser`() {
        var filter = StreamResetFilter()
        _ = Self.filtered(Self.preface + Self.request(1), by: &filter)
        filter.sent(ByteBuffer(bytes: Self.answer(1)))
        let bytes = Self.frame(3, stream: 1, [0, 0, 0]) + Self.reset(0)
        let output = Self.filtered(bytes, by: &filter)
        #expect(output == bytes)
    }
}
