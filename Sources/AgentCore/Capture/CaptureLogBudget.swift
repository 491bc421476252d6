/// Keeps the log lines that one source causes within a budget: a burst, then one line per interval with the number of those
/// left out. The ledger has every gap. A value without a clock.
struct CaptureLogBudget: Hashable, Sendable {
    /// Lines of a source that starts, loses its device and finds it again a few times.
    static let burst: Int64 = 20
    static let intervalNanoseconds: Int64 = 10_000_000_000

    /// Subject of a line.
    enum Subject: Hashable, Sendable {
        /// A gap with its number of samples; 0: unknown.
        case gap(samples: Int)
        /// A note, or a changed format.
        case note
    }

    private var available = Self.burst
    /// Time since which the next line becomes available.
    private var refilledNanoseconds: Int64?
    private var gaps: UInt64 = 0
    private var samples: UInt64 = 0
    private var notes: UInt64 = 0

    /// Whether to write a line; if not, it is counted.
    mutating func admits(_ subject: Subject, now: Int64) -> Bool {
        refill(now: now)
        // A summary precedes further lines.
        if available > 0, gaps == 0, notes == 0 {
            available -= 1
            return true
        }
        switch subject {
        case .gap(let count):
            gaps += 1
            samples += UInt64(max(0, count))
        case .note: notes += 1
        }
        return false
    }

    /// The summary that is due: one line. Nil: none.
    mutating func takeSummary(now: Int64) -> String? {
        refill(now: now)
        guard available > 0, let summary = takeRest() else { return nil }
        available -= 1
        return summary
    }

    /// The summary of all lines left out so far, whether it is due or not. Nil: none.
    mutating func takeRest() -> String? {
        guard gaps > 0 || notes > 0 else { return nil }
        defer { (gaps, samples, notes) = (0, 0, 0) }
        var parts: [String] = []
        if gaps > 0 {
            let count = samples == 0 ? "" : " with \(samples) samples"
            parts.append("\(gaps) gap\(gaps == 1 ? "" : "s")\(count), recorded in the ledger")
        }
        if notes > 0 { parts.append("\(notes) other line\(notes == 1 ? "" : "s")") }
        return "too many lines, left out: \(parts.joined(separator: "; "))"
    }

    private mutating func refill(now: Int64) {
        guard available < Self.burst, let since = refilledNanoseconds else {
            refilledNanoseconds = now
            return
        }
        let lines = max(0, now - since) / Self.intervalNanoseconds
        available = min(Self.burst, available + lines)
        refilledNanoseconds = since + lines * Self.intervalNanoseconds
    }
}
