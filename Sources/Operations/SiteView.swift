import FoundationEssentials
import JSON
import Media
import Terminal

/// The displayed status of a collector: the document of `tributary top --json`, `/status` and the control socket
/// (`proto/json/schema.json`, "tributary top").
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
        /// Mean duration of `fdatasync` since the start of the collector; nil if there was none.
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
        /// Local copies removed.
        package var evictedSegments: Double
        /// Files that the store rejects.
        package var setAside: Double
        /// Whether this collector is the one that removes from the store; nil: no other one uses it.
        package var retention: Retention?
    }

    /// The lease on removing from the object store.
    package struct Retention: Hashable, Sendable, Codable {
        /// `held`, `settling`, `taken`, `unknown`.
        package var state: String
        /// The state as text.
        package var text: String
        /// Raised with each change of the holder.
        package var token: Int64?
        /// The other collector that holds it.
        package var holder: String?
    }

    /// Connections that were refused for one reason.
    package struct Refusal: Hashable, Sendable, Codable {
        /// Its name in metrics: `revoked_key`.
        package var reason: String
        package var count: Double
    }

    /// A collector, in the status of a site that a viewer makes.
    package struct Collector: Hashable, Sendable, Codable {
        package enum State: String, Hashable, Sendable, Codable {
            /// `idle`: no session. `troubled`: nothing can be recorded.
            case recording, idle, draining, troubled
            /// `stopped`: by its last report. `silent`: no status for 3 s; or its feed was never heard, and it has not
            /// reported in the catalog for 20 s.
            case stopped, silent
            /// Its status is of another version; or its feed was never heard, and the catalog does not answer.
            case unknown
        }

        package var name: String
        package var state: State
        /// Seconds since its last status, or since its last report if there was no status; nil: unknown.
        package var heardSeconds: Double?
        /// Why nothing is recorded; nil: none.
        package var trouble: String?
        package var version: String
        /// Number of connected sources.
        package var sources: Double
        package var bitsPerSecond: Double
        package var freeBytes: Double?
        package var sizeBytes: Double?

        package init(
            name: String, state: State, heardSeconds: Double?, trouble: String?, version: String,
            sources: Double, bitsPerSecond: Double, freeBytes: Double?, sizeBytes: Double?
        ) {
            self.name = name
            self.state = state
            self.heardSeconds = heardSeconds
            self.trouble = trouble
            self.version = version
            self.sources = sources
            self.bitsPerSecond = bitsPerSecond
            self.freeBytes = freeBytes
            self.sizeBytes = sizeBytes
        }
    }

    package struct Gap: Hashable, Sendable, Codable {
        package var cause: String
        package var count: Double
        package var samples: Double
    }

    package struct Source: Hashable, Sendable, Codable {
        package var name: String
        /// The main source, if this is a preview; nil for a main source.
        package var previewOf: String?
        /// In the status of a site, the collector whose status has this source; nil: the only one.
        package var collector: String?
        package var agent: String
        package var isConnected: Bool
        package var isRecorded: Bool
        /// Whether capture was stopped deliberately.
        package var isStopped: Bool
        /// The name of the collector that records the source now, or `another collector` if the name is unknown. Nil: this
        /// collector, or unknown.
        package var elsewhere: String?
        package var picturesPerSecond: Double
        package var bitsPerSecond: Double
        package var lagSeconds: Double?
        /// Data that the agent keeps because it is not durable at the collector.
        package var spoolBytes: Double?
        package var clockOffsetSeconds: Double?
        package var clockBoundSeconds: Double?
        package var persistedAgeSeconds: Double
        /// Age of the oldest data that its box keeps until the object store has it; 0: none. Nil: boxes do not wait for
        /// a store.
        package var unreleasedAgeSeconds: Double?
        package var unreleasedBytes: Double?
        /// The agent's previous collector, and the reason of the move; nil: none since the agent's start.
        package var moved: String?
        /// The tracks that its agent does not capture at present, and the reason; nil: none, or unknown.
        package var trouble: String?
        /// Data that its box keeps for each of two collectors; nil: one copy is enough.
        package var owed: [SourceStatus.Owed]?
        package var lostSamples: Double
        /// Gaps by cause, the largest first.
        package var gaps: [Gap]
    }

    package var version: String
    /// Whether samples are accepted; also while the collector is drained, when `/readyz` says that it is not ready.
    package var isReady: Bool
    /// Whether agents that have another collector are sent there; nil: no.
    package var isDraining: Bool?
    package var progressAgeSeconds: Double?
    /// The reason why the collector does not listen yet; nil: none, or it listens.
    package var obstacle: String?
    package var session: String?
    package var sessionSeconds: Double?
    package var residentBytes: Double?
    package var refusedConnections: Double
    /// Refused connections by reason, the most frequent first; nil: the collector's version does not report them.
    package var refusals: [Refusal]?
    package var disk: Disk
    /// `nil` without an object store.
    package var store: Store?
    /// The clocks of the site's other collectors. Nil: it has none, or the collector is of a version that does not measure them.
    package var clocks: [PeerClockView]?
    /// In the status of a site: its collectors, by name. Nil: it is the status of one collector.
    package var collectors: [Collector]?
    package var sources: [Source]
    /// Number of sources without a status, because there are too many.
    package var omittedSources: Double

    /// - Parameters:
    ///   - status: nil: the collector has not begun to receive.
    ///   - ageSeconds: since the status was published.
    ///   - obstacle: the reason why it does not listen yet.
    ///   - process: nil if the system does not provide it.
    init(
        _ status: CollectorStatus?, ageSeconds: Double?, readiness: HealthAnswer, version: String,
        process: ProcessFigures?, obstacle: String? = nil
    ) {
        self.version = version
        isReady = readiness.isWell
        isDraining = status?.isDraining == true ? true : nil
        progressAgeSeconds = ageSeconds
        self.obstacle = status == nil ? obstacle : nil
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
        let peers = status?.peers ?? []
        clocks = peers.isEmpty ? nil : peers.map(PeerClockView.init)
        omittedSources = Double(status?.omittedSources ?? 0)
        sources = (status?.sources ?? []).sorted { $0.name < $1.name }.map(Source.init)
        markPreviews()
    }

    /// Removes sources, and their relations to previews.
    package mutating func removeSources(where isRemoved: (String) -> Bool) {
        sources.removeAll { isRemoved($0.name) }
        markPreviews()
    }

    private mutating func markPreviews() {
        let previews = SourcePreviews(sources.map(\.name))
        for index in sources.indices {
            sources[index].previewOf = previews.source(of: sources[index].name)
        }
    }

    /// The document as JSON. All numbers are finite.
    package func encoded() throws -> [UInt8] { Array(try JSONOutput.text(self).utf8) }

    /// Parses the document.
    /// - Throws: when it is invalid, or of a version with other fields.
    package init(decoding bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(SiteView.self, from: Data(bytes))
    }
}

