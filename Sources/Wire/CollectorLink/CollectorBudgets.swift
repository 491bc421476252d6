/// What one agent may have the collector keep, open and write down. Each is far more than an honest agent needs, and so little that
/// whoever uses it up hurts nobody else.
package struct CollectorBudgets: Hashable, Sendable {
    /// Bytes of memory that a sample costs until it is written, besides its own: its times and flags, planned.
    package static let sampleCostBytes = 128
    /// Bytes of memory that a record without a payload costs until it is durable: its line for the ledger, on the way and in the
    /// file's buffer.
    package static let recordCostBytes = 1_024

    /// Bytes that one connection's records may have in memory. Credit holds an honest agent far below it; samples of a few bytes,
    /// which cost little credit and much memory, are stopped here.
    package var connectionMemoryBytes: UInt64 = 48 << 20
    /// Bytes of credit that all sources of one connection have together.
    package var connectionWindowBytes: UInt64 = 32 << 20
    /// Greetings of one source, each of which is a line in its ledger and in the log: an agent in bad company comes back every
    /// two seconds.
    package var greetings = Rate(perSecond: 2, burst: 32)
    /// Sources that the collector does not know yet, of one key (without keys: of one address): each is a directory, a file and a line
    /// in the session's description. A site of a thousand sources with one key is there within a minute.
    package var newSources = Rate(perSecond: 20, burst: 256)

    /// The same over days: as many at once as there may be in all, and then one a minute. A session keeps what it has seen until it ends.
    package var everySource = Rate(nanosecondsEach: 60_000_000_000, burst: 16_384)

    /// How often something may happen.
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

        /// For people.
        var perSecond: Int64 { 1_000_000_000 / nanosecondsEach }
    }

    package init() {}

    /// No budget at all: what a simulation shows to be harmful.
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

/// Token buckets by key, bounded in number: those that were used longest ago are forgotten, and begin full when they come again.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    /// Enough for every agent of a large site.
    private static var maximumBuckets: Int { 8_192 }

    private var buckets: [Key: (bucket: TokenBucket, used: Int64)] = [:]
    let rate: CollectorBudgets.Rate

    init(_ rate: CollectorBudgets.Rate) {
        self.rate = rate
    }

    /// Takes so many tokens if there is one, perhaps more than there are: then none is to be had for a while. False when there is none.
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

    /// Many at once: whoever invents keys must not have all of them looked at for each.
    private mutating func forgetHalf() {
        let times = buckets.values.map(\.used).sorted()
        let middle = times[times.count / 2]
        buckets = buckets.filter { $0.value.used > middle }
    }
}

/// Records without a payload that have been taken in and are not durable, with what they cost: a gap or a change of format has no bytes
/// that credit would count, and stays in memory like any other until it is written down.
struct UnpersistedRecords: Hashable, Sendable {
    private struct Step: Hashable {
        var through: UInt64
        var costBytes: UInt64
    }

    /// In the order of their numbers; what is in front of `first` has gone.
    private var steps: [Step] = []
    private var first = 0
    private(set) var costBytes: UInt64 = 0

    /// A record has been taken in.
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

    /// They are not in memory any more.
    mutating func forget() { self = UnpersistedRecords() }
}
