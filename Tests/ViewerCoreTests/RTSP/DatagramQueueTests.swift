import NIOCore
import Testing

@testable import ViewerCore

/// Portions of datagrams.
@Suite struct DatagramQueueTests {
    private static func datagrams(_ count: Int, of size: Int) throws -> [DatagramQueue.Datagram] {
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 9)
        return (0..<count).map { index in
            .init(
                remoteAddress: address,
                data: ByteBuffer(repeating: UInt8(truncatingIfNeeded: index), count: size))
        }
    }

    private static func bytes(_ portion: [DatagramQueue.Group]) -> Int {
        portion.flatMap(\.packets).reduce(0) { $0 + $1.data.readableBytes }
    }

    @Test func `a keyframe is sent in portions, in order`() throws {
        let packets = try Self.datagrams(1_200, of: 1_250)
        let reports = try Self.datagrams(1, of: 28)
        var queue = DatagramQueue()
        queue.add(.init(reports: reports, packets: packets))
        var portions: [[DatagramQueue.Group]] = []
        while !queue.isEmpty { portions.append(queue.takePortion()) }
        // 1.5 MB: 32 KiB and at most one datagram more.
        #expect(portions.count > 40)
        let largest = portions.map(Self.bytes).max()
        #expect(largest ?? 0 <= (32 << 10) + 1_250)
        let groups = portions.flatMap { $0 }
        let sent = groups.flatMap(\.packets)
        #expect(sent == packets)
        let sentReports = groups.map(\.reports)
        #expect(sentReports == [reports] + Array(repeating: [], count: groups.count - 1))
    }

    @Test func `small pictures are sent at once, and a BYE after them`() throws {
        let packets = try Self.datagrams(3, of: 1_000)
        let goodbye = try Self.datagrams(1, of: 8)
        var queue = DatagramQueue()
        queue.add(.init())
        #expect(queue.isEmpty)
        queue.add(.init(packets: packets))
        queue.add(.init(reports: goodbye))
        let portion = queue.takePortion()
        let (sent, reports) = (portion.map(\.packets), portion.map(\.reports))
        #expect(sent == [packets, []])
        #expect(reports == [[], goodbye])
        #expect(queue.isEmpty)
    }

    @Test func `a stream that is faster than the portions is not delayed more and more`() throws {
        var queue = DatagramQueue()
        // 100 KiB every pause: three times as much as a portion.
        let packets = try Self.datagrams(80, of: 1_280)
        for _ in 0..<2_000 {
            queue.add(.init(packets: packets))
            _ = queue.takePortion()
        }
        // A packet that is added now is sent 64 pauses later.
        var sent = 0
        for _ in 0..<100 { sent += Self.bytes(queue.takePortion()) }
        #expect(sent > 64 * 80 * 1_280 * 3 / 4)
        for _ in 0..<100 { _ = queue.takePortion() }
        #expect(queue.isEmpty)
    }
}
