/// A cache of limited size, from which the entries that were not used for longest are removed.
struct RecentEntries<Key: Hashable, Value> {
    /// Maximum number of entries.
    private let capacity: Int
    private var entries: [Key: (value: Value, used: UInt64)] = [:]
    private var clock: UInt64 = 0

    /// - Parameter capacity: the maximum number of entries; at least 1.
    init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    mutating func value(of key: Key) -> Value? {
        clock += 1
        entries[key]?.used = clock
        return entries[key]?.value
    }

    mutating func keep(_ value: Value, of key: Key) {
        clock += 1
        entries[key] = (value, clock)
        guard entries.count > capacity else { return }
        // A quarter at once: finding the oldest entries reads all of them.
        let uses = entries.values.map(\.used).sorted()
        let oldest = uses[(entries.count - 1) / 4]
        entries = entries.filter { $0.value.used > oldest }
    }
}
