import Glibc
import Logging
import Testing

@testable import AgentCore

/// Several sources of one process.
@Suite struct AgentGroupTests {
    private func plan(_ source: String, video: String = "test") throws -> AgentPlan {
        var capture = CaptureSettings(sourceName: source)
        capture.video = try VideoChoice(argument: video)
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
