import Media
import Synchronization
import TestSpools
import Wire

/// Identities from a seed.
final class Identities: Sendable {
    private let random: Mutex<SeededGenerator>

    init(seed: UInt64) { random = Mutex(SeededGenerator(seed: seed)) }

    func next() -> SpoolID { random.withLock { SpoolID.random(using: &$0) } }
}
