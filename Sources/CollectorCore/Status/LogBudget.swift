import Media
import Wire

/// Keeps one source, or one address, from filling the log: a number of lines at once, then one in ten seconds that says how many there
/// were. A value.
struct LogBudget: Sendable {
    /// Lines at once: a source that begins, is cut off and comes back a few times.
    private static let burst: Int64 = 40
    private static let pauseNanoseconds: Int64 = 10_000_000_000
    /// Names that are remembered; past it all are forgotten, and begin anew.
    private static let maximumNames = 16_384

    private var lines: [String: (allowance: Allowance, heldBack: UInt64)] = [:]

    /// The line as it is to be written; nil: it is not.
    mutating func pass(_ line: LinkLog, now: Int64) -> LinkLog? {
        // Errors are few, each has its own brake, and nobody should miss one.
        guard line.level != .error,
            let owner = line.metadata["source"] ?? line.metadata["address"]
        else { return line }
        // A warning does not wait behind what is said in passing.
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
        line.text += " (and \(own.heldBack) lines before, held back: there were too many)"
        own.heldBack = 0
        return line
    }
}
