/// A collector's `/metrics`: its status in Prometheus' text format.
///
/// Base units (seconds, bytes), and names that begin with `tributary_`, or `process_` for common process metrics.
/// Labels have a bounded number of values: sources are limited by the collector, causes and reasons by this version.
package enum CollectorMetrics {
    /// - Parameters:
    ///   - status: nil: it has not begun to receive.
    ///   - readiness: as in `/readyz`.
    ///   - process: nil if the system does not provide it.
    package static func text(
        _ status: CollectorStatus?, ageSeconds: Double?, readiness: HealthAnswer, version: String,
        process: ProcessFigures?
    ) -> String {
        var text = MetricText()
        text.begin("tributary_build_info", .gauge, "Version of the collector; always 1.")
        text.add("tributary_build_info", [("version", version)], 1 as UInt64)
        text.single(
            "tributary_ready", .gauge,
            "Whether the collector accepts samples, as in /readyz; 1 also while it is drained.",
            readiness.isWell ? 1 : 0 as UInt64)
        text.single(
            "tributary_progress_age_seconds", .gauge,
            "Seconds since the last turn of the receiving thread, which turns about once a second.",
            ageSeconds)
        process?.add(to: &text)
        guard let status else { return text.text }
        add(sessionsOf: status, to: &text)
        add(status.disk, to: &text)
        add(connectionsOf: status, to: &text)
        text.histogram(
            "tributary_capture_to_durable_seconds",
            "From the capture of a fragment's oldest sample until it was durable here.",
            status.captureToDurable)
        status.cost.add(to: &text)
        status.store?.add(to: &text)
        if !status.peers.isEmpty { PeerClockStatus.add(status.peers, to: &text) }
        SourceMetrics.add(status.sources, to: &text)
        return text.text
    }

    private static func add(sessionsOf status: CollectorStatus, to text: inout MetricText) {
        text.single(
            "tributary_session_active", .gauge, "Whether a session is being recorded.",
            status.session == nil ? 0 : 1 as UInt64)
        text.begin("tributary_session_info", .gauge, "The session being recorded.")
        if let session = status.session {
            text.add("tributary_session_info", [("session", session)], 1 as UInt64)
        }
        text.single(
            "tributary_session_seconds", .gauge, "Seconds since the session zero.",
            status.sessionSeconds)
        text.single(
            "tributary_sessions_begun_total", .counter, "Sessions started.",
            status.sessionsBegun)
        text.single(
            "tributary_sessions_ended_total", .counter, "Sessions ended.",
            status.sessionsEnded)
        text.single(
            "tributary_catalog_kept", .gauge,
            "Whether the catalog matches the files; 0 while it is rebuilt or its server is unavailable.",
            status.hasCatalog ? 1 : 0 as UInt64)
    }

    private static func add(_ disk: DiskStatus, to text: inout MetricText) {
        text.single(
            "tributary_disk_free_bytes", .gauge, "Free space on the archive's disk.",
            disk.freeBytes.map { Double($0) })
        text.single(
            "tributary_disk_size_bytes", .gauge, "Size of the archive's disk.",
            disk.sizeBytes.map { Double($0) })
        text.single(
            "tributary_disk_reserve_bytes", .gauge,
            "Minimum free disk space; no media is written below it.",
            disk.reserveBytes.map { Double($0) })
        text.single(
            "tributary_disk_seconds_left", .gauge,
            "Time until free space reaches the reserve, without removal, at the rate of the last ten minutes; none until two have been measured.",
            disk.secondsLeft)
        text.single(
            "tributary_disk_written_bytes_total", .counter, "Media written.", disk.writtenBytes)
        text.single(
            "tributary_disk_files_without_room", .gauge,
            "Files that wait for disk space; agents keep their samples.", disk.filesWithoutRoom)
        text.single(
            "tributary_disk_stuck_files", .gauge,
            "Files that cannot be written for another reason than lack of space.", disk.stuckFiles)
        text.single(
            "tributary_disk_busy_seconds", .gauge,
            "Duration of the writing thread's current operation.", disk.busySeconds)
        text.histogram(
            "tributary_fdatasync_seconds", "Duration of one fdatasync of a file.",
            disk.synchronising)
        text.single(
            "tributary_retention_active", .gauge, "Whether old segments are removed.",
            disk.removesOldSegments ? 1 : 0 as UInt64)
    }

    private static func add(connectionsOf status: CollectorStatus, to text: inout MetricText) {
        text.single(
            "tributary_removed_segments_total", .counter, "Segments removed by retention.",
            status.removedSegments)
        text.single(
            "tributary_failed_files_total", .counter,
            "Files that failed and were closed with their durable data; the rest is sent again.",
            status.failedFiles)
        let name = "tributary_refused_connections_total"
        text.begin(name, .counter, "Connections refused or closed, by reason.")
        for reason in ConnectionRefusal.allCases {
            text.add(
                name, [("reason", reason.rawValue)], status.refusedConnections[reason] ?? 0)
        }
        text.single(
            "tributary_refused_messages_total", .counter,
            "Messages whose sender was refused.", status.refusedMessages)
        text.single(
            "tributary_repeated_records_total", .counter,
            "Repeated records after a reconnect, dropped.", status.repeatedRecords)
        text.single(
            "tributary_sources_connected", .gauge, "Connected sources.",
            UInt64(status.sources.count(where: \.isConnected)))
        text.single(
            "tributary_sources_omitted", .gauge,
            "Sources without metrics because there are too many.", status.omittedSources)
    }
}
