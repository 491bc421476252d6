import Logging
import Synchronization
import Testing

@testable import AgentCore

struct `An uplink` {
    /// A function that is wrapped once more with every call needs a little more stack each time: after hours, all of it.
    @Test func `asks whether the capture is stopped as directly after hours as at first`() throws {
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
}

/// How far down the stack a function was called.
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
