/// Limits password guessing by counting failed log-ins per address, per address and name, and per name. A value; the caller
/// passes the time.
///
/// The first two limits refuse, because addresses cannot be chosen freely. Names can: failures from elsewhere must not lock an
/// account's owner out. A name with many failures is verified slowly (``SlowLanes``), and never refused; networks from which
/// it has been logged in to are not slowed.
///
/// An attempt takes its tokens before the password is verified, so that parallel attempts gain nothing. A successful log-in
/// gets only its own tokens back: the owner of one account cannot guess another one's password without limit.
package struct LogInLimiter: Sendable {
    /// An attempt in progress, with its tokens.
    package struct Attempt: Hashable, Sendable {
        /// Nil for an access token, or an invalid name.
        package let name: String?
        package let network: RemoteNetwork
        /// The name is guessed from many addresses: the attempt waits for its turn in ``SlowLanes``.
        package let isSlow: Bool
        /// Whether a token was taken from the name's bucket.
        fileprivate let tookFromName: Bool
    }

    package enum Beginning: Hashable, Sendable {
        case begun(Attempt)
        /// Nothing is counted.
        case refused(seconds: Int)
    }

    private struct NameFromNetwork: Hashable, Sendable {
        let name: String
        let network: RemoteNetwork
    }

    /// Buckets of each kind that are remembered.
    package static let maximumBuckets = 10_000
    /// Failures of a name, from all addresses, after which it is verified slowly: more than its owner needs for mistakes.
    package static let maximumOfName: Int64 = 20
    private static let second: Int64 = 1_000_000_000

    private var networks: BucketTable<RemoteNetwork>
    private var pairs: BucketTable<NameFromNetwork>
    private var names: BucketTable<String>
    private var known = KnownNetworks()

    package init() {
        networks = BucketTable(
            burst: 10, intervalNanoseconds: 6 * Self.second, capacity: Self.maximumBuckets)
        pairs = BucketTable(
            burst: 5, intervalNanoseconds: 12 * Self.second, capacity: Self.maximumBuckets)
        names = BucketTable(
            burst: Self.maximumOfName, intervalNanoseconds: 12 * Self.second,
            capacity: Self.maximumBuckets)
    }

    /// Starts an attempt.
    /// - Parameters:
    ///   - name: nil for an access token, or an invalid name.
    ///   - now: monotonic, nanoseconds.
    package mutating func begin(_ name: String?, from network: RemoteNetwork, now: Int64)
        -> Beginning
    {
        let pair = name.map { NameFromNetwork(name: $0, network: network) }
        var wait = networks.waitNanoseconds(network, now: now)
        if let pair { wait = max(wait, pairs.waitNanoseconds(pair, now: now)) }
        guard wait == 0 else {
            return .refused(seconds: Int((wait + Self.second - 1) / Self.second))
        }
        networks.take(network, now: now)
        if let pair { pairs.take(pair, now: now) }
        guard let name, !known.contains(network, of: name) else {
            return .begun(
                Attempt(name: name, network: network, isSlow: false, tookFromName: false))
        }
        let isSlow = names.waitNanoseconds(name, now: now) > 0
        if !isSlow { names.take(name, now: now) }
        return .begun(
            Attempt(name: name, network: network, isSlow: isSlow, tookFromName: !isSlow))
    }

    /// An attempt was not made.
    package mutating func giveBack(_ attempt: Attempt) {
        networks.giveBack(attempt.network)
        guard let name = attempt.name else { return }
        pairs.giveBack(NameFromNetwork(name: name, network: attempt.network))
        if attempt.tookFromName { names.giveBack(name) }
    }

    /// An attempt has succeeded.
    package mutating func succeeded(_ attempt: Attempt) {
        giveBack(attempt)
        if let name = attempt.name { known.add(attempt.network, of: name) }
    }
}
