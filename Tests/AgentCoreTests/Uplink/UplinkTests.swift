import Foundation
import Logging
import Spooling
import Synchronization
import Testing

@testable import AgentCore

struct `An uplink` {
    /// A regression test: a closure wrapped again with each call would need more stack each time.
    @Test func `queries the stop state in constant stack depth`() throws {
        var settings = UplinkSettings(
            endpoint: "tcp://c:1", sourceName: "camera", agentName: "box", software: "agent",
            batch: .automatic, memoryLimitBytes: 1 << 20)
        settings.spool = nil
        let uplink = try Uplink(settings: settings, logger: Logger(label: "test"))
        let depth = StackDepth()
        uplink.askWhetherStopped { depth.note() }
        #expect(uplink.isCaptureStopped)
        let first = depth.lowest
        for _ in 0..<1_000 { #expect(uplink.isCaptureStopped) }
        #expect(first - depth.lowest < 4_096, "\(first - depth.lowest) bytes of stack more")
    }

    /// A regression test: closures must not retain the uplink, which holds the lock of its spool.
    @Test func `releases its spool when it is closed`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "tributary-uplink-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var settings = UplinkSettings(
            endpoint: "tcp://c:1", sourceName: "camera", agentName: "box", software: "agent",
            batch: .automatic, memoryLimitBytes: 1 << 20)
        settings.spool = SpoolSettings(path: path, limitBytes: 1 << 20)
        let uplink = try Uplink(settings: settings, logger: Logger(label: "test"))
        uplink.obey { [uplink] _ in _ = uplink.status }
        #expect(throws: SpoolError.inUse(path: path)) { try DirectoryStorage(path: path) }
        uplink.close()
        try DirectoryStorage(path: path).close()
        withExtendedLifetime(uplink) {}
    }
}

/// Stack depth at a call.
private final class StackDepth: Sendable {
    private let place = Mutex(Int.max)

    var lowest: Int { place.withLock { $0 } }

    func note() -> Bool {
        var here = 0
        let address = withUnsafePointer(to: &here) { Int(bitPattern: $0) }
        place.withLock { $0 = min($0, address) }
        return true
    }
}
