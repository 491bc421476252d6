import Media
import Wire

/// Keeps one source, or one address, from flooding the log: a burst of lines, then one line every ten seconds with the number of
/// suppressed ones. A value.
struct LogBudget: Sendable {
    /// Burst: lines of a source that starts, disconnects and reconnects a few times.
    private static let burst: Int64 = 40
    private static let pauseNanoseconds: Int64 = 10_000_000_000
    /// Maximum number of names; above it, all budgets are reset.
    private static let maximumNames = 16_384

    private var lines: [String: (allowance: Allowance, heldBack: UInt64)] = [:]

    /// The line to write; nil: it is suppressed.
    mutating func pass(_ line: LinkLog, now: Int64) -> LinkLog? {
        // Errors are few, each is rate-limited at its origin, and none should be missed.
        guard line.level != .error,
            let owner = line.metadata["source"] ?? line.metadata["address"]
        else { return line }
        // Each level has its own budget: a warning does not wait behind information lines.
        let name = "\(owner) \(line.level)"
        if lines.count >= Self.maximumNames { lines.removeAll() }
        var own =
            lines.removeValue(forKey: name)
            ?? (Allowance(burst: Self.burst, nanosecondsEach: Self.pauseNanoseconds), 0)
        defer { lines[name] = own }
        guard own.allowance.pauseNanoseconds(now: now) == 0 else {
            own.heldBack.addClamped(1)
            return nil
        }
        own.allowance.use(1, now: now)
        guard own.heldBack > 0 else { return line }
        var line = line
        line.text += " (and \(own.heldBack) earlier lines suppressed: too many)"
        own.heldBack = 0
        return line
    }
}
