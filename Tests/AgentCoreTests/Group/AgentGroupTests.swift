import Control
import Foundation
import Logging
import Media
import Spooling
import Synchronization
import Testing
import Wire

@testable import AgentCore

/// Several sources of one process.
@Suite struct AgentGroupTests {
    private func plan(_ source: String, video: String = "test") throws -> AgentPlan {
        var capture = CaptureSettings(sourceName: source)
        capture.video = try CaptureInput.parse(video, for: .video)
        capture.audio = .none
        return AgentPlan(
            capture: capture,
            uplink: UplinkSettings(
                endpoint: "ipc:///tmp/tributary-no-such-collector", sourceName: source,
                agentName: "box", software: "test", batch: .automatic,
                memoryLimitBytes: 16 << 20))
    }

    @Test func `a changed configuration adds, restarts and removes sources`() throws {
        let old = try [plan("a"), plan("b"), plan("c")]
        let new = try [plan("d"), plan("c"), plan("a", video: "none")]
        let change = AgentGroupChange(from: old, to: new)
        #expect(change.added == [new[0]])
        #expect(change.changed == [new[2]])
        #expect(change.removed == ["b"])
        #expect(change.summary == "d added; a started again; b removed")
        #expect(AgentGroupChange(from: old, to: old).summary == "no camera has changed")
    }

    /// The plan of a source that ends after a second, whatever is left in its spool.
    private func shortPlan(_ source: String, in directory: URL) throws -> AgentPlan {
        var plan = try plan(source)
        plan.capture.duration = .seconds(1)
        plan.uplink.linger = .zero
        plan.uplink.spool = SpoolSettings(
            path: directory.appending(path: source).path, limitBytes: 100_000_000)
        return plan
    }

    /// Runs a group until it ends by itself; it is ended in any case.
    private func ends(_ plans: [AgentPlan]) -> (isOver: Bool, group: AgentGroup) {
        let group = AgentGroup(plans) { Logger(label: $0) { _ in SwiftLogNoOpLogHandler() } }
        let isOver = Atomic(false)
        Thread.detachNewThread {
            group.wait()
            isOver.store(true, ordering: .releasing)
        }
        for _ in 0..<1_200 where !isOver.load(ordering: .acquiring) { usleep(50_000) }
        let hasEnded = isOver.load(ordering: .acquiring)
        group.abandon()
        group.wait()
        return (hasEnded, group)
    }

