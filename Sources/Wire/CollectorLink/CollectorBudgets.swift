/// Limits on what one agent may make the collector keep, open and write. Each is far above the needs of a legitimate
/// agent, and so small that an agent that exhausts it does not affect others.
package struct CollectorBudgets: Hashable, Sendable {
    /// Memory overhead of a sample until it is written: its planned times and flags.
    package static let sampleCostBytes = 128
    /// Memory of a record without a payload until it is durable: its ledger line, in the queue and in the file's
    /// buffer.
    package static let recordMemoryBytes = 1_024

    /// Maximum memory of one connection's records, bytes. Credit keeps a legitimate agent far below it. It limits
    /// samples of a few bytes, which cost little credit and much memory.
    package var connectionMemoryBytes: UInt64 = 48 << 20
    /// Maximum credit of all sources of one connection together, bytes.
    package var connectionWindowBytes: UInt64 = 32 << 20
    /// Hellos of one source, each of which is a line in its ledger and in the log: an agent that competes with others for a
    /// source reconnects every two seconds.
    package var greetings = Rate(perSecond: 2, burst: 32)
    /// New sources of one key (without keys: of one address): each is a directory, a file and a line in the session's
    /// description. A site of a thousand sources with one key is admitted within a minute.
    package var newSources = Rate(perSecond: 20, burst: 256)

    /// The same over days: a burst of the maximum number, and then one a minute. A session keeps all its sources until
    /// it ends.
    package var everySource = Rate(nanosecondsEach: 60_000_000_000, burst: 16_384)

    /// A rate limit.
    package struct Rate: Hashable, Sendable {
        package var nanosecondsEach: Int64
        package var burst: Int64

        package init(perSecond: Int64, burst: Int64) {
            self.init(nanosecondsEach: 1_000_000_000 / perSecond, burst: burst)
        }

        package init(nanosecondsEach: Int64, burst: Int64) {
            self.nanosecondsEach = nanosecondsEach
            self.burst = burst
        }

        /// The rate for log lines.
        var perSecond: Int64 { 1_000_000_000 / nanosecondsEach }
    }

    package init() {}

    /// No limits: simulations use it to demonstrate the damage.
    package static var unlimited: CollectorBudgets {
        var budgets = CollectorBudgets()
        budgets.connectionMemoryBytes = .max
        budgets.connectionWindowBytes = .max
        budgets.greetings = Rate(perSecond: 1_000_000_000, burst: 1 << 40)
        budgets.newSources = Rate(perSecond: 1_000_000_000, burst: 1 << 40)
        budgets.everySource = Rate(perSecond: 1_000_000_000, burst: 1 << 40)
        return budgets
    }
}

/// Token buckets by key, bounded in number: the least recently used ones are dropped, and are full when they are used again.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    /// Enough for every agent of a large site.
    private static var maximumBuckets: Int { 8_192 }

    private var buckets: [Key: (bucket: TokenBucket, used: Int64)] = [:]
    let rate: CollectorBudgets.Rate

    init(_ rate: CollectorBudgets.Rate) {
        self.rate = rate
    }

    /// Uses this many tokens if there is at least one, possibly into debt: then there is none for a while. False when
    /// there is none.
    mutating func take(_ key: Key, _ count: Int64, now: Int64) -> Bool {
        var entry =
            buckets.removeValue(forKey: key)
            ?? (
                TokenBucket(nanosecondsEach: rate.nanosecondsEach, burst: rate.burst, now: now), now
            )
        if buckets.count >= Self.maximumBuckets { forgetHalf() }
        entry.used = now
        defer { buckets[key] = entry }
        return entry.bucket.take(count, now: now)
    }

    /// Drops half of them together, so that invented keys do not each cause a search.
    private mutating func forgetHalf() {
        let times = buckets.values.map(\.used).sorted()
        let middle = times[times.count / 2]
        buckets = buckets.filter { $0.value.used > middle }
    }
}

/// Received records without a payload that are not durable, with their costs. A gap or a change of format has no bytes
/// that credit would count, and stays in memory like any other record until it is written.
struct UnpersistedRecords: Hashable, Sendable {
    private struct Step: Hashable {
        var through: UInt64
        var costBytes: UInt64
    }

    /// In the order of their numbers; those before `first` have been removed.
    private var steps: [Step] = []
    private var first = 0
    private(set) var costBytes: UInt64 = 0

    /// A record was taken in.
    mutating func add(_ sequence: UInt64, costBytes cost: UInt64) {
        steps.append(Step(through: sequence, costBytes: cost))
        costBytes += cost
    }

    /// Everything up to a record is durable.
    mutating func persist(through sequence: UInt64) {
        while first < steps.count, steps[first].through <= sequence {
            costBytes -= steps[first].costBytes
            first += 1
        }
        if first == steps.count {
            steps.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 >= steps.count {
            steps.removeFirst(first)
            first = 0
        }
    }

    /// The records are no longer in memory.
    mutating func forget() { self = UnpersistedRecords() }
}
