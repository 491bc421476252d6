import Hashing
package import Media

/// The identity of this boot's monotonic clock in agents' messages.
package enum BootEpoch {
    /// The present epoch; random where the kernel does not report it (then every start of the agent is a separate epoch).
    package static func identity() -> EpochID { known() ?? .random() }

    /// The present epoch; nil where the kernel does not report it.
    package static func known() -> EpochID? {
        SystemClock.monotonicIdentity().flatMap { clock in
            EpochID(Array(HashFunction.sha256.hash(Array(clock.utf8)).prefix(16)))
        }
    }
}
