import FoundationEssentials
import Media
import Terminal

/// The status of a collector as it is shown: the document that `tributary top --json` prints, `/status` answers and the control
/// socket carries (`proto/json/schema.json`, "tributary top").
package struct SiteView: Hashable, Sendable, Codable {
    package struct Disk: Hashable, Sendable, Codable {
        package var freeBytes: Double?
        package var sizeBytes: Double?
        package var reserveBytes: Double?
        package var daysLeft: Double?
        package var removesOldSegments: Bool
        package var filesWithoutRoom: Double
        package var stuckFiles: Double
        package var busySeconds: Double
        /// On average since the start, seconds; nil: nothing has been made durable yet.
        package var fdatasyncSeconds: Double?
    }

    /// The upload into an object store.
    package struct Store: Hashable, Sendable, Codable {
        package var name: String
        /// Why it cannot be used; nil: it can.
        package var trouble: String?
        package var storedSegments: Double
        package var sentBytes: Double
        /// Finished segments that are not in it yet.
        package var waitingSegments: Double
        package var waitingBytes: Double
        /// Age of the oldest of them since it ended; 0: none.
        package var oldestSeconds: Double
        /// Local copies that were removed.
        package var evictedSegments: Double
        /// Files that the store refuses.
        package var setAside: Double
    }

    /// Connections that were refused for one reason.
    package struct Refusal: Hashable, Sendable, Codable {
        /// As metrics name it: `revoked_key`.
        package var reason: String
        package var count: Double
    }

    package struct Gap: Hashable, Sendable, Codable {
        package var cause: String
        package var count: Double
        package var samples: Double
    }

    package struct Source: Hashable, Sendable, Codable {
        package var name: String
        package var agent: String
        package var isConnected: Bool
        package var isRecorded: Bool
        /// Somebody has stopped the capture.
        package var isStopped: Bool
        package var picturesPerSecond: Double
        package var bitsPerSecond: Double
        package var lagSeconds: Double?
        /// What the agent keeps because it is not durable at the collector.
        package var spoolBytes: Double?
        package var clockOffsetSeconds: Double?
        package var clockBoundSeconds: Double?
        package var persistedAgeSeconds: Double
        /// Age of the oldest data that its box has to keep until the object store has it; 0: none. Nil: boxes do not wait for a store.
        package var unreleasedAgeSeconds: Double?
        package var unreleasedBytes: Double?
        package var lostSamples: Double
        /// Causes for which something is missing, the worst first.
        package var gaps: [Gap]
    }

    package var version: String
    package var isReady: Bool
    package var progressAgeSeconds: Double?
    package var session: String?
    package var sessionSeconds: Double?
    package var residentBytes: Double?
    package var refusedConnections: Double
    /// The same by reason, the most frequent first. Nil: the collector is of a version that does not tell.
    package var refusals: [Refusal]?
    package var disk: Disk
    /// Nil: there is no object store.
    package var store: Store?
    package var sources: [Source]
    /// Sources of which nothing is said, because there are too many.
    package var omittedSources: Double

    /// - Parameters:
    ///   - status: nil: the collector has not begun to receive.
    ///   - ageSeconds: since the status was published.
    ///   - process: nil where the system does not provide it.
    init(
        _ status: CollectorStatus?, ageSeconds: Double?, readiness: HealthAnswer, version: String,
        process: ProcessFigures?
    ) {
        self.version = version
        isReady = readiness.isWell
        progressAgeSeconds = ageSeconds
        session = status?.session
        sessionSeconds = status?.sessionSeconds
        residentBytes = process.map { Double($0.residentBytes) }
        let refused = status?.refusedConnections ?? [:]
        refusedConnections = Double(refused.values.reduce(UInt64(0)) { $0.clampedAdding($1) })
        refusals = refused.filter { $0.value > 0 }
            .map { Refusal(reason: $0.key.rawValue, count: Double($0.value)) }
            .sorted { ($0.count, $1.reason) > ($1.count, $0.reason) }
        disk = Disk(status?.disk ?? DiskStatus())
        store = status?.store.map(Store.init)
        omittedSources = Double(status?.omittedSources ?? 0)
        sources = (status?.sources ?? []).sorted { $0.name < $1.name }.map(Source.init)
    }

    /// The document's bytes, JSON. Every number is finite: JSON knows no other.
    package func encoded() throws -> [UInt8] { Array(try JSONOutput.text(self).utf8) }

    /// Reads the document.
    /// - Throws: when it is not one, or of a version with other fields.
    package init(decoding bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(SiteView.self, from: Data(bytes))
    }
}

