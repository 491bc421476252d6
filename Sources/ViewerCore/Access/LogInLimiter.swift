/// Limits guessing: failed log-ins by address and by name. A value that is told the time.
///
/// An attempt takes its tokens before the password is verified, so that parallel attempts gain nothing. A log-in that succeeds
/// gets its own tokens back and no others: the owner of one account cannot guess for another one without limit.
struct LogInLimiter: Sendable {
    /// Buckets of each kind that are remembered.
    static let maximumBuckets = 10_000
    private static let second: Int64 = 1_000_000_000

    private var networks: BucketTable<RemoteNetwork>
    private var names: BucketTable<String>

    init() {
        networks = BucketTable(
            burst: 10, intervalNanoseconds: 6 * Self.second, capacity: Self.maximumBuckets)
        names = BucketTable(
            burst: 5, intervalNanoseconds: 12 * Self.second, capacity: Self.maximumBuckets)
    }

    /// Begins an attempt.
    /// - Parameters:
    ///   - name: nil: a token, or what cannot be a name.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: how many seconds to wait, and nothing is counted; nil: it may go on.
    mutating func begin(_ name: String?, from network: RemoteNetwork, now: Int64) -> Int? {
        var wait = networks.waitNanoseconds(network, now: now)
        if let name { wait = max(wait, names.waitNanoseconds(name, now: now)) }
        guard wait == 0 else { return Int((wait + Self.second - 1) / Self.second) }
        networks.take(network, now: now)
        if let name { names.take(name, now: now) }
        return nil
    }

    /// An attempt has succeeded, or was not made.
    mutating func giveBack(_ name: String?, from network: RemoteNetwork) {
        networks.giveBack(network)
        if let name { names.giveBack(name) }
    }
}
