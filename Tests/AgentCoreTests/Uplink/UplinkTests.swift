import CollectorClient
import Dispatch
import Foundation
import Logging
import Media
import Messaging
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

    /// Cause: libzmq resolves names on the thread that serves all connections of a context.
    @Test func `reaches the next collector and ends while a lookup has no answer`() throws {
        let isEnding = DispatchSemaphore(value: 0)
        defer { isEnding.signal() }
        let context = try Context()
        let router = try Socket(.router, in: context)
        try router.bind("tcp://127.0.0.1:*")
        let collectors = ["tcp://nosuch.example:1", try router.lastEndpoint()]
        // The first collector of this source is the one that is not resolved.
        let source = try #require(
            (0..<100).lazy.map { "camera\($0)" }
                .first { RendezvousOrder.of(collectors, for: $0) == collectors })
        var settings = UplinkSettings(
            endpoint: collectors.joined(separator: ","), sourceName: source, agentName: "box",
            software: "agent", batch: .automatic, memoryLimitBytes: 1 << 20)
        settings.spool = nil
        let resolver = HostResolver { host in
            isEnding.wait()
            return .failure(HostFailure(host: host, text: "no answer"))
        }
        let uplink = try Uplink(
            settings: settings, resolver: resolver, logger: Logger(label: "test"))
        uplink.begin(formats: BacklogSimulation.formats)
        var poller = Poller()
        _ = poller.add(router)
        let clock = ContinuousClock()
        let began = clock.now
        var troubles: Set<String> = []
        var message: ReceivedMessage?
        while message == nil, clock.now - began < .seconds(60) {
            _ = try poller.wait(milliseconds: 50)
            message = try router.receive(maximumParts: 2)
            if let trouble = uplink.status.trouble { troubles.insert(trouble) }
        }
        #expect(message != nil)
        #expect(troubles == ["the name server does not answer for 'nosuch.example'"])
        uplink.abandon(after: .zero)
        let outcome = uplink.wait()
        #expect(!"\(outcome)".contains("does not respond"), "\(outcome)")
        uplink.close()
    }

    /// An uplink with a spool and without a collector, which has taken some samples.
    private func spooling(in path: String) throws -> Uplink {
        var settings = UplinkSettings(
            endpoint: "tcp://127.0.0.1:1", sourceName: "camera", agentName: "box",
            software: "agent", batch: .fixed(.zero), memoryLimitBytes: 1 << 20)
        settings.spool = SpoolSettings(path: path, limitBytes: 1 << 20)
        let uplink = try Uplink(settings: settings, logger: Logger(label: "test"))
        uplink.begin(formats: BacklogSimulation.formats)
        try offer(0..<20, to: uplink)
        return uplink
    }

    private func offer(_ numbers: Range<Int64>, to uplink: Uplink) throws {
        let before = uplink.status.keptSamples
        for number in numbers {
            uplink.offer(
                EncodedSample(
                    track: .video, ptsNanoseconds: number * 40_000_000,
                    dtsNanoseconds: number * 40_000_000, durationNanoseconds: 40_000_000,
                    flags: .keyframe, data: Array(repeating: 1, count: 100)))
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while uplink.status.keptSamples < before + UInt64(numbers.count),
            ContinuousClock.now < deadline
        {
            Thread.sleep(forTimeInterval: 0.01)
        }
        try #require(uplink.status.keptSamples == before + UInt64(numbers.count))
    }

    private func withSpoolPath(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "tributary-uplink-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func `leaves samples in its spool when it is stopped`() throws {
        try withSpoolPath { path in
            let uplink = try spooling(in: path)
            uplink.abandon(after: .zero)
            guard case .kept(let line) = uplink.wait() else {
                Issue.record("not kept")
                return
            }
            #expect(line.hasPrefix("given up: 20 samples ("))
            #expect(line.hasSuffix("; they stay in \(path) and are sent at the next start"))
        }
    }

    @Test func `does not promise samples whose files were removed`() throws {
        try withSpoolPath { path in
            let uplink = try spooling(in: path)
            try FileManager.default.removeItem(atPath: path)
            uplink.abandon(after: .zero)
            guard case .failed(let line) = uplink.wait() else {
                Issue.record("not failed")
                return
            }
            #expect(line.hasSuffix("; 20 are lost with files that were removed from \(path)"))
        }
    }

    @Test func `tells samples on a failed disk from those in memory`() throws {
        try withSpoolPath { path in
            let uplink = try spooling(in: path)
            // The spool's next files cannot be created, and its present one cannot be extended.
            let aside = path + "-aside"
            try FileManager.default.moveItem(atPath: path, toPath: aside)
            defer { try? FileManager.default.removeItem(atPath: aside) }
            try offer(20..<25, to: uplink)
            try FileManager.default.moveItem(atPath: aside, toPath: path)
            uplink.abandon(after: .zero)
            guard case .failed(let line) = uplink.wait() else {
                Issue.record("not failed")
                return
            }
            #expect(
                line.hasSuffix(
                    "; 5 in memory are lost, 20 stay in \(path) and are sent at the next start"))
        }
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
