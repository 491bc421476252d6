import Synchronization
import TestSpools
import Wire

/// Identities from a seed.
final class Identities: Sendable {
    private let random: Mutex<SeededGenerator>

    init(seed: UInt64) { random = Mutex(SeededGenerator(seed: seed)) }

    func next() -> Identity { random.withLock { Identity.random(using: &$0) } }
}
