/// Exponential backoff with jitter: each pause is up to twice the previous one, bounded, and randomised between a half and
/// the whole of that, so that clients which failed together do not retry together.
struct Backoff: Hashable, Sendable {
    /// For a store that is away or busy: a second, up to five minutes.
    static let store = Backoff(first: 1_000_000_000, longest: 300_000_000_000)
    /// For one file that fails by itself.
    static let file = Backoff(first: 5_000_000_000, longest: 3_600_000_000_000)

    let first: Int64
    let longest: Int64

    /// The pause after so many failures in a row, nanoseconds.
    /// - Parameter draw: a random number.
    func pause(after failures: Int, draw: UInt64) -> Int64 {
        precondition(failures > 0)
        var pause = first
        for _ in 1..<min(failures, 64) where pause < longest { pause *= 2 }
        pause = min(pause, longest)
        return pause / 2 + Int64(draw % UInt64(pause / 2 + 1))
    }
}
