import Glibc
package import Logging
import Media
package import Messaging
package import CollectorClient
import Synchronization
import Wire

/// Sends a recorded wire again: every message over a connection of its own, at the distances at which they came.
///
/// Messages are what they were, byte for byte, but for the collector's readings in clock exchanges: they were made with the clock of
/// the collector that recorded, and are moved by what lies between that and the present one's, so that every sample finds
/// itself as far from its arrival as it was. Clock probes are sent, their answers are of no use. Credit is heeded: a collector that is slower
/// than the one before is waited for.
package final class WireReplay: Sendable {
    /// What a replay has done.
    package struct Report: Hashable, Sendable {
        package var connections = 0
        package var messages: UInt64 = 0
        package var payloadBytes: UInt64 = 0
        /// What the collector said no to, and in which words.
        package var refusals: [String] = []
        /// Those words where a key is not allowed to write a source any more, or was not.
        package var shutOut: String?
        /// Not sent, because their connection had been refused.
        package var unsentMessages: UInt64 = 0
        /// Missing in the recording.
        package var missingMessages: UInt64 = 0
        /// The recording's last entry was not whole.
        package var isTorn = false
        /// Records that the collector did not have on disk at the end.
        package var unpersistedRecords: UInt64 = 0
    }

    private let endpoint: String
    private let security: SocketSecurity
    private let speed: ReplaySpeed
    private let logger: Logger
    private let isStopping = Atomic(false)
    private let statusNow = Mutex(ReplayStatus())

    package init(
        endpoint: String, security: SocketSecurity, speed: ReplaySpeed, logger: Logger
    ) {
        self.endpoint = endpoint
        self.security = security
        self.speed = speed
        self.logger = logger
    }

    package func stop() { isStopping.store(true, ordering: .releasing) }

    package var status: ReplayStatus { statusNow.withLock { $0 } }

    /// Sends everything. Blocks its thread.
    package func run(_ recording: WireRecordingReader) throws(ReplayError) -> Report {
        do {
            let loop = try WireReplayLoop(
                endpoint: endpoint, security: security, logger: logger,
                isStopping: { [self] in isStopping.load(ordering: .acquiring) },
                publish: { [self] status in statusNow.withLock { $0 = status } })
            return try loop.run(recording, speed: speed)
        } catch let error as ReplayError {
            throw error
        } catch {
            throw ReplayError("replay to \(endpoint) failed: \(error)")
        }
    }
}
