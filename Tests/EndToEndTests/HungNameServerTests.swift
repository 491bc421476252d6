import Foundation
import Glibc
import Testing

extension EndToEnd {
    /// Programs whose name server does not answer.
    @Suite(
        .serialized,
        .enabled(if: HungNameServer.canBeMade, "port 53 and mounts need root and unshare"))
    struct HungNameServerTests {
        private static let endpoint = "tcp://nosuch.example.org:5550"

        /// Cause: libzmq ends its context only after the lookup.
        @Test func `an agent says so, and ends with its samples on disk`() async throws {
            let server = try HungNameServer()
            try await Stage.with { stage in
                let agent = try server.start(
                    .agent,
                    [
                        "--collector", Self.endpoint, "--insecure", "--source", "camera",
                        "--video", "test", "--audio", "none", "--size", "320x180", "--spool",
                        stage.spool, "--linger", "1s",
                    ], on: stage)
                try await agent.says("the name server does not answer for 'nosuch.example.org' for")
                agent.signal(SIGTERM)
                let outcome = try await agent.outcome()
                #expect(outcome.status == 1)
                #expect(!outcome.complaints.contains("does not respond"), "\(outcome.complaints)")
                let last = outcome.complaintLines.last ?? ""
                #expect(last.hasSuffix("and are sent at the next start"), "\(last)")
            }
        }

        @Test func `an agent with other collectors uses one of them`() async throws {
            let server = try HungNameServer()
            try await Stage.with { stage in
                let collector = try await stage.collector()
                // The first collector of some of these sources is the one that is not resolved.
                let agents = try (1...4).map { number in
                    try server.start(
                        .agent,
                        [
                            "--collector", "\(Self.endpoint),\(stage.endpoint)", "--insecure",
                            "--source", "camera\(number)", "--video", "test", "--audio", "none",
                            "--size", "320x180", "--spool", "\(stage.spool)\(number)",
                        ], on: stage)
                }
                for number in 1...4 { try await stage.grows("camera\(number)") }
                for agent in agents {
                    agent.signal(SIGTERM)
                    let outcome = try await agent.outcome()
                    #expect(outcome.status == 0, "\(outcome.complaints)")
                    #expect(
                        !outcome.complaints.contains("leaving the collector at \(stage.endpoint)"))
                }
                collector.signal(SIGINT)
                try await collector.succeeds()
            }
        }
    }
}

/// A name server that receives questions and does not answer.
private final class HungNameServer: Sendable {
    static var canBeMade: Bool {
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare")
    }

    private static let address = "127.0.77.53"

    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        inet_pton(AF_INET, Self.address, &address.sin_addr)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            throw StageFailure(description: "cannot bind port 53: errno \(errno)")
        }
    }

    deinit { close(descriptor) }

    /// Starts a program that asks it.
    func start(
        _ program: Executable, _ arguments: [String], on stage: Stage
    ) throws -> Running {
        let configuration = stage.directory.appending(path: "resolv.conf").path
        try "nameserver \(Self.address)\noptions timeout:10 attempts:3\n"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        let script = "mount --bind '\(configuration)' /etc/resolv.conf && exec \"$@\""
        return try stage.start(
            at: URL(filePath: "/usr/bin/unshare"),
            ["--mount", "sh", "-c", script, "sh", program.url.path] + arguments)
    }
}
