/// Keeps what strangers do from flooding the log: the first line of an address, then one in ten seconds with a count.
package struct LogGate: Hashable, Sendable {
    /// Addresses that are remembered; past it the oldest is forgotten.
    static let maximumAddresses = 1_024
    static let pauseNanoseconds: Int64 = 10_000_000_000

    private struct Entry: Hashable {
        var lastLine: Int64
        var suppressed: Int
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Whether a line may be written; if so, how many were held back since the last one.
    package mutating func pass(_ address: String, now: Int64) -> Int? {
        if let entry = entries[address], now - entry.lastLine < Self.pauseNanoseconds {
            entries[address] = Entry(
                lastLine: entry.lastLine, suppressed: entry.suppressed + 1)
            return nil
        }
        let suppressed = entries.removeValue(forKey: address)?.suppressed ?? 0
        if entries.count >= Self.maximumAddresses,
            let oldest = entries.min(by: { $0.value.lastLine < $1.value.lastLine })
        {
            entries.removeValue(forKey: oldest.key)
        }
        entries[address] = Entry(lastLine: now, suppressed: 0)
        return suppressed
    }
}
