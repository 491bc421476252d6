/// Keeps what strangers do from flooding the log: the first line of an address, then one in ten seconds with a count; and so many
/// lines in ten seconds from all addresses together, because whoever has one IPv6 network has 2⁶⁴ addresses.
package struct LogRateLimit: Hashable, Sendable {
    /// Addresses that are remembered; past it the oldest is forgotten.
    static let maximumAddresses = 1_024
    static let pauseNanoseconds: Int64 = 10_000_000_000
    /// Lines of all addresses in one pause: a site whose boxes all have the same fault is read from its first lines.
    package static let linesPerPause = 32

    private struct Entry: Hashable {
        var lastLine: Int64
        var suppressed: Int
    }

    private var entries: [String: Entry] = [:]
    /// When the lines that count against ``linesPerPause`` began, and how many have passed since.
    private var pauseBegin: Int64?
    private var linesInPause = 0
    /// Lines that were held back because others had used up the pause; the next line that passes counts them.
    private var withheld = 0

    package init() {}

    /// Whether a line may be written; if so, how many were held back since the last one.
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
