/// The status of a collector at one moment. A value, published about once a second.
package struct CollectorStatus: Hashable, Sendable {
    /// The session being recorded; nil: none has begun.
    package var session: String?
    /// Since its zero; nil without a session.
    package var sessionSeconds: Double?
    package var sessionsBegun: UInt64 = 0
    package var sessionsEnded: UInt64 = 0
    /// Connected sources, and those that were connected within the last hour; by name.
    package var sources: [SourceStatus]
    /// Number of sources without a status, because there are too many.
    package var omittedSources: UInt64 = 0
    /// The reason why nothing is recorded, in a few words; nil: none.
    package var trouble: String?
    /// Whether agents that have another collector are sent there.
    package var isDraining = false
    package var disk = DiskStatus()
    /// Connections that were not let in, or not kept, since the start; also those whose agents were refused for a message.
    package var refusedConnections: [ConnectionRefusal: UInt64] = [:]
    /// Peers refused because of a message since the start.
    package var refusedMessages: UInt64 = 0
    /// Records received again after a reconnect, and dropped, since the start.
    package var repeatedRecords: UInt64 = 0
    /// Files that were closed after an error, truncated to their durable data.
    package var failedFiles: UInt64 = 0
    /// Segments removed by retention.
    package var removedSegments: UInt64 = 0
    /// Whether the archive's index is in step with its files.
    package var hasCatalog = true
    /// Time from the capture of a fragment's oldest sample until it was durable.
    package var captureToDurable = LatencyHistogram(bounds: LatencyHistogram.ofRecording)
    package var cost = RecordingCost()
    /// `nil` without an object store.
    package var store: StoreStatus?
    /// The clocks of the site's other collectors, by name.
    package var peers: [PeerClockStatus] = []

    package init(session: String? = nil, sources: [SourceStatus] = [], trouble: String? = nil) {
        self.session = session
        self.sources = sources
        self.trouble = trouble
    }

    /// Sources that are connected or part of the session.
    package var presentSources: [SourceStatus] {
        sources.filter { $0.isConnected || $0.isRecorded }
    }
}

/// State of the archive's disk.
package struct DiskStatus: Hashable, Sendable {
    /// Nil while it cannot be determined.
    package var freeBytes: UInt64?
    package var sizeBytes: UInt64?
    /// Minimum free space: media is never written into it.
    package var reserveBytes: UInt64?
    /// Media written since the start.
    package var writtenBytes: UInt64 = 0
    /// Media written per second, averaged over the last minutes; nil while unknown.
    package var writtenBytesPerSecond: Double?
    /// Files that wait for space.
    package var filesWithoutRoom: UInt64 = 0
    /// Files that cannot be written for another reason.
    package var stuckFiles: UInt64 = 0
    /// Time for which the writing thread has been busy; 0: idle.
    package var busySeconds = 0.0
    /// Time to make a file durable.
    package var synchronising = LatencyHistogram()
    /// Whether old segments are removed by retention.
    package var removesOldSegments = false

    package init() {}

    private static let secondsPerDay = 86_400.0

    /// ``secondsLeft`` in days.
    package var daysLeft: Double? { secondsLeft.map { $0 / Self.secondsPerDay } }

    /// Time until the disk is full down to its reserve, without removals and at the rate of the last minutes; nil without
    /// writes, and while the rate is unknown.
    package var secondsLeft: Double? {
        guard let freeBytes, let reserveBytes, let rate = writtenBytesPerSecond, rate > 0 else {
            return nil
        }
        let room = freeBytes > reserveBytes ? freeBytes - reserveBytes : 0
        return Double(room) / rate
    }
}
