/// What somebody who watches a collector sees of it: read from its metrics, wherever they came from.
package struct SiteView: Hashable, Sendable, Encodable {
    package struct Disk: Hashable, Sendable, Encodable {
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

    package struct Gap: Hashable, Sendable, Encodable {
        package var cause: String
        package var count: Double
        package var samples: Double
    }

    package struct Source: Hashable, Sendable, Encodable {
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
    package var disk: Disk
    package var sources: [Source]
    /// Sources of which nothing is said, because there are too many.
    package var omittedSources: Double

    /// - Parameter metrics: as ``CollectorMetrics`` wrote them, in this version or another.
    package init(_ metrics: MetricReading) {
        version = metrics.all("tributary_build_info").first?.labels["version"] ?? ""
        isReady = metrics.number("tributary_ready") == 1
        progressAgeSeconds = metrics.number("tributary_progress_age_seconds")
        session = metrics.all("tributary_session_info").first?.labels["session"]
        sessionSeconds = metrics.number("tributary_session_seconds")
        residentBytes = metrics.number("process_resident_memory_bytes")
        refusedConnections = metrics.all("tributary_refused_connections_total")
            .filter(\.value.isFinite).reduce(0) { $0 + $1.value }
        disk = Disk(metrics)
        omittedSources = metrics.number("tributary_sources_omitted") ?? 0
        sources = Self.sources(metrics)
    }

    private static func sources(_ metrics: MetricReading) -> [Source] {
        var columns: [String: [String: Double]] = [:]
        func value(_ name: String, of source: String) -> Double? {
            if let column = columns[name] { return column[source] }
            var column: [String: Double] = [:]
            for sample in metrics.all("tributary_source_\(name)") {
                if let source = sample.labels["source"], sample.value.isFinite {
                    column[source] = sample.value
                }
            }
            columns[name] = column
            return column[source]
        }
        let gaps = gaps(metrics)
        let known = metrics.all("tributary_source_info").compactMap { info in
            info.labels["source"].map { ($0, info.labels["agent"] ?? "") }
        }
        return known.sorted { $0.0 < $1.0 }.map { name, agent in
            let own = gaps[name] ?? []
            return Source(
                name: name, agent: agent, isConnected: value("connected", of: name) == 1,
                isRecorded: value("recorded", of: name) == 1,
                isStopped: value("stopped", of: name) == 1,
                picturesPerSecond: value("pictures_per_second", of: name) ?? 0,
                bitsPerSecond: (value("bytes_per_second", of: name) ?? 0) * 8,
                lagSeconds: value("lag_seconds", of: name),
                spoolBytes: value("spool_bytes", of: name),
                clockOffsetSeconds: value("clock_offset_seconds", of: name),
                clockBoundSeconds: value("clock_bound_seconds", of: name),
                persistedAgeSeconds: value("persisted_age_seconds", of: name) ?? 0,
                lostSamples: own.reduce(0) { $0 + $1.samples }, gaps: own)
        }
    }

    private static func gaps(_ metrics: MetricReading) -> [String: [Gap]] {
        var samples: [[String: String]: Double] = [:]
        for sample in metrics.all("tributary_source_lost_samples_total")
        where sample.value.isFinite {
            samples[sample.labels] = sample.value
        }
        var gaps: [String: [Gap]] = [:]
        for sample in metrics.all("tributary_source_gaps_total")
        where sample.value > 0 && sample.value.isFinite {
            guard let source = sample.labels["source"], let cause = sample.labels["cause"] else {
                continue
            }
            gaps[source, default: []].append(
                Gap(cause: cause, count: sample.value, samples: samples[sample.labels] ?? 0))
        }
        return gaps.mapValues { own in
            own.sorted { ($0.samples, $0.count, $1.cause) > ($1.samples, $1.count, $0.cause) }
        }
    }
}

extension MetricReading {
    /// What can be counted with, and written as JSON.
    fileprivate func number(_ name: String) -> Double? {
        value(name).flatMap { $0.isFinite ? $0 : nil }
    }
}

extension SiteView.Disk {
    fileprivate init(_ metrics: MetricReading) {
        freeBytes = metrics.number("tributary_disk_free_bytes")
        sizeBytes = metrics.number("tributary_disk_size_bytes")
        reserveBytes = metrics.number("tributary_disk_reserve_bytes")
        daysLeft = metrics.number("tributary_disk_days_left")
        removesOldSegments = metrics.number("tributary_retention_active") == 1
        filesWithoutRoom = metrics.number("tributary_disk_files_without_room") ?? 0
        stuckFiles = metrics.number("tributary_disk_stuck_files") ?? 0
        busySeconds = metrics.number("tributary_disk_busy_seconds") ?? 0
        if let sum = metrics.number("tributary_fdatasync_seconds_sum"),
            let count = metrics.number("tributary_fdatasync_seconds_count"), count > 0
        {
            fdatasyncSeconds = sum / count
        }
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
