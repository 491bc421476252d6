/// Bounds what connections may cost before they have said anything: a value that is told what happens, and says which
/// connections to end.
///
/// libzmq accepts whoever comes. A stranger could so use up every descriptor, and with them the files that recordings
/// need.
struct Doorkeeper<Connection: Sendable>: Sendable {
    /// Connections from one address that have said nothing: an agent has two, of which one is silent for a third of a
    /// second. Many agents behind one address come back at once when a collector was restarted.
    static var silentPerAddress: Int { 256 }
    /// After this time a connection has said something: libzmq gives a handshake 5 s, and agents speak within one.
    static var silenceNanoseconds: Int64 { 10_000_000_000 }

    private struct Entry {
        var connection: Connection
        var address: String
        var since: Int64
        var isSilent = true
    }

    /// How many there may be in all.
    let maximumConnections: Int
    private var entries: [Int32: Entry] = [:]
    private var silentByAddress: [String: Int] = [:]

    init(maximumConnections: Int) {
        self.maximumConnections = maximumConnections
    }

    var count: Int { entries.count }

    /// A connection has been accepted.
    /// - Returns: why it must end at once; nil when it may stay. One that ends is forgotten when ``closed(_:)`` says so.
    mutating func accepted(
        _ descriptor: Int32, _ connection: Connection, from address: String, now: Int64
    ) -> String? {
        _ = closed(descriptor)
        let isFull = entries.count >= maximumConnections
        entries[descriptor] = Entry(connection: connection, address: address, since: now)
        silentByAddress[address, default: 0] += 1
        if isFull { return "\(maximumConnections) connections are open, the most allowed" }
        if silentByAddress[address, default: 0] > Self.silentPerAddress {
            return "\(Self.silentPerAddress) connections from there say nothing, the most allowed"
        }
        return nil
    }

    /// A connection has said something that was worth passing on.
    mutating func spoke(_ descriptor: Int32) {
        guard let entry = entries[descriptor], entry.isSilent else { return }
        entries[descriptor]?.isSilent = false
        countDown(entry.address)
    }

    /// A connection is gone.
    /// - Returns: where it came from, and whether it never said anything; nil when it was not known.
    mutating func closed(_ descriptor: Int32) -> (address: String, wasSilent: Bool)? {
        guard let entry = entries.removeValue(forKey: descriptor) else { return nil }
        if entry.isSilent { countDown(entry.address) }
        return (entry.address, entry.isSilent)
    }

    /// Connections that have been silent for too long; each is named once.
    mutating func overdue(now: Int64) -> [(connection: Connection, address: String)] {
        guard !silentByAddress.isEmpty else { return [] }
        var overdue: [(connection: Connection, address: String)] = []
        for (descriptor, entry) in entries
        where entry.isSilent && now - entry.since >= Self.silenceNanoseconds {
            overdue.append((entry.connection, entry.address))
            // Asked again after as long again, should it still be there.
            entries[descriptor]?.since = now
        }
        return overdue
    }

    private mutating func countDown(_ address: String) {
        let rest = silentByAddress[address, default: 1] - 1
        silentByAddress[address] = rest > 0 ? rest : nil
    }
}
