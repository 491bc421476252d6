package import Media

/// Spreads the pauses after which agents connect again, so that they do not all come at once.
///
/// Agents that lose a collector lose it at the same moment. A thousand that came back together would keep it busy with handshakes
/// while their samples wait, so that each would be late; spread over a second, none is. ``AgentLink`` says how long to wait; who
/// owns the sockets lets this value change it. It has no randomness of its own: whoever makes it gives it an identity.
package struct ReconnectPauses: Hashable, Sendable {
    /// The pause after a connection was lost, milliseconds, and how much longer it may become.
    static let firstMilliseconds: Int64 = 100
    static let spreadMilliseconds: Int64 = 900

    private let seed: UInt64
    /// How many pauses there have been.
    private var count: UInt64 = 0

    package init(of spool: SpoolID) { seed = spool.high ^ spool.low }

    /// The next pause, milliseconds: the first after a lost connection is from 100 to 1,000, longer ones are from half to one and a
    /// half of the usual pause. What is to be done at once is done at once.
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
