import Archive
import Dispatch
import Foundation
import Logging
import Synchronization
import Testing

@testable import CollectorCore

@Suite struct CompositionTests {
    @Test
    func `services stop in the opposite order of their start, each with the deadline of its turn`()
    {
        let running = ServiceStack()
        var stopped: [(String, DispatchTime)] = []
        for name in ["lock", "disk", "retention"] {
            running.append { stopped.append((name, $0)) }
        }
        var uptime: UInt64 = 0
        running.stop {
            uptime += 1
            return DispatchTime(uptimeNanoseconds: uptime)
        }
        #expect(stopped.map(\.0) == ["retention", "disk", "lock"])
        #expect(stopped.map(\.1.uptimeNanoseconds) == [1, 2, 3])
        running.stop { .now() }
        #expect(stopped.count == 3)
    }

    @Test func `a stop request ends a pause and sets the deadline of services`() {
        let stop = StopRequest()
        #expect(!stop.isMade)
        #expect(stop.deadline > .now() + .seconds(30))
        stop.begin(endsSession: false)
        let before = DispatchTime.now()
        stop.pause(seconds: 20)
        #expect(DispatchTime.now() < before + .seconds(10))
        #expect(stop.isMade)
        #expect(!stop.endsSession)
        #expect(stop.deadline < .now() + .seconds(4))
    }

    /// Names of this process's threads.
    private static func threads() throws -> Set<String> {
        let tasks = "/proc/self/task"
        return Set(
            try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap { task in
                guard let data = FileManager.default.contents(atPath: "\(tasks)/\(task)/comm")
                else { return nil }  // The thread has just ended.
                return String(decoding: data, as: UTF8.self)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            })
    }

    @Test func `a collector starts its services, and none outlives it`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "composition-\(UUID())")
        let archive = directory.path
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        var settings = CollectorSettings(
            endpoint: "tcp://127.0.0.1:*", archive: archive, segmentNanoseconds: 1_000_000_000,
            startAt: .firstSample, startWindowNanoseconds: 0, endsWithSession: false,
            changeable: ChangeableSettings(idleTimeoutNanoseconds: 0), software: "test")
        settings.wireRecording = "\(archive)/all.wire"
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (listens, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let collector = try Collector(settings: settings, logger: logger) { _ in listens.signal() }
        let failures = Mutex<[String]>(["it has not ended"])
        Thread.detachNewThread {
            do {
                let outcome = try collector.run()
                failures.withLock { $0 = outcome.failures }
            } catch {
                failures.withLock { $0 = ["\(error)"] }
            }
            ended.signal()
        }
        #expect(listens.wait(timeout: .now() + .seconds(20)) == .success)
        let expected: Set = ["control", "wire", "intake", "catalog", "disk", "retention"]
        // A thread takes its name when it begins to run.
        var missing = expected
        for _ in 0..<2_000 where !missing.isEmpty {
            missing = expected.subtracting(try Self.threads())
            usleep(10_000)
        }
        #expect(missing == [])
        let control = ArchiveLayout(root: archive).control
        #expect(FileManager.default.fileExists(atPath: control))
        // Another collector cannot record at the same time, and changes nothing.
        let second = try Collector(settings: settings, logger: logger) { _ in }
        #expect(throws: CollectorError.archiveInUse(archive: archive)) { try second.run() }
        #expect(FileManager.default.fileExists(atPath: control))
        collector.stop(endsSession: true)
        #expect(ended.wait(timeout: .now() + .seconds(20)) == .success)
        #expect(failures.withLock { $0 } == [])
        // No other test records a wire.
        #expect(try !Self.threads().contains("wire"))
        #expect(!FileManager.default.fileExists(atPath: control))
        // The lock is free again. A service that cannot start stops those before it.
        let third = try Collector(settings: settings, logger: logger) { _ in }
        #expect {
            try third.run()
        } throws: {
            guard case CollectorError.cannotRecordWire = $0 else { return false }
            return true
        }
        #expect(!FileManager.default.fileExists(atPath: control))
    }
}
