import Wire

/// Limits the connections of viewers on other machines. A value: it receives events and returns the connections to
/// close.
///
/// A viewer sends only subscriptions and heartbeats. libzmq keeps a tree of all subscriptions, bounds neither it nor
/// the parts of a message, and delivers only whole messages. So connections are limited, subscriptions are counted, and
/// the bytes that a connection and a key send are rate-limited. A viewer that is closed for a limit reconnects with its
/// current subscriptions.
struct WatcherConnections<Connection: Sendable>: Sendable {
    /// Viewers are few; each serves any number of people.
    static var maximumConnections: Int { 32 }
    /// Per key: a viewer, and the one that it replaces.
    static var connectionsPerKey: Int { 4 }
    /// Connections per origin that have not subscribed yet. An unauthenticated peer cannot subscribe, so it never uses
    /// up the connections of others.
    static var silentPerOrigin: Int { 8 }
    /// Simultaneous subscriptions per connection: one for each of a thousand sources, and a reserve.
    static var maximumTopics: Int { 1_200 }
    /// Subscriptions over a connection's life: a wall of 64 sources opened 30 times, and at most 25 MB of libzmq's
    /// memory.
    static var maximumSubscriptions: Int { 4_096 }
    /// Bytes per second, and the burst: opening a wall of 64 sources sends 20 kB, a heartbeat has 60 bytes.
    static var bytesPerSecond: Int64 { 16 << 10 }
    static var burstBytes: Int64 { 256 << 10 }
    /// Interval between checks for slow readers.
    static var readingNanoseconds: Int64 { 1_000_000_000 }
    /// From the TCP connection to the first subscription; the handshake has three round trips, and viewers subscribe
    /// immediately.
    static var silenceNanoseconds: Int64 { 10_000_000_000 }

    private struct Entry {
        var connection: Connection
        /// An address, or an IPv6 network.
        var origin: String
        var since: Int64
        /// `nil` until it subscribes.
        var watcher: Watcher?
        var topics: Set<[UInt8]> = []
        var subscriptions = 0
        /// Bytes that it had read at the last check, and since the check before.
        var takenBytes: Int64 = 0
        var lastTakenBytes: Int64 = 0
        /// Bytes that it had sent at the last check.
        var readBytes: Int64 = 0
        var bytes: TokenBucket
    }

    /// A subscriber's key, as text; nil where keys are not in use.
    private struct Watcher: Hashable {
        var key: String?
    }

    /// Why a connection is closed.
    enum Reason: Hashable, CustomStringConvertible {
        case full(Int)
        case silentOfOrigin(Int)
        case connectionsOfKey(Int)
        case topics(Int)
        case subscriptions(Int)
        case doesNotRead
        case notASubscription
        case tooMuch
        case silent
        case notAllowed

        var description: String {
            switch self {
            case .full(let limit):
                "closed a viewer's connection: \(limit) are open, the most allowed"
            case .silentOfOrigin(let limit):
                "closed a connection: more than \(limit) from its address have not subscribed"
            case .connectionsOfKey(let limit):
                "closed the oldest viewer's connection of a key with more than \(limit), the most allowed"
            case .topics(let limit):
                "closed a viewer's connection with more than \(limit) subscriptions, the most allowed"
            case .doesNotRead:
                "closed the viewer's connection that reads least: what it does not read keeps samples from all viewers"
            case .subscriptions(let limit):
                "closed a viewer's connection after \(limit) subscriptions; it may connect again"
            case .notASubscription:
                "closed a viewer's connection that sent something other than subscriptions"
            case .tooMuch: "closed a viewer's connection that sent too much"
            case .silent: "closed a viewer's connection that did not subscribe in time"
            case .notAllowed: "closed a viewer's connection: its key may not watch any more"
            }
        }
    }

    /// A connection to close. It is forgotten immediately; messages that still arrive are ignored.
    struct Ending {
        var connection: Connection
        var reason: Reason
    }

    /// A subscription, or its end.
    struct Change: Hashable, Sendable {
        var topic: [UInt8]
        var isWanted: Bool
    }

    private var entries: [Int32: Entry] = [:]
    private var hasSubscribed = false
    /// The rate limit of each key, over all its connections, past ones included; bounded by the number of keys with the
    /// right to watch.
    private var keys: [String: TokenBucket] = [:]
    private var lastReading: Int64 = 0

    var count: Int { entries.count }
    var connections: [(descriptor: Int32, connection: Connection)] {
        entries.map { ($0.key, $0.value.connection) }
    }

    subscript(descriptor: Int32) -> Connection? { entries[descriptor]?.connection }

    /// A connection has been accepted.
    /// - Returns: the connection to close in its favour: the oldest that has not subscribed; possibly this one.
    mutating func accepted(
        _ descriptor: Int32, _ connection: Connection, from origin: String, now: Int64
    ) -> Ending? {
        entries[descriptor] = Entry(
            connection: connection, origin: origin, since: now,
            bytes: TokenBucket(
                perSecond: Self.bytesPerSecond, burst: Self.burstBytes, now: now))
        let silent = entries.filter { $0.value.watcher == nil }
        let own = silent.filter { $0.value.origin == origin }
        if own.count > Self.silentPerOrigin {
            return end(Self.oldest(own) ?? descriptor, .silentOfOrigin(Self.silentPerOrigin))
        }
        guard entries.count > Self.maximumConnections else { return nil }
        // From the origin with the most of them.
        let others = silent.filter { $0.key != descriptor }
        let counts = Dictionary(others.values.map { ($0.origin, 1) }, uniquingKeysWith: +)
        let most = counts.values.max()
        let crowd = others.filter { counts[$0.value.origin] == most }
        return end(Self.oldest(crowd) ?? descriptor, .full(Self.maximumConnections))
    }

