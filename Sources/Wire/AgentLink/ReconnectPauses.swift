package import Media

/// Randomises the pauses before agents reconnect, to spread their load.
///
/// Agents that lose a collector lose it simultaneously. If a thousand reconnected together, their handshakes would keep
/// it busy, and the samples of all would be late; spread over a second, none is. ``AgentLink`` determines the pause,
/// and the owner of the sockets modifies it with this value. Its seed is an identity.
package struct ReconnectPauses: Hashable, Sendable {
    /// Minimum pause after a connection was lost, milliseconds, and the maximum addition.
    static let firstMilliseconds: Int64 = 100
    static let spreadMilliseconds: Int64 = 900

    private let seed: UInt64
    /// Number of pauses so far.
    private var count: UInt64 = 0

    package init(of spool: SpoolID) { seed = spool.high ^ spool.low }

    /// The next pause, milliseconds: 100 to 1,000 for the first after a lost connection, half to one and a half of the
    /// usual pause for longer ones. A pause of zero is not changed.
    package mutating func next(usualMilliseconds usual: Int64) -> Int64 {
        guard usual > 0 else { return 0 }
        let isFirst = usual <= Self.firstMilliseconds
        let (least, width) = isFirst ? (usual, Self.spreadMilliseconds) : (usual / 2, usual)
        return least + Int64(draw() % UInt64(width + 1))
    }

    /// Evenly distributed over agents and attempts (SplitMix64).
    private mutating func draw() -> UInt64 {
        count &+= 1
        var bits = seed &+ count &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
