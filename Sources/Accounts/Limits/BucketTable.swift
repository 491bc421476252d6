/// Token buckets by key: a burst of attempts, and one more after each interval.
///
/// A bucket is stored as the time at which it is full; full buckets are not stored. If the table is full, the eighth of the
/// buckets that is nearest to being full is removed. To have an empty bucket removed, an attacker would have to empty seven
/// eighths of the others, which costs thousands of attempts for each attempt gained.
package struct BucketTable<Key: Hashable & Sendable>: Sendable {
    private let burst: Int64
    private let intervalNanoseconds: Int64
    private let capacity: Int
    /// Monotonic time.
    private var fullAt: [Key: Int64] = [:]

    /// - Parameters:
    ///   - burst: tokens of a full bucket.
    ///   - intervalNanoseconds: time in which a token returns.
    ///   - capacity: maximum number of buckets.
    package init(burst: Int64, intervalNanoseconds: Int64, capacity: Int) {
        self.burst = burst
        self.intervalNanoseconds = intervalNanoseconds
        self.capacity = capacity
    }

    package var count: Int { fullAt.count }

    /// Time until a token is available; 0: now.
    /// - Parameter now: monotonic, nanoseconds.
    package func waitNanoseconds(_ key: Key, now: Int64) -> Int64 {
        let missing = max(0, (fullAt[key] ?? now) - now)
        return max(0, missing - (burst - 1) * intervalNanoseconds)
    }

    /// Takes a token, which must be available.
    package mutating func take(_ key: Key, now: Int64) {
        makeRoom(for: key, now: now)
        fullAt[key] = max(now, fullAt[key] ?? now) + intervalNanoseconds
    }

    /// Returns a token.
    package mutating func giveBack(_ key: Key) {
        guard let time = fullAt[key] else { return }
        fullAt[key] = time - intervalNanoseconds
    }

    private mutating func makeRoom(for key: Key, now: Int64) {
        guard fullAt[key] == nil, fullAt.count >= capacity else { return }
        fullAt = fullAt.filter { $0.value > now }
        // Several at once, for a low average cost.
        let kept = capacity - max(1, capacity / 8)
        guard fullAt.count > kept else { return }
        let byTime = fullAt.sorted { $0.value < $1.value }
        for entry in byTime.prefix(byTime.count - kept) { fullAt.removeValue(forKey: entry.key) }
    }
}
