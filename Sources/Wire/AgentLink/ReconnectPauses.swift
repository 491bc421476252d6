import Media

/// How long an agent waits before it connects again. A value without randomness: the spools' identities tell agents apart.
///
/// Agents that lose a collector lose it at the same moment. A thousand that came back at once would keep it busy with handshakes
/// while their samples wait, so that each would be late; spread over a second, none is.
struct ReconnectPauses: Hashable, Sendable {
    /// Pauses after so many failed attempts, milliseconds: short at first, for a collector that is just restarting.
    private static let milliseconds: [Int64] = [100, 200, 500, 1_000, 2_000]
    /// How much longer the first pause may be.
    static let spreadMilliseconds: Int64 = 900

    private let seed: UInt64

    init(of spool: SpoolID) { seed = spool.high ^ spool.low }

    /// The pause before the next attempt, milliseconds: the first is from 100 to 1,000, later ones from half to one and a half of
    /// the usual pause.
    /// - Parameter failures: how many attempts have failed since the last Welcome.
    func milliseconds(after failures: Int) -> Int64 {
        let usual = Self.milliseconds[min(failures, Self.milliseconds.count - 1)]
        let (least, width) = failures == 0 ? (usual, Self.spreadMilliseconds) : (usual / 2, usual)
        return least + Int64(draw(failures) % UInt64(width + 1))
    }

    /// Evenly distributed over agents and attempts (the finaliser of SplitMix64).
    private func draw(_ number: Int) -> UInt64 {
        var bits = seed &+ (UInt64(number) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