    private static func oldest(_ entries: [Int32: Entry]) -> Int32? {
        entries.min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }?.key
    }

    /// A connection has sent a message.
    /// - Parameters:
    ///   - key: the key that it has authenticated with; nil where keys are not in use.
    ///   - change: nil if it is not a subscription.
    /// - Returns: the connection to close: this one, or the oldest of its key.
    mutating func sent(
        _ descriptor: Int32, key: String?, _ change: Change?, now: Int64
    ) -> Ending? {
        guard var entry = entries[descriptor] else { return nil }
        guard let change else { return end(descriptor, .notASubscription) }
        if let watcher = entry.watcher, watcher.key != key {
            // A message of the previous connection with this descriptor was still queued.
            entry.topics = []
            entry.subscriptions = 0
        }
        let isNew = entry.watcher?.key != key || entry.watcher == nil
        if isNew { hasSubscribed = true }
        entry.watcher = Watcher(key: key)
        entry.subscriptions += 1
        if change.isWanted {
            entry.topics.insert(change.topic)
        } else {
            entry.topics.remove(change.topic)
        }
        entries[descriptor] = entry
        guard entry.subscriptions <= Self.maximumSubscriptions else {
            return end(descriptor, .subscriptions(Self.maximumSubscriptions))
        }
        guard entry.topics.count <= Self.maximumTopics else {
            return end(descriptor, .topics(Self.maximumTopics))
        }
        guard let key, isNew else { return nil }
        // Charges the bytes that arrived before the key was known.
        if !mayCharge(entry.readBytes, to: key, now: now) { return end(descriptor, .tooMuch) }
        let own = entries.filter { $0.value.watcher?.key == key }
        guard own.count > Self.connectionsPerKey else { return nil }
        return Self.oldest(own).flatMap {
            end($0, .connectionsOfKey(Self.connectionsPerKey))
        }
    }

    /// - Returns: false: the connections of the key send too much.
    private mutating func mayCharge(_ bytes: Int64, to key: String, now: Int64) -> Bool {
        let count = Int64(Self.connectionsPerKey)
        return keys[
            key,
            default: TokenBucket(
                perSecond: count * Self.bytesPerSecond, burst: count * Self.burstBytes, now: now)
        ].take(bytes, now: now)
    }

    /// Updates the total bytes read from a connection since it was accepted.
    mutating func read(_ descriptor: Int32, total: Int, now: Int64) -> Ending? {
        guard let entry = entries[descriptor] else { return nil }
        let grown = Int64(total) - entry.readBytes
        guard grown > 0 else { return nil }
        entries[descriptor]?.readBytes = Int64(total)
        var isAllowed = entries[descriptor]?.bytes.take(grown, now: now) ?? true
        if let key = entry.watcher?.key {
            isAllowed = mayCharge(grown, to: key, now: now) && isAllowed
        }
        return isAllowed ? nil : end(descriptor, .tooMuch)
    }

    /// Updates the total bytes read by each viewer. If the queue is crowded, the viewer that reads least is closed, one
    /// per second: libzmq keeps its unread messages, and all viewers share one budget.
    /// - Parameter isCrowded: whether the queue is crowded.
    mutating func taken(_ total: [Int32: Int], isCrowded: Bool, now: Int64) -> Ending? {
        guard now - lastReading >= Self.readingNanoseconds else { return nil }
        lastReading = now
        for (descriptor, total) in total {
            guard let before = entries[descriptor]?.takenBytes else { continue }
            entries[descriptor]?.lastTakenBytes = Int64(total) - before
            entries[descriptor]?.takenBytes = Int64(total)
        }
        // A single viewer does not slow down others.
        let watching = entries.filter { $0.value.watcher != nil }
        guard isCrowded, watching.count > 1 else { return nil }
        let least = watching.min {
            ($0.value.lastTakenBytes, $0.key) < ($1.value.lastTakenBytes, $1.key)
        }
        return least.flatMap { end($0.key, .doesNotRead) }
    }

    /// Connections that have not subscribed in time.
    mutating func overdue(now: Int64) -> [Ending] {
        let late = entries.filter {
            $0.value.watcher == nil && now - $0.value.since >= Self.silenceNanoseconds
        }
        return late.keys.sorted().compactMap { end($0, .silent) }
    }

    /// Whether connections have subscribed for the first time since the last call.
    mutating func hasNewWatcher() -> Bool {
        defer { hasSubscribed = false }
        return hasSubscribed
    }

    /// Connections whose key has lost the right to watch.
    mutating func disallowed(_ mayWatch: (String) -> Bool) -> [Ending] {
        let ended = entries.filter { $0.value.watcher?.key.map { !mayWatch($0) } ?? false }
        return ended.keys.sorted().compactMap { end($0, .notAllowed) }
    }

    mutating func closed(_ descriptor: Int32) { entries.removeValue(forKey: descriptor) }

    private mutating func end(_ descriptor: Int32, _ reason: Reason) -> Ending? {
        entries.removeValue(forKey: descriptor).map {
            Ending(connection: $0.connection, reason: reason)
        }
    }
}