extension Double? {
    /// `nil` for NaN and infinity, which JSON does not have.
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
        retention = store.retention.map {
            SiteView.Retention(
                state: $0.state.rawValue, text: $0.text, token: $0.token, holder: $0.holder)
        }
    }
}

extension SiteView.Source {
    init(_ source: SourceStatus) {
        name = source.name
        agent = source.agent
        isConnected = source.isConnected
        isRecorded = source.isRecorded
        isStopped = source.isStopped
        elsewhere = source.elsewhere
        picturesPerSecond = source.picturesPerSecond
        bitsPerSecond = source.bitsPerSecond
        lagSeconds = source.lagSeconds.finite
        spoolBytes = source.report.map { Double($0.keptBytes) }
        clockOffsetSeconds = source.clock.map { Double($0.offsetNanoseconds) / 1e9 }
        clockBoundSeconds = source.clock.map { Double($0.boundNanoseconds) / 1e9 }
        persistedAgeSeconds = source.persistedAgeSeconds
        unreleasedAgeSeconds = source.unreleased?.ageSeconds
        unreleasedBytes = source.unreleased.map { Double($0.bytes) }
        moved = source.report.flatMap { $0.moved.isEmpty ? nil : $0.moved }
        trouble = source.report.flatMap { $0.trouble.isEmpty ? nil : $0.trouble }
        owed = source.report.flatMap { $0.owed.isEmpty ? nil : $0.owed }
        gaps = source.counts.gaps.filter { $0.value.count > 0 }.map {
            SiteView.Gap(
                cause: $0.key, count: Double($0.value.count), samples: Double($0.value.samples))
        }.sorted { ($0.samples, $0.count, $1.cause) > ($1.samples, $1.count, $0.cause) }
        lostSamples = gaps.reduce(0) { $0 + $1.samples }
    }
}

// Problems, as text.
extension SiteView {
    /// Whether media cannot be written, because the disk is full.
    package var lacksRoom: Bool {
        disk.filesWithoutRoom > 0
            || (disk.freeBytes ?? .infinity) <= (disk.reserveBytes ?? 0)
    }

    /// The reason why nothing is recorded; nil: none.
    package var trouble: String? {
        guard !isReady else { return nil }
        if lacksRoom { return "there is no room on the disk" }
        if disk.stuckFiles > 0 { return "files cannot be written" }
        if disk.busySeconds > AlertLimits.diskBusySeconds { return "the disk does not answer" }
        guard let progressAgeSeconds else {
            return "the collector is starting" + (obstacle.map { ": \(oneLine($0))" } ?? "")
        }
        if progressAgeSeconds > AlertLimits.progressSeconds { return "the collector hangs" }
        return "the collector accepts no samples: see /readyz and its log"
    }
}

extension SiteView.Source {
    /// The state in one word.
    package var state: String {
        switch (isConnected, isRecorded) {
        case (true, _) where lagSeconds ?? 0 > AlertLimits.lateSeconds: return "late"
        // Also for records that belong to no session yet: without disk space none begins.
        case (true, _) where persistedAgeSeconds > AlertLimits.unsavedSeconds: return "unsaved"
        case (true, _) where isStopped: return "stopped"
        case (true, true): return "live"
        case (true, false): return "idle"
        case (false, true): return elsewhere == nil ? "away" : "elsewhere"
        case (false, false): return "gone"
        }
    }

    /// The missing tracks with the reason, the collector that records it, the reason of its move here, and the data that its
    /// box keeps for each collector; nil: none of these.
    package var remarks: String? {
        var parts = trouble.map { [oneLine($0)] } ?? []
        if let elsewhere { parts.append("recorded by \(oneLine(elsewhere))") }
        if let moved { parts.append("left \(oneLine(moved))") }
        for owed in owed ?? [] where owed.bytes >= AlertLimits.inTransitBytes {
            let bytes = Int64(min(owed.bytes, 9e18))
            parts.append("\(ByteCount(bytes)) kept for \(oneLine(owed.collector))")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// Whether its clock was measured: a bound of zero means a replay, with given times.
    var isClockMeasured: Bool { clockBoundSeconds ?? 0 > 0 }

    /// Whether it needs attention.
    package var isTroubled: Bool { trouble != nil || ["late", "unsaved", "away"].contains(state) }
}
