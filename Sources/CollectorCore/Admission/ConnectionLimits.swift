/// Bounds what connections may cost until an agent has been welcomed on them: a value that is told what happens, and says
/// which connections to end.
///
/// libzmq accepts whoever comes. A stranger could so use up every descriptor, and with them the files that recordings
/// need. A connection that is here to stay is one of two kinds: an agent was welcomed on it, or it asks for the time again and
/// again. Every other has a deadline, and its place is the first to be given to a newcomer.
struct ConnectionLimits<Connection: Sendable>: Sendable {
    /// Connections from one address that have said nothing, or nothing that was welcome: an agent has two, of which one is silent
    /// for a third of a second. Many agents behind one address come back at once when a collector was restarted.
    static var strangersPerOrigin: Int { 256 }
    /// Connections from one address that only ask for the time, beyond one for each agent that was or may be welcomed from there: some
    /// agents ask before they greet.
    static var spareClocksPerOrigin: Int { 128 }
    /// Connections on which agents were welcomed, from one address: half of the agents that there may be. Without keys, whoever greets is
    /// welcome, and those whose sources somebody else has by now are the quietest.
    static var welcomesPerOrigin: Int { 2_048 }
    /// All strangers together have one in so many places, and so have all spare clocks: agents always find some.
    static var shareOfStrangers: Int { 4 }
    /// After this time a connection has said something: libzmq gives a handshake 5 s, and agents speak within one.
    static var silenceNanoseconds: Int64 { 10_000_000_000 }
    /// After this time who has said something is welcome, or is not: whose source another one holds waits 2 s, whose key is to be
    /// enrolled for the disk.
    static var greetingNanoseconds: Int64 { 30_000_000_000 }
    /// A connection that asks for the time does so every two seconds.
    static var clockNanoseconds: Int64 { 20_000_000_000 }
    /// A welcomed agent says something every second, and after this time at the slowest pace that there is (`heartbeatMillisecondsRange` and
    /// `silentHeartbeats` of the protocol).
    static var welcomeNanoseconds: Int64 { 300_000_000_000 }
    /// Who looks so late has stood still, and has not heard what others said: nobody has been silent for that time.
    static var pauseNanoseconds: Int64 { 5_000_000_000 }

    /// What a connection is for, as far as it has said so.
    private enum Kind: Hashable {
        case silent
        /// It has said something, and nobody has welcomed it yet.
        case greeting
        case clock
        case welcome
        /// It has been told to end, and counts for nothing but its place.
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
        /// Not named again before.
        var namedAt: Int64?
    }

    /// How many connections are what, of one origin or of all.
    private struct Counts {
        var strangers = 0
        var clocks = 0
        var welcome = 0

        /// Clocks that belong to no agent, and to none that is about to be one.
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

    /// Why a connection must end.
    enum Reason: Hashable {
        case full(Int)
        /// Somebody newer from the same place, or from anywhere, has its place.
        case strangersOfOrigin(Int)
        case strangers(Int)
        case sparesOfOrigin(Int)
        case spares(Int)
        case connectionsOfKey(Int)
        case welcomesOfOrigin(Int)
        case silent, notWelcome, clockStopped, quiet

        /// Whether it is for want of room, not for what the connection did.
        var isForRoom: Bool {
            switch self {
            case .full, .strangersOfOrigin, .strangers, .sparesOfOrigin, .spares, .connectionsOfKey,
                .welcomesOfOrigin:
                true
            case .silent, .notWelcome, .clockStopped, .quiet: false
            }
        }
    }

    /// A connection that must end. It is forgotten when ``closed(_:)`` says so.
    struct Ending {
        var connection: Connection
        var address: String
        var reason: Reason
    }

    /// How many there may be in all.
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
    ///   - address: for people.
    ///   - origin: what counts as one place: an IPv4 address, or an IPv6 network.
    /// - Returns: who must end for it; perhaps itself.
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

    /// A connection has asked for the time.
    /// - Returns: whether that is the first that it says, and who must end then.
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

    /// A connection has said something else.
    mutating func spoke(_ descriptor: Int32, now: Int64) {
        guard let entry = entries[descriptor] else { return }
        entries[descriptor]?.lastHeard = now
        guard entry.kind == .silent || entry.kind == .clock else { return }
        turn(descriptor, into: .greeting)
    }

    /// An agent has been welcomed on a connection.
    /// - Returns: who must end for it: the quietest agent from the same place.
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

    /// A connection has proved to hold a key.
    /// - Parameter limit: how many connections that key may have; the one that was not heard for longest makes room.
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

    /// A connection is gone.
    /// - Returns: where it came from, and whether it never said anything; nil when it was not known.
    mutating func closed(_ descriptor: Int32) -> (address: String, wasSilent: Bool)? {
        guard let entry = entries.removeValue(forKey: descriptor) else { return nil }
        count(entry.kind, entry.origin, -1)
        if let key = entry.key {
            byKey[key]?.remove(descriptor)
            if byKey[key]?.isEmpty == true { byKey.removeValue(forKey: key) }
        }
        return (entry.address, entry.kind == .silent)
    }

    /// Connections whose time is over; to be asked once a second. One that stays all the same is named again after as long again.
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
    /// What the log says.
    var description: String {
        switch self {
        case .full(let limit):
            "refused a connection: \(limit) are open, the most allowed"
        case .strangersOfOrigin(let limit):
            "cut off the oldest of \(limit + 1) connections from there that were not welcomed yet: \(limit) are allowed"
        case .strangers(let limit):
            "cut off the oldest of \(limit + 1) connections that were not welcomed yet: \(limit) are allowed in all"
        case .sparesOfOrigin(let limit):
            "cut off a connection that only asks for the time: \(limit) from there belong to no agent, the most allowed"
        case .spares(let limit):
            "cut off a connection that only asks for the time: \(limit) belong to no agent, the most allowed in all"
        case .connectionsOfKey(let limit):
            "cut off the quietest connection of a key that has more than \(limit), the most allowed for its sources"
        case .welcomesOfOrigin(let limit):
            "cut off the quietest of more than \(limit) agents from there, the most allowed"
        case .silent: "cut off a connection that said nothing"
        case .notWelcome: "cut off a connection that was not welcomed in time"
        case .clockStopped: "cut off a connection that had asked for the time, and stopped"
        case .quiet: "cut off a connection whose agent says nothing any more"
        }
    }
}
