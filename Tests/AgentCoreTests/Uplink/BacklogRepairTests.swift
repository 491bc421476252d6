import Glibc
import Media
import Messaging
import Spooling
import Synchronization
import Testing
import TestSpools
import Wire

@testable import AgentCore

private let second: Int64 = 1_000_000_000

/// An agent's backlog whose collector is away.
private struct LonelyAgent {
    var backlog: Delivery<TestPayload>
    private var made = 0
    private(set) var logs: [String] = []

    init(
        shelf: SpoolSet?,
        openShelf: (@Sendable () throws(SpoolError) -> SpoolSet)? = nil
    ) {
        var settings = UplinkSettings(
            endpoint: "tcp://c:1", sourceName: "camera", agentName: "box", software: "agent",
            batch: .fixed(.milliseconds(100)), memoryLimitBytes: 16 << 20)
        settings.spool = SpoolSettings(path: "disk", limitBytes: 8 << 20)
        backlog = Delivery(
            settings: settings, disk: shelf, openDisk: openShelf,
            formats: BacklogSimulation.formats,
            epoch: EpochID([UInt8](repeating: 1, count: 16)) ?? .random(),
            makeIdentity: { .random() })
    }

    mutating func capture(_ count: Int, at now: Int64) {
        for _ in 0..<count {
            let time = Int64(made) * 100_000_000
            let run = SampleRun(
                track: .video, sizes: [100], dtsNanoseconds: [time], ptsOffsetsNanoseconds: [],
                durationsNanoseconds: [100_000_000], flags: [.keyframe])
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: made), count: 100)
            let batch = Batch(
                runs: [run], digest: [UInt8](repeating: 0, count: 32), payload: .init(bytes))
            note(backlog.add(batch, payload: TestPayload(bytes), now: now))
            made += 1
        }
    }

    mutating func tick(at now: Int64) { note(backlog.tick(now: now)) }

    private mutating func note(_ actions: [AgentAction<TestPayload>]) {
        for case .log(let line) in actions { logs.append(line.text) }
    }
}

struct `A disk that becomes writable again` {
    private let disk = SimulatedDisk(seed: 1)

    private func shelf() throws(SpoolError) -> SpoolSet {
        try SpoolSet(storage: disk, limitBytes: 8 << 20)
    }

    @Test
    func `a directory that could not be opened is retried, and takes all records`() throws {
        let gate = Gate()
        let disk = disk
        var agent = LonelyAgent(shelf: nil) { () throws(SpoolError) in
            try gate.pass()
            return try SpoolSet(storage: disk, limitBytes: 8 << 20)
        }
        agent.capture(10, at: second)
        #expect(!agent.backlog.isOnDisk)
        gate.open()
        agent.tick(at: 7 * second)
        #expect(agent.backlog.isOnDisk)
        #expect(agent.logs.contains { $0.contains("kept on disk again") })
        agent.capture(5, at: 8 * second)
        // The agent is killed, and its memory gone.
        let next = LonelyAgent(shelf: try shelf())
        #expect(next.backlog.keptSamples == 15)
    }

    @Test func `a disk that was full takes the records in memory when there is room`() throws {
        // The records of an earlier process are still to be sent.
        var earlier = LonelyAgent(shelf: try shelf())
        earlier.capture(20, at: second)
        disk.setCapacity(0)
        var agent = LonelyAgent(shelf: try shelf())
        agent.capture(10, at: second)
        #expect(!agent.backlog.isOnDisk)
        #expect(agent.logs.filter { $0.contains("kept in memory") }.count == 1)
        agent.tick(at: 7 * second)
        #expect(!agent.backlog.isOnDisk)
        disk.setCapacity(nil)
        agent.tick(at: 13 * second)
        #expect(agent.backlog.isOnDisk)
        #expect(agent.logs.filter { $0.contains("kept on disk again") }.count == 1)
        agent.capture(5, at: 14 * second)
        let next = LonelyAgent(shelf: try shelf())
        // And the line that the agent had not been running.
        #expect(next.backlog.keptSamples == 36)
    }

    @Test func `a disk that fills up during the transfer leaves the records in memory`() throws {
        disk.setCapacity(0)
        var agent = LonelyAgent(shelf: try shelf())
        agent.capture(2_000, at: second)
        // Room for the trial, and not for all.
        disk.setCapacity(100_000)
        agent.tick(at: 7 * second)
        #expect(!agent.backlog.isOnDisk)
        #expect(agent.backlog.keptSamples == 2_000)
        disk.setCapacity(nil)
        agent.tick(at: 20 * second)
        #expect(agent.backlog.isOnDisk)
        let next = LonelyAgent(shelf: try shelf())
        #expect(next.backlog.keptSamples == 2_000)
    }
}

/// A directory that can be opened from some time on.
private final class Gate: Sendable {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }

    func pass() throws(SpoolError) {
        guard isOpen.withLock({ $0 }) else {
            throw .system(operation: "write into", path: "disk", errno: ENOSPC)
        }
    }
}
