/// Limits the connections on which no agent has been welcomed. A value: it receives events and returns the connections
/// to close.
///
/// libzmq accepts every connection, so an unknown peer could use up all descriptors, including those that recordings
/// need. Two kinds of connection may stay: those on which an agent was welcomed, and those that keep sending clock
/// probes. Every other connection has a deadline, and is the first to be closed when a new connection exceeds the
/// limit.
struct ConnectionLimits<Connection: Sendable>: Sendable {
    /// Connections from one address that have sent nothing, or nothing that led to a Welcome. An agent has two
    /// connections, one of which is silent for a third of a second. Many agents behind one address reconnect together
    /// after a collector restart.
    static var strangersPerOrigin: Int { 256 }
    /// Connections from one address that only send clock probes, beyond one per agent that was or may be welcomed from
    /// there. Some agents probe before they send Hello.
    static var spareClocksPerOrigin: Int { 128 }
    /// Connections on which agents were welcomed, from one address: half of the allowed number of agents. Without keys,
    /// every peer that sends a valid Hello is welcomed. The connection that has been silent longest is closed: another
    /// agent may have taken over its sources.
    static var welcomesPerOrigin: Int { 2_048 }
    /// All unknown peers together may use at most 1/n of the connections, and so may all spare clock connections. The
    /// rest is reserved for agents.
    static var shareOfStrangers: Int { 4 }
    /// A connection that has sent nothing after this time is closed: libzmq gives a handshake 5 s, and agents send Hello within 1
    /// s.
    static var silenceNanoseconds: Int64 { 10_000_000_000 }
    /// A connection that has sent something must be welcomed within this time. An agent whose source is held by another
    /// one waits 2 s; an enrolment waits for the disk.
    static var greetingNanoseconds: Int64 { 30_000_000_000 }
    /// Timeout of a clock connection; agents probe every two seconds.
    static var clockNanoseconds: Int64 { 20_000_000_000 }
    /// Timeout of a welcomed agent. It sends something every second, or within this time at the slowest allowed heartbeat
    /// (`heartbeatMillisecondsRange` and `silentHeartbeats` of the protocol).
    static var welcomeNanoseconds: Int64 { 300_000_000_000 }
    /// If the last check is longer ago than this, the process itself was paused and has not read what peers sent: no connection
    /// counts as silent for that time.
    static var pauseNanoseconds: Int64 { 5_000_000_000 }

    /// The purpose of a connection, as far as it is known.
    private enum Kind: Hashable {
        case silent
        /// It has sent something, and has not been welcomed yet.
        case greeting
        case clock
        case welcome
        /// It is being closed, and only counts towards the total.
        case ending
    }

    private struct Entry {
        var connection: Connection
        var address: String
        var origin: String
        var key: String?
        var kind = Kind.silent
        var since: Int64
        var lastHeard: Int64
        /// Not reported again before this time.
        var namedAt: Int64?
    }

    /// Number of connections of each kind, from one origin or in total.
    private struct Counts {
        var strangers = 0
        var clocks = 0
        var welcome = 0

        /// Clock connections that belong to no welcomed agent and to none that may still be welcomed.
        var spareClocks: Int { max(0, clocks - welcome - strangers) }
        var isEmpty: Bool { strangers == 0 && clocks == 0 && welcome == 0 }

        mutating func add(_ kind: Kind, _ number: Int) {
            switch kind {
            case .silent, .greeting: strangers += number
            case .clock: clocks += number
            case .welcome: welcome += number
            case .ending: break
            }
        }
    }

    enum Reason: Hashable {
        case full(Int)
        /// A newer connection, from the same origin or from anywhere, replaces it.
        case strangersOfOrigin(Int)
        case strangers(Int)
        case sparesOfOrigin(Int)
        case spares(Int)
        case connectionsOfKey(Int)
        case welcomesOfOrigin(Int)
        case silent, notWelcome, clockStopped, quiet

        /// Whether a limit was reached, rather than a deadline or the connection's behaviour.
        var isCapacity: Bool {
            switch self {
            case .full, .strangersOfOrigin, .strangers, .sparesOfOrigin, .spares, .connectionsOfKey,
                .welcomesOfOrigin:
                true
            case .silent, .notWelcome, .clockStopped, .quiet: false
            }
        }
    }

    /// A connection to close. It is tracked until ``closed(_:)`` is called for it.
    struct Ending {
        var connection: Connection
        var address: String
        var reason: Reason
    }

