import Foundation
import Glibc
import Library
import NIOCore
import NIOHTTP1
import NIOPosix
import Recordings
import Testing

@testable import ViewerCore

/// Files over a real connection.
@Suite struct ExtentSenderTests {
    /// A connection's ends: the server's channel, and the client's socket, which is read only on request.
    private struct Connection {
        var channel: any Channel
        var client: Int32
    }

    private func connect(_ group: MultiThreadedEventLoopGroup) async throws -> Connection {
        let accepted = group.next().makePromise(of: (any Channel).self)
        let server = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(HTTPResponseEncoder())
            }.map { accepted.succeed(channel) }
        }.bind(host: "127.0.0.1", port: 0).get()
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let result = server.localAddress?.withSockAddr { address, size in
            Glibc.connect(client, address, socklen_t(size))
        }
        #expect(result == 0)
        let channel = try await accepted.futureResult.get()
        try await server.close()
        return Connection(channel: channel, client: client)
    }

    /// Number of bytes until the connection ends. On a separate thread, because the sender runs in the pool of tasks.
    private func drain(_ client: Int32) async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var block = [UInt8](repeating: 0, count: 1 << 16)
                var total = 0
                while case let count = read(client, &block, block.count), count > 0 {
                    total += count
                }
                continuation.resume(returning: total)
            }
        }
    }

    @Test func `a file that becomes shorter ends the connection`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connection = try await connect(group)
        defer { close(connection.client) }
        let path = "\(NSTemporaryDirectory())extent-\(UInt64.random(in: 0 ... .max))"
        defer { unlink(path) }
        let size: Int64 = 32 << 20
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        #expect(ftruncate(descriptor, off_t(size)) == 0)
        let sending = Task {
            try await ExtentSender(connection.channel).send([
                FileExtent(descriptor: descriptor, range: 0..<size)
            ])
        }
        try await Task.sleep(for: .milliseconds(200))
        // The client has taken nothing yet: most of it is still to be sent.
        #expect(ftruncate(descriptor, 1 << 20) == 0)
        let received = await drain(connection.client)
        #expect(received < Int(size))
        await #expect(throws: (any Error).self) { try await sending.value }
        try await group.shutdownGracefully()
    }

    @Test func `a file that stays is sent whole`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connection = try await connect(group)
        defer { close(connection.client) }
        let path = "\(NSTemporaryDirectory())extent-\(UInt64.random(in: 0 ... .max))"
        defer { unlink(path) }
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        #expect(ftruncate(descriptor, 4 << 20) == 0)
        async let received = drain(connection.client)
        try await ExtentSender(connection.channel).send([
            FileExtent(descriptor: descriptor, range: 0..<3_000_000),
            FileExtent(descriptor: descriptor, range: 1_000_000..<2_000_000),
        ])
        try await connection.channel.close()
        #expect(await received == 4_000_000)
        try await group.shutdownGracefully()
    }
}
