import Wire

/// Finds connections that make libzmq buffer more than an agent ever has in flight. A value: it compares the bytes read
/// from each connection with the bytes of complete messages received from it.
///
/// libzmq limits the size of a part, and the number of complete messages in its queue. It limits neither the size of an
/// incomplete message nor the number of its parts: one connection could add half a gigabyte a second before any message
/// of the protocol. The difference between bytes read and bytes of complete messages is a lower bound of the memory a
/// connection uses: an empty part is two bytes on the wire and 64 in memory, and a part that arrives alone in its
/// segment keeps a whole buffer allocated.
struct IntakeGuard {
    /// Bytes in flight of a connection before an agent is welcomed on it: the largest header, and as much again for the
    /// handshake.
    static let strangerBytes = 2 * WireLimits.headerBytes
    /// The same in segments: the largest header takes 490 of IPv4's smallest segments. Each may keep a buffer of 18 KB
    /// allocated.
    static let strangerSegments = 1_024
    /// The limit for all unknown peers together: a hundred agents that send Hello together have a few hundred kilobytes
    /// in flight.
    static let strangersBytes = 8 << 20
    /// Bytes in flight of an agent in addition to its credit: control messages, framing, and its next Hello.
    static let spareBytes = 1 << 20
    /// Growth of the process's memory that is tolerated while an incomplete message could be its cause: the growth in
    /// seconds of a site's start, or in a thirtieth of a second of empty parts.
    static let growthBytes = 24 << 20
    /// Maximum memory per byte of an incomplete message: an empty part is two bytes, and 64 in libzmq's queue.
    private static let costPerByte = 33
    /// Maximum memory per segment: the receive buffer, which a single part keeps allocated.
    private static let costPerSegment = 18 << 10
    /// How often the socket must be found empty to prove that bytes read before belong to no complete message. Once is
    /// not enough: the socket may have been emptied before they were read, but counted later.
    private static let emptiesThatProve = 2
    /// Bytes of ZMTP heartbeats between two checks, which are part of no message.
    private static let commandBytes = 4 << 10

    /// The measured state of a connection at one moment.
    struct Reading: Hashable, Sendable {
        /// Bytes read by libzmq.
        var readBytes: Int
        var segments: Int
        /// Bytes of complete messages received.
        var takenBytes: Int
        /// Number of sources of the agent that was welcomed on it; 0: none was.
        var sources: Int
    }

    /// Why a connection is closed.
    enum Excess: Hashable, Sendable, CustomStringConvertible {
        case beforeWelcome(Int)
        case strangers(Int)
        case pastCredit(Int)
        case unfinished(Int)

        var description: String {
            switch self {
            case .beforeWelcome(let bytes):
                "closed a connection that sent \(bytes) bytes without a complete message before a Welcome"
            case .strangers(let bytes):
                "closed a connection that sent \(bytes) bytes before a Welcome, as many others did"
            case .pastCredit(let bytes):
                "closed the connection of an agent with \(bytes) bytes in flight, more than its credit"
            case .unfinished(let bytes):
                "closed the connection of an agent with an incomplete message: its \(bytes) bytes took too much memory"
            }
        }
    }

    private struct Entry {
        /// Bytes of no message: the handshake, and heartbeats.
        var base = 0
        var takenBytes = 0
        /// The segments that had arrived when a message was last received.
        var segmentsTaken = 0
        /// The process's resident memory at that time.
        var residentBytes: Int
        var pendingBytes = 0
        /// The pending bytes that were already there when the socket had been emptied `drains` times.
        var seenBytes = 0
        var drains = 0
    }

    private var entries: [Int32: Entry] = [:]
    /// At the last check, a connection had incomplete data that only an emptied socket can prove.
    private(set) var isSuspicious = false

    /// Checks connections: all of them, or only those of unknown peers.
    /// - Parameters:
    ///   - readings: by descriptor.
    ///   - isOfAll: whether the readings are complete; a connection that is missing is then closed and forgotten.
    ///   - residentBytes: the process's resident memory.
    ///   - drains: number of times that the receiving thread has found the socket empty.
    /// - Returns: the connections to close, and why.
    mutating func look(
        at readings: [Int32: Reading], isOfAll: Bool = true, residentBytes: Int, drains: Int
    ) -> [Int32: Excess] {
        var excesses: [Int32: Excess] = [:]
        var strangers: [(descriptor: Int32, bytes: Int)] = []
        if isOfAll {
            entries = entries.filter { readings[$0.key] != nil }
            isSuspicious = false
        }
        for (descriptor, reading) in readings {
            var entry = entries[descriptor] ?? Entry(residentBytes: residentBytes)
            if reading.takenBytes < entry.takenBytes || reading.segments < entry.segmentsTaken {
                // The descriptor now belongs to another connection.
                entry = Entry(residentBytes: residentBytes)
            }
            let excess = look(at: reading, &entry, residentBytes: residentBytes, drains: drains)
            entries[descriptor] = entry
            if let excess { excesses[descriptor] = excess }
            if reading.sources == 0, excess == nil {
                strangers.append((descriptor, entry.pendingBytes))
            }
        }
        var sum = strangers.reduce(0) { $0 + $1.bytes }
        guard sum > Self.strangersBytes else { return excesses }
        for (descriptor, bytes) in strangers.sorted(by: { $0.bytes > $1.bytes })
        where sum > Self.strangersBytes {
            excesses[descriptor] = .strangers(bytes)
            sum -= bytes
        }
        return excesses
    }

    /// Maximum memory of bytes in incomplete messages.
    private func cost(_ bytes: Int, _ segments: Int) -> Int {
        bytes * Self.costPerByte + (bytes > 0 ? segments * Self.costPerSegment : 0)
    }

    private mutating func look(
        at reading: Reading, _ entry: inout Entry, residentBytes: Int, drains: Int
    ) -> Excess? {
        let raw = max(0, reading.readBytes - reading.takenBytes)
        let hasTaken = reading.takenBytes != entry.takenBytes
        if hasTaken {
            entry.takenBytes = reading.takenBytes
            entry.segmentsTaken = reading.segments
            entry.residentBytes = residentBytes
        }
        entry.base = min(entry.base, raw)
        if hasTaken, raw - entry.base <= Self.commandBytes { entry.base = raw }
        entry.pendingBytes = raw - entry.base
        entry.residentBytes = min(entry.residentBytes, residentBytes)
        let pending = entry.pendingBytes
        // Bytes that were read before the socket was found empty, and have not been received since, belong to an
        // incomplete message.
        let isProven = drains - entry.drains >= Self.emptiesThatProve
        let unfinished = isProven && !hasTaken ? entry.seenBytes : 0
        if isProven || hasTaken || drains == entry.drains {
            entry.seenBytes = pending
            entry.drains = drains
        }
        let segments = reading.segments - entry.segmentsTaken
        guard reading.sources > 0 else {
            let isCrumbled = segments > Self.strangerSegments
            return pending > Self.strangerBytes || isCrumbled ? .beforeWelcome(pending) : nil
        }
        let credit = reading.sources * Int(WireLimits.creditWindowBytes)
        if pending > credit + Self.spareBytes { return .pastCredit(pending) }
        guard cost(pending, segments) > Self.growthBytes,
            residentBytes - entry.residentBytes > Self.growthBytes
        else { return nil }
        guard cost(unfinished, segments) > Self.growthBytes else {
            isSuspicious = true
            return nil
        }
        return .unfinished(pending)
    }
}
