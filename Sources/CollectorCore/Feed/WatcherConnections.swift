import Wire

/// Limits what viewers on other machines may cost the collector. A value: it receives events and returns the connections to close.
///
/// A viewer sends subscriptions and heartbeats, and nothing else. libzmq keeps a tree of all subscriptions, bounds neither it nor the
/// parts of a message, and gives out only whole messages: so connections are limited, subscriptions are counted, and the bytes that a
/// connection sends have a rate. A viewer that is closed for a limit connects again with what it wants at that time.
struct WatcherConnections<Connection: Sendable>: Sendable {
    /// Viewers are few; each serves any number of people.
    static var maximumConnections: Int { 32 }
    /// Of one key: a viewer, and the one that it replaces.
    static var connectionsPerKey: Int { 4 }
    /// Subscriptions of one connection over its life: 30 times a wall of 64 sources, and 25 MB of libzmq's memory at most.
    static var maximumSubscriptions: Int { 4_096 }
    /// Bytes a second, and the burst: a wall of 64 sources that opens sends 20 kB, a heartbeat has 60 bytes.
    static var bytesPerSecond: Int64 { 16 << 10 }
    static var burstBytes: Int64 { 256 << 10 }
    /// From the TCP connection to the first subscription; the handshake has three round trips, and viewers subscribe at once.
    static var silenceNanoseconds: Int64 { 10_000_000_000 }

    private struct Entry {
        var connection: Connection
        var since: Int64
        /// Nil: it has not subscribed yet.
        var watcher: Watcher?
        var subscriptions = 0
        /// Bytes that it had sent at the last look.
        var readBytes: Int64 = 0
        var bytes: TokenBucket
    }

    /// Who has subscribed: the key, as text; nil where keys are not in use.
    private struct Watcher: Hashable {
        var key: String?
    }

    /// Why a connection is closed.
    enum Reason: Hashable, CustomStringConvertible {
        case full(Int)
        case connectionsOfKey(Int)
        case subscriptions(Int)
        case notASubscription
        case tooMuch
        case silent
        case notAllowed

        /// The text for the log.
        var description: String {
            switch self {
            case .full(let limit):
                "closed a viewer's connection: \(limit) are open, the most allowed"
            case .connectionsOfKey(let limit):
                "closed the oldest viewer's connection of a key with more than \(limit), the most allowed"
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

    /// A connection to close. It is forgotten at once; what it still sends is ignored.
    struct Ending {
        var connection: Connection
        var reason: Reason
    }

    private var entries: [Int32: Entry] = [:]
    private var hasSubscribed = false

    /// Open connections.
    var count: Int { entries.count }
    /// The connections by descriptor.
    var connections: [(descriptor: Int32, connection: Connection)] {
        entries.map { ($0.key, $0.value.connection) }
    }

    /// A connection has been accepted.
    /// - Returns: the connection to close in its favour: the oldest that has not subscribed; possibly this one.
    mutating func accepted(
        _ descriptor: Int32, _ connection: Connection, now: Int64
    ) -> Ending? {
        entries[descriptor] = Entry(
            connection: connection, since: now,
            bytes: TokenBucket(
                perSecond: Self.bytesPerSecond, burst: Self.burstBytes, now: now))
        guard entries.count > Self.maximumConnections else { return nil }
        let silent = entries.filter { $0.value.watcher == nil && $0.key != descriptor }
        let oldest = silent.min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        return end(oldest?.key ?? descriptor, .full(Self.maximumConnections))
    }

    /// A connection has sent a message.
    /// - Parameter key: what it has authenticated with; nil where keys are not in use.
    /// - Returns: the connection to close: this one, or the oldest of its key.
    mutating func sent(
        _ descriptor: Int32, key: String?, isSubscription: Bool
    ) -> Ending? {
        guard entries[descriptor] != nil else { return nil }
        guard isSubscription else { return end(descriptor, .notASubscription) }
        if entries[descriptor]?.watcher == nil { hasSubscribed = true }
        entries[descriptor]?.watcher = Watcher(key: key)
        entries[descriptor]?.subscriptions += 1
        guard entries[descriptor]?.subscriptions ?? 0 <= Self.maximumSubscriptions else {
            return end(descriptor, .subscriptions(Self.maximumSubscriptions))
        }
        guard let key else { return nil }
        let own = entries.filter { $0.value.watcher?.key == key }
        guard own.count > Self.connectionsPerKey else { return nil }
        let oldest = own.min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        return oldest.flatMap { end($0.key, .connectionsOfKey(Self.connectionsPerKey)) }
    }

    /// So many bytes have been read from a connection since it was accepted.
    mutating func read(_ descriptor: Int32, total: Int, now: Int64) -> Ending? {
        guard let entry = entries[descriptor] else { return nil }
        let grown = Int64(total) - entry.readBytes
        guard grown > 0 else { return nil }
        entries[descriptor]?.readBytes = Int64(total)
        let isAllowed = entries[descriptor]?.bytes.take(grown, now: now) ?? true
        return isAllowed ? nil : end(descriptor, .tooMuch)
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

    /// Connections whose key may not watch any more.
    mutating func disallowed(_ mayWatch: (String) -> Bool) -> [Ending] {
        let ended = entries.filter { $0.value.watcher?.key.map { !mayWatch($0) } ?? false }
        return ended.keys.sorted().compactMap { end($0, .notAllowed) }
    }

    /// A connection has closed.
    mutating func closed(_ descriptor: Int32) { entries.removeValue(forKey: descriptor) }

    private mutating func end(_ descriptor: Int32, _ reason: Reason) -> Ending? {
        entries.removeValue(forKey: descriptor).map {
            Ending(connection: $0.connection, reason: reason)
        }
    }
}
