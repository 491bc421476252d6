import Glibc
package import Logging
import Media
package import Messaging
package import CollectorClient
import Synchronization
import Wire

/// Replays recorded messages: each over its own connection, at the original intervals.
///
/// Messages are unchanged, except for the collector's times in clock exchanges: they are shifted from the recording
/// collector's clock to the present one's, so that every sample has its original distance from its arrival. Clock probes are
/// sent, and their replies ignored. Credit is respected: a slower collector is waited for.
package final class WireReplay: Sendable {
    /// Result of a replay.
    package struct Report: Hashable, Sendable {
        package var connections = 0
        package var messages: UInt64 = 0
        package var payloadBytes: UInt64 = 0
        /// Refusals of the collector, with their texts.
        package var refusals: [String] = []
        /// The first refusal's text, if a key may not write a source, or was revoked.
        package var shutOut: String?
        /// Not sent, because their connection had been refused.
        package var unsentMessages: UInt64 = 0
        /// Missing in the recording.
        package var missingMessages: UInt64 = 0
        /// The recording's last entry was incomplete.
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
