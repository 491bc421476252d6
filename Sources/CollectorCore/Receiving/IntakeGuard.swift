import Wire

/// Finds connections that make libzmq keep more than an agent ever has on its way: a value that compares what was read of each with what
/// was taken in as whole messages.
///
/// libzmq bounds a part of a message, and how many whole messages wait. It bounds neither the parts of a message that is not finished nor
/// their number: half a gigabyte a second from one connection, before a word of the protocol. What was read and not taken in is
/// what a connection makes the process keep, or a small part of it: an empty part is two bytes of the wire and 64 of memory, and a part
/// that comes alone in its segment keeps a whole buffer alive.
struct IntakeGuard {
    /// What a connection may have on its way before an agent was welcomed on it: the largest header, and the same again for the
    /// handshake.
    static let strangerBytes = 2 * WireLimits.headerBytes
    /// In how many segments: the largest header takes 490 of the smallest that IPv4 has. Each may keep a buffer of 18 KB alive.
    static let strangerSegments = 1_024
    /// All strangers together: a hundred agents that greet at once have a few hundred kilobytes.
    static let strangersBytes = 8 << 20
    /// What an agent may have on its way besides its credit: control messages, frames, and its next Hello.
    static let spareBytes = 1 << 20
    /// By how much memory may grow while a message is not finished that may have cost as much: seconds of a starting site, a thirtieth
    /// of a second of empty parts.
    static let growthBytes = 24 << 20
    /// What a byte of an unfinished message costs in memory at most: an empty part is two bytes, and 64 in libzmq's queue.
    private static let costPerByte = 33
    /// What a segment costs at most: the buffer that it was read into, which one part keeps alive.
    private static let costPerSegment = 18 << 10
    /// How often the socket has to be found empty before what was read is known to be no whole message: the first may have been found
    /// before, and counted after.
    private static let emptiesThatProve = 2
    /// What a connection may say to libzmq itself between two looks, and that no message holds: ZMTP's heartbeats.
    private static let commandBytes = 4 << 10

    /// What is known of a connection at one moment.
    struct Reading: Hashable, Sendable {
        /// Read by libzmq.
        var readBytes: Int
        var segments: Int
        /// Taken in as whole messages.
        var takenBytes: Int
        /// Of the agent that was welcomed on it; 0: none was.
        var sources: Int
    }

    /// Why a connection must end.
    enum Excess: Hashable, Sendable, CustomStringConvertible {
        case beforeWelcome(Int)
        case strangers(Int)
        case pastCredit(Int)
        case unfinished(Int)

        /// What the log says.
        var description: String {
            switch self {
            case .beforeWelcome(let bytes):
                "cut off a connection that sent \(bytes) bytes of no message before it was welcomed"
            case .strangers(let bytes):
                "cut off a connection that sent \(bytes) bytes before it was welcomed, as many others did"
            case .pastCredit(let bytes):
                "cut off an agent that had \(bytes) bytes on their way, more than its credit"
            case .unfinished(let bytes):
                "cut off an agent that does not finish a message: \(bytes) bytes of it took too much memory"
            }
        }
    }

    private struct Entry {
        /// Bytes that no message holds: the handshake, and heartbeats.
        var base = 0
        var takenBytes = 0
        /// Of the segments, those that had come when a message was last taken in.
        var segmentsTaken = 0
        /// What the process had in memory then.
        var residentBytes: Int
        var pendingBytes = 0
        /// Of the pending bytes, those that were there when the socket had been emptied `drains` times.
        var seenBytes = 0
        var drains = 0
    }

    private var entries: [Int32: Entry] = [:]
    /// At the last look something was unfinished that only an emptied socket can prove.
    private(set) var isSuspicious = false

    /// Looks at connections: at all of them, or at strangers alone.
    /// - Parameters:
    ///   - readings: by descriptor.
    ///   - isOfAll: who is missing is gone, and forgotten.
    ///   - residentBytes: of the process.
    ///   - drains: how often the receiving thread has found the socket empty so far.
    /// - Returns: who must end, and why.
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
                // Another connection has the descriptor by now.
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

    /// What bytes that were read and not taken in may cost in memory.
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
        // What was there before the socket was found empty, and is still not taken in, is of a message that is not whole.
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
