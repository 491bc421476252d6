import Testing

@testable import ViewerCore

@Suite struct ForwardSupervisionTests {
    private static let second: Int64 = 1_000_000_000
    private let entry: ForwardEntry
    private var supervision: ForwardSupervision

    init() throws {
        entry = try ForwardEntry("stage=/etc/stage.url")
        supervision = ForwardSupervision(entry)
    }

    private func report(
        _ state: String, trouble: String? = nil, sent: UInt64 = 0, dropped: UInt64 = 0
    ) -> ForwardReport {
        ForwardReport(
            state: state, lateSeconds: 0.25, sentSamples: sent, sentBytes: 10 * sent,
            droppedSamples: dropped, trouble: trouble)
    }

    @Test mutating func `pauses double from two seconds to a minute`() {
        var pauses: [Int64] = []
        for _ in 0..<8 {
            _ = supervision.started(now: 0)
            pauses.append(supervision.ended("status 1", now: Self.second).pauseNanoseconds)
        }
        #expect(pauses.map { $0 / Self.second } == [2, 4, 8, 16, 32, 60, 60, 60])
    }

    @Test mutating func `a process that has run for a minute begins with the shortest pause`() {
        for _ in 0..<4 {
            _ = supervision.started(now: 0)
            _ = supervision.ended("status 1", now: 0)
        }
        _ = supervision.started(now: 0)
        #expect(
            supervision.ended("signal 9", now: 60 * Self.second).pauseNanoseconds == 2 * Self.second
        )
        // It could not be started.
        #expect(
            supervision.ended("no memory", now: 200 * Self.second).pauseNanoseconds == 4
                * Self.second)
    }

    @Test mutating func `starts, ends and changes of trouble are logged once, without the URL`() {
        var notes = [supervision.started(now: 0)]
        for line in [
            report("waiting", trouble: "no samples"), report("waiting", trouble: "no samples"),
            report("connecting"), report("sending"), report("sending"),
            report("connecting", trouble: "refused"), report("sending"),
        ] {
            notes += supervision.reported(line)
        }
        notes.append(supervision.ended("signal 9", now: Self.second).note)
        let name = "forwarding stage (/etc/stage.url): "
        #expect(
            notes.map(\.text)
                == [
                    "started", "no samples", "sending", "refused", "sending",
                    "ended: signal 9; starting again in 2 s",
                ].map { name + $0 })
        #expect(notes.map(\.isWarning) == [false, true, false, true, false, true])
    }

    @Test mutating func `counters continue with the next process`() {
        #expect(supervision.status.state == .ended && supervision.status.starts == 0)
        _ = supervision.started(now: 0)
        _ = supervision.reported(report("sending", sent: 5, dropped: 2))
        _ = supervision.reported(report("sending", sent: 9, dropped: 3))
        #expect(supervision.status.lateSeconds == 0.25)
        _ = supervision.ended("signal 9", now: Self.second)
        #expect(supervision.status.state == .ended && supervision.status.trouble == "signal 9")
        #expect(supervision.status.lateSeconds == nil)
        _ = supervision.started(now: 3 * Self.second)
        #expect(supervision.status.counts.sentSamples == 9)
        _ = supervision.reported(report("sending", sent: 1, dropped: 1))
        #expect(supervision.status.state == .sending && supervision.status.trouble == nil)
        #expect(supervision.status.counts.sentSamples == 10)
        #expect(supervision.status.counts.sentBytes == 100)
        #expect(supervision.status.counts.droppedSamples == 4)
        #expect(supervision.status.starts == 2)
    }

    @Test func `output is split into lines, and long lines are truncated`() {
        var lines = LineBuffer()
        #expect(lines.take(Array("a\nb".utf8)[...]) == ["a"])
        #expect(lines.take(Array("c\n\nd".utf8)[...]) == ["bc", ""])
        let long = Array(String(repeating: "x", count: 100_000).utf8)
        #expect(lines.take(long[...]) == [])
        #expect(lines.take(Array("\n".utf8)[...]).first?.utf8.count == 16 << 10)
    }
}