    /// Maximum number of connections.
    let maximumConnections: Int
    private var entries: [Int32: Entry] = [:]
    private var counts: [String: Counts] = [:]
    private var all = Counts()
    private var byKey: [String: Set<Int32>] = [:]
    private var lastLook: Int64?

    init(maximumConnections: Int) {
        self.maximumConnections = maximumConnections
    }

    var count: Int { entries.count }
    private var maximumStrangers: Int { max(1, maximumConnections / Self.shareOfStrangers) }

    /// A connection has been accepted.
    /// - Parameters:
    ///   - address: for log lines.
    ///   - origin: an IPv4 address, or an IPv6 network.
    /// - Returns: the connection to close in its favour; possibly this one.
    mutating func accepted(
        _ descriptor: Int32, _ connection: Connection, from address: String, origin: String,
        now: Int64
    ) -> Ending? {
        _ = closed(descriptor)
        let isFull = entries.count >= maximumConnections
        entries[descriptor] = Entry(
            connection: connection, address: address, origin: origin, since: now, lastHeard: now)
        count(.silent, origin, 1)
        if counts[origin, default: Counts()].strangers > Self.strangersPerOrigin {
            return endOldest(
                .strangersOfOrigin(Self.strangersPerOrigin), of: origin, where: Self.isStranger)
        }
        if all.strangers > maximumStrangers {
            let crowded = counts.max { $0.value.strangers < $1.value.strangers }?.key ?? origin
            return endOldest(.strangers(maximumStrangers), of: crowded, where: Self.isStranger)
        }
        return isFull ? end(descriptor, .full(maximumConnections)) : nil
    }

    /// A connection has sent a clock probe.
    /// - Returns: whether it is the connection's first message, and the connection to close in its favour.
    mutating func askedForTime(_ descriptor: Int32, now: Int64) -> (isNew: Bool, Ending?) {
        guard let entry = entries[descriptor] else { return (false, nil) }
        entries[descriptor]?.lastHeard = now
        guard entry.kind == .silent else { return (false, nil) }
        turn(descriptor, into: .clock)
        return (true, endSpareClock(of: entry.origin))
    }

    private mutating func endSpareClock(of origin: String) -> Ending? {
        if counts[origin, default: Counts()].spareClocks > Self.spareClocksPerOrigin {
            return endOldest(
                .sparesOfOrigin(Self.spareClocksPerOrigin), of: origin,
                where: { $0 == .clock })
        }
        if all.spareClocks > maximumStrangers {
            let crowded = counts.max { $0.value.spareClocks < $1.value.spareClocks }?.key
            return endOldest(
                .spares(maximumStrangers), of: crowded ?? origin, where: { $0 == .clock })
        }
        return nil
    }

    /// A connection has sent something other than a clock probe.
    mutating func spoke(_ descriptor: Int32, now: Int64) {
        guard let entry = entries[descriptor] else { return }
        entries[descriptor]?.lastHeard = now
        guard entry.kind == .silent || entry.kind == .clock else { return }
        turn(descriptor, into: .greeting)
    }

    /// An agent has been welcomed on a connection.
    /// - Returns: the connection to close in its favour: the quietest agent from the same origin.
    @discardableResult
    mutating func welcomed(_ descriptor: Int32) -> Ending? {
        guard let entry = entries[descriptor], entry.kind != .ending else { return nil }
        turn(descriptor, into: .welcome)
        guard counts[entry.origin, default: Counts()].welcome > Self.welcomesPerOrigin else {
            return nil
        }
        let quietest = entries.filter {
            $0.value.origin == entry.origin && $0.value.kind == .welcome && $0.key != descriptor
        }.min { ($0.value.lastHeard, $0.key) < ($1.value.lastHeard, $1.key) }
        return quietest.flatMap { end($0.key, .welcomesOfOrigin(Self.welcomesPerOrigin)) }
    }

    /// A connection has authenticated with a key.
    /// - Parameter limit: how many connections the key may have; the one that has been silent longest is closed to make room.
    mutating func proved(_ descriptor: Int32, key: String, limit: Int) -> Ending? {
        guard entries[descriptor] != nil else { return nil }
        entries[descriptor]?.key = key
        byKey[key, default: []].insert(descriptor)
        let others = (byKey[key] ?? []).filter {
            $0 != descriptor && entries[$0].map { $0.kind != .ending } ?? false
        }
        guard others.count >= limit else { return nil }
        let oldest = others.min { (entries[$0]?.lastHeard ?? 0) < (entries[$1]?.lastHeard ?? 0) }
        return end(oldest ?? descriptor, .connectionsOfKey(limit))
    }