    @Test func `a preview that cannot be opened does not affect its source`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        // Alone, the preview would be tried again for ever.
        let (isOver, group) = ends([
            try shortPlan("door", in: directory),
            try plan("door.preview", video: "file:/no/such/file.mp4"),
        ])
        #expect(isOver)
        #expect(group.progress.map { $0.source } == ["door", "door.preview"])
        #expect(group.progress.last?.trouble != nil)
        // The source has recorded.
        #expect(group.leftovers.map(\.source) == ["door"])
        #expect(group.leftovers.allSatisfy { $0.isKept && !$0.isRefused })
    }

    @Test func `a preview that is recorded ends with its source, another source does not`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        var preview = try shortPlan("door.preview", in: directory)
        preview.capture.duration = nil
        let (isOver, group) = ends([try shortPlan("door", in: directory), preview])
        #expect(isOver)
        #expect(group.leftovers.count == 2)
        let others = AgentGroup([try shortPlan("door", in: directory), try plan("yard.preview")]) {
            Logger(label: $0) { _ in SwiftLogNoOpLogHandler() }
        }
        var progress = others.progress
        for _ in 0..<1_200 {
            progress = others.progress
            if progress.first?.progress == nil, progress.last?.progress?.pictures ?? 0 > 45 {
                break
            }
            usleep(50_000)
        }
        #expect(progress.first?.progress == nil)
        #expect(progress.last?.progress?.pictures ?? 0 > 45)
        others.abandon()
        others.wait()
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func waits(for condition: () throws -> Bool) rethrows -> Bool {
        for _ in 0..<600 {
            if try condition() { return true }
            usleep(50_000)
        }
        return false
    }

    /// A regression test: an agent that has ended must release the lock of its spool.
    @Test(arguments: ["file:/no/such/file.mp4", "test"])
    func `an agent that has ended leaves its spool to the next one`(first: String) throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        var plan = try shortPlan("door", in: directory)
        let pattern = plan.capture.video
        plan.capture.video = try CaptureInput.parse(first, for: .video)
        let former = try Agent(capture: plan.capture, uplink: plan.uplink, logger: Self.silent)
        _ = try? former.run()
        plan.capture.video = pattern
        let next = try Agent(capture: plan.capture, uplink: plan.uplink, logger: Self.silent)
        guard case .kept = try next.run() else {
            Issue.record("nothing was recorded")
            return
        }
        withExtendedLifetime(former) {}
    }

    @Test(arguments: ["file:/no/such/file.mp4", "test"])
    func `an agent that has ended is not retained by its closures`(video: String) throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        var plan = try shortPlan("door", in: directory)
        plan.capture.video = try CaptureInput.parse(video, for: .video)
        plan.uplink.controlPath = directory.appending(path: "door.sock").path
        weak var agent: Agent?
        weak var uplink: Uplink?
        do {
            let running = try Agent(
                capture: plan.capture, uplink: plan.uplink, logger: Self.silent)
            (agent, uplink) = (running, running.uplink)
            _ = try? running.run()
        }
        #expect(agent == nil)
        // The last thread of the capture may still be ending.
        #expect(waits { uplink == nil })
    }

    @Test func `a source is changed, removed and added again with the same spool`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        var door = try shortPlan("door", in: directory)
        door.capture.duration = nil
        door.uplink.controlPath = directory.appending(path: "door.sock").path
        let group = AgentGroup([door]) { _ in Self.silent }
        defer {
            group.abandon()
            group.wait()
        }
        let isRecording = {
            group.progress.last?.progress?.pictures ?? 0 > 2
        }
        #expect(waits(for: isRecording))
        door.capture.keyframeInterval /= 2
        #expect(group.change(to: [door]).summary == "door started again")
        #expect(waits { group.progress.last?.progress?.pictures ?? 0 <= 2 })
        #expect(waits(for: isRecording), "\(group.progress)")
        // While the former agent is still stopping.
        #expect(group.change(to: []).summary == "door removed")
        #expect(group.change(to: [door]).summary == "door added")
        #expect(waits { group.progress.count == 2 && isRecording() }, "\(group.progress)")
        // The new one has the socket.
        #expect(try status(of: door).isCapturing)
    }

    private func spoolDirectory() -> URL {
        FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
    }

    /// A changed source captures at once, and the old agent sends no Goodbye.
    @Test func `a restart neither waits for an absent collector nor ends the source`() throws {
        let directory = spoolDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        var door = try shortPlan("door", in: directory)
        door.capture.duration = nil
        door.uplink.linger = .seconds(120)
        let group = AgentGroup([door]) { _ in Self.silent }
        defer {
            group.abandon()
            group.wait()
        }
        #expect(waits { group.progress.last?.progress?.pictures ?? 0 > 10 })
        door.capture.keyframeInterval /= 2
        #expect(group.change(to: [door]).summary == "door started again")
        #expect(waits { group.progress.last?.progress?.pictures ?? 99 <= 10 })
        #expect(waits { group.progress.last?.progress?.pictures ?? 0 > 2 }, "\(group.progress)")
        #expect(group.leftovers.allSatisfy { $0.isKept })
        group.abandon()
        group.wait()
        // After a Goodbye, the next agent would have begun another spool.
        let path = directory.appending(path: "door").path
        let spools = try SpoolSet(storage: ReadOnlyDirectory(path: path), limitBytes: .max)
        #expect(spools.spools.count == 1)
    }

    @Test func `settings that a capture can change do not restart it`() throws {
        let directory = spoolDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        var door = try shortPlan("door", in: directory)
        door.capture.duration = nil
        door.uplink.controlPath = directory.appending(path: "door.sock").path
        let group = AgentGroup([door]) { _ in Self.silent }
        defer {
            group.abandon()
            group.wait()
        }
        #expect(waits { group.progress.last?.progress?.pictures ?? 0 > 10 })
        door.capture.videoBitrate = 1_000_000
        door.capture.orientation.rotation = .quarter
        #expect(group.change(to: [door]).summary == "door changed")
        #expect(group.change(to: [door]).summary == "no camera has changed")
        var status = try status(of: door)
        #expect(status.videoBitrate == 1_000_000 && status.orientation.rotation == .quarter)
        #expect(status.pictures > 10)
        // A change that fails leaves everything unchanged, and is tried again at the next reload.
        var gone = door
        gone.capture.video = try CaptureInput.parse("file:/no/such/file.mp4", for: .video)
        for _ in 0..<2 { #expect(group.change(to: [gone]).summary == "door not changed") }
        #expect(group.plans == [door])
        // A command's change is undone by the configuration.
        var change = CaptureChange()
        change.videoBitrate = 2_000_000
        _ = try client(of: door).ask(.command(.change(change), source: "door"))
        status = try self.status(of: door)
        #expect(status.videoBitrate == 2_000_000 && status.isCapturing && status.video == "test")
        #expect(group.change(to: [door]).summary == "door changed")
        status = try self.status(of: door)
        #expect(status.videoBitrate == 1_000_000)
    }

    @Test func `a removed source is sent without a time limit, and is not capturing`() throws {
        let directory = spoolDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        var door = try shortPlan("door", in: directory)
        door.capture.duration = nil
        door.uplink.controlPath = directory.appending(path: "door.sock").path
        let yard = try plan("yard")
        let group = AgentGroup([door, yard]) { _ in Self.silent }
        #expect(waits { group.progress.first?.progress?.pictures ?? 0 > 2 })
        #expect(group.change(to: [yard]).summary == "door removed")
        #expect(waits { group.progress.first?.progress?.hasEnded == true })
        // Its linger is zero.
        usleep(1_500_000)
        #expect(group.progress.first?.progress != nil)
        let status = try status(of: door)
        #expect(!status.isCapturing)
        #expect(status.trouble.hasPrefix("the capture has ended"))
        #expect(status.keptBytes > 0)
        group.stop()
        group.wait()
        // The other one has no spool.
        #expect(group.leftovers.map(\.source) == ["door", "yard"])
        #expect(group.leftovers.map(\.isKept) == [true, false])
    }

    private func client(of plan: AgentPlan) throws -> ControlClient {
        try ControlClient(path: plan.uplink.controlPath ?? "", name: "the agent") { true }
    }

    private func status(of plan: AgentPlan) throws -> CaptureStatus {
        let reply = try client(of: plan).ask(.command(.status, source: plan.source)).ofAgent()
        guard case .status(let status) = reply.reply else {
            throw UplinkError(description: "\(reply.reply)")
        }
        return status
    }

    @Test func `the status of a source that is retried has the reason`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-group-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        var gone = try plan("gone", video: "file:/no/such/file.mp4")
        gone.uplink.controlPath = directory.appending(path: "gone.sock").path
        let group = AgentGroup([gone]) { _ in Self.silent }
        defer {
            group.abandon()
            group.wait()
            #expect(access(gone.uplink.controlPath ?? "", F_OK) != 0)
        }
        #expect(waits { group.progress[0].trouble != nil })
        // During an attempt, there is no next attempt yet.
        var status = CaptureStatus()
        #expect(
            try waits {
                status = try self.status(of: gone)
                return status.retrySeconds != nil
            })
        #expect(!status.isCapturing && status.trouble.contains("/no/such/file.mp4"))
        #expect(1...30 ~= status.retrySeconds ?? 0)
        #expect(status.video == "file:/no/such/file.mp4")
        let reply = try client(of: gone).ask(.command(.keyframe, source: "gone")).ofAgent()
        guard case .failure(.refused, let text) = reply.reply else {
            Issue.record("\(reply.reply)")
            return
        }
        #expect(text.hasPrefix("gone is not capturing: ") && text.contains("/no/such/file.mp4"))
    }

    @Test func `a source that cannot be opened is retried, and the others continue`() throws {
        let group = AgentGroup(
            try [plan("door"), plan("gone", video: "file:/no/such/file.mp4")]
        ) { Logger(label: $0) { _ in SwiftLogNoOpLogHandler() } }
        var progress = group.progress
        for _ in 0..<600 {
            progress = group.progress
            if progress.last?.trouble != nil, progress.first?.progress?.pictures ?? 0 > 2 { break }
            usleep(50_000)
        }
        #expect(progress.map { $0.source } == ["door", "gone"])
        #expect(progress.first?.progress?.pictures ?? 0 > 2)
        #expect(progress.last?.progress == nil && progress.last?.trouble != nil)
        // One is removed, one is added.
        let change = group.change(to: try [plan("gone", video: "test"), plan("hall")])
        #expect(change.summary == "hall added; gone started again; door removed")
        for _ in 0..<600 {
            progress = group.progress
            if progress.allSatisfy({ $0.progress?.pictures ?? 0 > 2 }) { break }
            usleep(50_000)
        }
        #expect(progress.allSatisfy { $0.progress?.pictures ?? 0 > 2 })
        group.abandon()
        group.wait()
        #expect(group.progress.allSatisfy { $0.progress == nil })
    }
}
