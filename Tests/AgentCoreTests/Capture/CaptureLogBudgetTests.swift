import Testing

@testable import AgentCore

/// The log lines that one source may cause.
@Suite struct CaptureLogBudgetTests {
    private static let burst = Int(CaptureLogBudget.burst)
    private static let interval = CaptureLogBudget.intervalNanoseconds

    @Test func `a burst is written, then one line per interval with the number of the others`() {
        var budget = CaptureLogBudget()
        // 100 gaps of 3 samples per second for a minute, and a sample after each.
        let step: Int64 = 10_000_000
        var written = 0
        var summaries: [String] = []
        for index in 0..<6_000 {
            let now = Int64(index) * step
            if budget.admits(.gap(samples: 3), now: now) { written += 1 }
            if let summary = budget.takeSummary(now: now) { summaries.append(summary) }
        }
        #expect(written == Self.burst)
        #expect(summaries.count == 5)
        #expect(
            summaries.first
                == "too many lines, left out: 981 gaps with 2943 samples, recorded in the ledger")
        #expect(
            summaries.last
                == "too many lines, left out: 1000 gaps with 3000 samples, recorded in the ledger")
        // The end of the capture does not wait for the interval.
        let rest = budget.takeRest()
        #expect(
            rest == "too many lines, left out: 999 gaps with 2997 samples, recorded in the ledger")
        let nothing = budget.takeRest()
        #expect(nothing == nil)
    }

    @Test func `rare lines are all written`() {
        var budget = CaptureLogBudget()
        let written = (0..<1_000).count { index in
            budget.admits(.gap(samples: 1), now: Int64(index) * Self.interval)
        }
        #expect(written == 1_000)
        let summary = budget.takeSummary(now: 1_000 * Self.interval)
        #expect(summary == nil)
    }

    @Test func `after a pause a burst is written again, and the summary precedes it`() {
        var budget = CaptureLogBudget()
        for _ in 0...Self.burst { _ = budget.admits(.note, now: 0) }
        let later = Self.interval * CaptureLogBudget.burst
        let isWritten = budget.admits(.gap(samples: 0), now: later)
        #expect(!isWritten)
        let summary = budget.takeSummary(now: later)
        #expect(
            summary == "too many lines, left out: 1 gap, recorded in the ledger; 1 other line")
        let written = (0..<100).count { _ in budget.admits(.note, now: later) }
        #expect(written == Self.burst - 1)
    }

    @Test func `a clock that goes back suppresses no line`() {
        var budget = CaptureLogBudget()
        let written = [100, 0, 101].map { budget.admits(.note, now: $0 * Self.interval) }
        #expect(written == [true, true, true])
    }
}