extension Double? {
    /// What JSON can say; nil: not a number, or without bound.
    fileprivate var finite: Double? { flatMap { $0.isFinite ? $0 : nil } }
}

extension SiteView.Disk {
    init(_ disk: DiskStatus) {
        freeBytes = disk.freeBytes.map { Double($0) }
        sizeBytes = disk.sizeBytes.map { Double($0) }
        reserveBytes = disk.reserveBytes.map { Double($0) }
        daysLeft = disk.daysLeft.finite
        removesOldSegments = disk.removesOldSegments
        filesWithoutRoom = Double(disk.filesWithoutRoom)
        stuckFiles = Double(disk.stuckFiles)
        busySeconds = disk.busySeconds
        fdatasyncSeconds = disk.synchronising.meanSeconds
    }
}

extension SiteView.Store {
    init(_ store: StoreStatus) {
        name = store.name
        trouble = store.trouble
        storedSegments = Double(store.storedSegments)
        sentBytes = Double(store.sentBytes)
        waitingSegments = Double(store.waitingSegments)
        waitingBytes = Double(store.waitingBytes)
        oldestSeconds = store.oldestSeconds.isFinite ? store.oldestSeconds : 0
        evictedSegments = Double(store.evictedSegments)
        setAside = Double(store.setAside)
    }
}

extension SiteView.Source {
    init(_ source: SourceStatus) {
        name = source.name
        agent = source.agent
        isConnected = source.isConnected
        isRecorded = source.isRecorded
        isStopped = source.isStopped
        picturesPerSecond = source.picturesPerSecond
        bitsPerSecond = source.bitsPerSecond
        lagSeconds = source.lagSeconds.finite
        spoolBytes = source.report.map { Double($0.keptBytes) }
        clockOffsetSeconds = source.clock.map { Double($0.offsetNanoseconds) / 1e9 }
        clockBoundSeconds = source.clock.map { Double($0.boundNanoseconds) / 1e9 }
        persistedAgeSeconds = source.persistedAgeSeconds
        unreleasedAgeSeconds = source.unreleased?.ageSeconds
        unreleasedBytes = source.unreleased.map { Double($0.bytes) }
        gaps = source.gaps.filter { $0.value.count > 0 }.map {
            SiteView.Gap(
                cause: $0.key, count: Double($0.value.count), samples: Double($0.value.samples))
        }.sorted { ($0.samples, $0.count, $1.cause) > ($1.samples, $1.count, $0.cause) }
        lostSamples = gaps.reduce(0) { $0 + $1.samples }
    }
}

// What is wrong, in words.
extension SiteView {
    /// What keeps the collector from recording; nil: nothing.
    package var trouble: String? {
        guard !isReady else { return nil }
        let hasRoom = (disk.freeBytes ?? .infinity) > (disk.reserveBytes ?? 0)
        if disk.filesWithoutRoom > 0 || !hasRoom { return "there is no room on the disk" }
        if disk.stuckFiles > 0 { return "files cannot be written" }
        if disk.busySeconds > HealthAnswer.diskPatienceSeconds { return "the disk does not answer" }
        guard let progressAgeSeconds else { return "the collector is starting" }
        if progressAgeSeconds > HealthAnswer.patienceSeconds { return "the collector hangs" }
        return "the collector accepts no samples: see /readyz and its log"
    }
}

extension SiteView.Source {
    /// Later than this, something keeps samples from coming at once.
    private static let lateSeconds = 5.0
    /// A fragment, a commit, and as much again as patience.
    private static let undurableSeconds = 10.0

    /// A word for what it does.
    package var state: String {
        switch (isConnected, isRecorded) {
        case (true, _) where lagSeconds ?? 0 > Self.lateSeconds: return "late"
        // Also what has no place in a session yet: without room on the disk none begins.
        case (true, _) where persistedAgeSeconds > Self.undurableSeconds: return "unsaved"
        case (true, _) where isStopped: return "stopped"
        case (true, true): return "live"
        case (true, false): return "idle"
        case (false, true): return "away"
        case (false, false): return "gone"
        }
    }

    /// Whether its clock was compared with the collector's: a bound of nothing at all is that of a replay, whose times are given.
    var isClockMeasured: Bool { clockBoundSeconds ?? 0 > 0 }

    /// Whether somebody should look at it.
    package var isTroubled: Bool { ["late", "unsaved", "away"].contains(state) }
}