    /// A connection has closed.
    /// - Returns: its address, and whether it never sent anything; nil for an unknown connection.
    mutating func closed(_ descriptor: Int32) -> (address: String, wasSilent: Bool)? {
        guard let entry = entries.removeValue(forKey: descriptor) else { return nil }
        count(entry.kind, entry.origin, -1)
        if let key = entry.key {
            byKey[key]?.remove(descriptor)
            if byKey[key]?.isEmpty == true { byKey.removeValue(forKey: key) }
        }
        return (entry.address, entry.kind == .silent)
    }

    /// Connections whose deadline has passed; call it once a second. A connection that does not close is reported again after the
    /// same interval.
    mutating func overdue(now: Int64) -> [Ending] {
        if let lastLook, now - lastLook >= Self.pauseNanoseconds {
            for descriptor in entries.keys {
                entries[descriptor]?.since += now - lastLook
                entries[descriptor]?.lastHeard += now - lastLook
            }
        }
        lastLook = now
        var overdue: [Ending] = []
        for (descriptor, entry) in entries {
            let (since, patience, reason): (Int64, Int64, Reason) =
                switch entry.kind {
                case .silent: (entry.since, Self.silenceNanoseconds, .silent)
                case .greeting: (entry.since, Self.greetingNanoseconds, .notWelcome)
                case .clock: (entry.lastHeard, Self.clockNanoseconds, .clockStopped)
                case .welcome: (entry.lastHeard, Self.welcomeNanoseconds, .quiet)
                case .ending: (entry.since, Self.silenceNanoseconds, .silent)
                }
            guard now - since >= patience, now - (entry.namedAt ?? since) >= patience else {
                continue
            }
            entries[descriptor]?.namedAt = now
            overdue.append(
                Ending(connection: entry.connection, address: entry.address, reason: reason))
        }
        return overdue
    }

    // MARK: Counting

    private static func isStranger(_ kind: Kind) -> Bool { kind == .silent || kind == .greeting }

    private mutating func endOldest(
        _ reason: Reason, of origin: String, where isMeant: (Kind) -> Bool
    ) -> Ending? {
        let oldest = entries.filter { $0.value.origin == origin && isMeant($0.value.kind) }
            .min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        return oldest.flatMap { end($0.key, reason) }
    }

    private mutating func end(_ descriptor: Int32, _ reason: Reason) -> Ending? {
        guard let entry = entries[descriptor] else { return nil }
        turn(descriptor, into: .ending)
        return Ending(connection: entry.connection, address: entry.address, reason: reason)
    }

    private mutating func turn(_ descriptor: Int32, into kind: Kind) {
        guard let entry = entries[descriptor] else { return }
        count(entry.kind, entry.origin, -1)
        count(kind, entry.origin, 1)
        entries[descriptor]?.kind = kind
    }

    private mutating func count(_ kind: Kind, _ origin: String, _ number: Int) {
        all.add(kind, number)
        counts[origin, default: Counts()].add(kind, number)
        if counts[origin]?.isEmpty == true { counts.removeValue(forKey: origin) }
    }
}

extension ConnectionLimits.Reason: CustomStringConvertible {
    var description: String {
        switch self {
        case .full(let limit):
            "refused a connection: \(limit) are open, the most allowed"
        case .strangersOfOrigin(let limit):
            "closed the oldest of \(limit + 1) connections from this address without a Welcome: \(limit) are allowed"
        case .strangers(let limit):
            "closed the oldest of \(limit + 1) connections without a Welcome: \(limit) are allowed in all"
        case .sparesOfOrigin(let limit):
            "closed a clock connection: \(limit) from this address belong to no agent, the most allowed"
        case .spares(let limit):
            "closed a clock connection: \(limit) belong to no agent, the most allowed in all"
        case .connectionsOfKey(let limit):
            "closed the quietest connection of a key with more than \(limit), the most allowed for its sources"
        case .welcomesOfOrigin(let limit):
            "closed the quietest of more than \(limit) agents from this address, the most allowed"
        case .silent: "closed a connection that sent nothing"
        case .notWelcome: "closed a connection that was not welcomed in time"
        case .clockStopped: "closed a clock connection that has stopped sending probes"
        case .quiet: "closed a connection whose agent has stopped sending"
        }
    }
}
