/// Token buckets by key: so many attempts at once, and one more after each interval.
///
/// A bucket is one number, the time at which it is full again; a full one needs no place. Where there is no place left, the
/// eighth of the buckets is forgotten that is nearest to being full. To have an empty one forgotten, an attacker would have to empty
/// seven eighths of the others: thousands of attempts for each attempt that this gains.
package struct BucketTable<Key: Hashable & Sendable>: Sendable {
    private let burst: Int64
    private let intervalNanoseconds: Int64
    private let capacity: Int
    /// Monotonic time.
    private var fullAt: [Key: Int64] = [:]

    /// - Parameters:
    ///   - burst: how many tokens a full bucket has.
    ///   - intervalNanoseconds: after which a token comes back.
    ///   - capacity: how many buckets are remembered.
    package init(burst: Int64, intervalNanoseconds: Int64, capacity: Int) {
        self.burst = burst
        self.intervalNanoseconds = intervalNanoseconds
        self.capacity = capacity
    }

    package var count: Int { fullAt.count }

    /// How long until there is a token; 0: there is one.
    /// - Parameter now: monotonic, nanoseconds.
    package func waitNanoseconds(_ key: Key, now: Int64) -> Int64 {
        let missing = max(0, (fullAt[key] ?? now) - now)
        return max(0, missing - (burst - 1) * intervalNanoseconds)
    }

    /// Takes a token; to be called when there is one.
    package mutating func take(_ key: Key, now: Int64) {
        makeRoom(for: key, now: now)
        fullAt[key] = max(now, fullAt[key] ?? now) + intervalNanoseconds
    }

    /// Gives a token back.
    package mutating func giveBack(_ key: Key) {
        guard let time = fullAt[key] else { return }
        fullAt[key] = time - intervalNanoseconds
    }

    private mutating func makeRoom(for key: Key, now: Int64) {
        guard fullAt[key] == nil, fullAt.count >= capacity else { return }
        fullAt = fullAt.filter { $0.value > now }
        // Several at once, so that one costs little on average.
        let kept = capacity - max(1, capacity / 8)
        guard fullAt.count > kept else { return }
        let byTime = fullAt.sorted { $0.value < $1.value }
        for entry in byTime.prefix(byTime.count - kept) { fullAt.removeValue(forKey: entry.key) }
    }
}
