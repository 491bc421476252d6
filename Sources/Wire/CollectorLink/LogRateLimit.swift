/// Keeps unknown peers from flooding the log. Per address: the first line, then one in ten seconds with a count. For
/// all addresses together: a limited number of lines in ten seconds, because the owner of one IPv6 network has 2⁶⁴
/// addresses.
package struct LogRateLimit: Hashable, Sendable {
    /// Maximum number of remembered addresses; above it the oldest is dropped.
    static let maximumAddresses = 1_024
    static let pauseNanoseconds: Int64 = 10_000_000_000
    /// Lines of all addresses in one interval: if all boxes of a site have the same fault, the first lines show it.
    package static let linesPerPause = 32

    private struct Entry: Hashable {
        var lastLine: Int64
        var suppressed: Int
    }

    private var entries: [String: Entry] = [:]
    /// Start of the present interval for ``linesPerPause``, and the number of lines since.
    private var pauseBegin: Int64?
    private var linesInPause = 0
    /// Lines that were suppressed because others had used up the interval; the next line that passes reports their number.
    private var withheld = 0

    package init() {}

    /// Whether a line may be written; if so, how many were suppressed since the last one.
    package mutating func pass(_ address: String, now: Int64) -> Int? {
        if let entry = entries[address], now - entry.lastLine < Self.pauseNanoseconds {
            entries[address] = Entry(
                lastLine: entry.lastLine, suppressed: entry.suppressed + 1)
            return nil
        }
        if pauseBegin.map({ now - $0 >= Self.pauseNanoseconds }) ?? true {
            pauseBegin = now
            linesInPause = 0
        }
        guard linesInPause < Self.linesPerPause else {
            withheld += 1
            return nil
        }
        linesInPause += 1
        let suppressed = (entries.removeValue(forKey: address)?.suppressed ?? 0) + withheld
        withheld = 0
        if entries.count >= Self.maximumAddresses,
            let oldest = entries.min(by: { $0.value.lastLine < $1.value.lastLine })
        {
            entries.removeValue(forKey: oldest.key)
        }
        entries[address] = Entry(lastLine: now, suppressed: 0)
        return suppressed
    }
}
