import Media

/// The metrics of each source.
enum SourceMetrics {
    /// Each with its label besides the source's name, if there are several.
    private typealias Values = [(label: MetricText.Labels, value: Double)]

    /// One metric, with any number of values per source.
    private struct Column {
        var name: String
        var kind: MetricText.Kind
        var help: String
        var values: (SourceStatus) -> Values
    }

    static func add(_ sources: [SourceStatus], to text: inout MetricText) {
        text.begin(
            "tributary_source_info", .gauge,
            "Agent and software of a source, and the source that it is the preview of; always 1.")
        let previews = SourcePreviews(sources.map(\.name))
        for source in sources {
            let main = previews.source(of: source.name).map { [("preview_of", $0)] } ?? []
            text.add(
                "tributary_source_info",
                [("source", source.name), ("agent", source.agent), ("software", source.software)]
                    + main, 1 as UInt64)
        }
        for column in columns {
            text.begin(column.name, column.kind, column.help)
            for source in sources {
                for (label, value) in column.values(source) {
                    text.add(column.name, [("source", source.name)] + label, value)
                }
            }
        }
    }

    private static var columns: [Column] { presence + flow + clock + labelled }

    private static func gauge(
        _ name: String, _ help: String, _ value: @escaping (SourceStatus) -> Double?
    ) -> Column {
        Column(name: name, kind: .gauge, help: help) { value($0).map { [([], $0)] } ?? [] }
    }

    private static func counter(
        _ name: String, _ help: String, _ count: @escaping (SourceStatus) -> UInt64?
    ) -> Column {
        Column(name: name, kind: .counter, help: help) {
            count($0).map { [([], Double($0))] } ?? []
        }
    }

    private static var presence: [Column] {
        [
            gauge("tributary_source_connected", "Whether the agent is connected.") {
                $0.isConnected ? 1 : 0
            },
            gauge(
                "tributary_source_recorded",
                "Whether the source is part of the session and has not ended."
            ) { $0.isRecorded ? 1 : 0 },
            gauge(
                "tributary_source_stopped",
                "Whether the capture was stopped by a command; no samples are expected then."
            ) { $0.isStopped ? 1 : 0 },
            gauge(
                "tributary_source_elsewhere",
                "Whether another collector has the source of the session that is not connected here."
            ) { $0.elsewhere == nil ? 0 : 1 },
            gauge(
                "tributary_source_moved",
                "Whether the agent has left another collector for this one since it started."
            ) { $0.report.map { $0.moved.isEmpty ? 0 : 1 } },
            counter("tributary_source_connections_total", "Connections of the source.") {
                $0.counts.connections
            },
            counter("tributary_source_segments_begun_total", "Segments started.") {
                $0.counts.segmentsBegun
            },
            counter("tributary_source_segments_finished_total", "Segments finished.") {
                $0.counts.segmentsFinished
            },
            gauge(
                "tributary_source_persisted_age_seconds",
                "Age of the oldest received data that is not durable; 0: all data is durable."
            ) { $0.persistedAgeSeconds },
            gauge(
                "tributary_source_unreleased_age_seconds",
                "Age of the oldest received data that is not in the object store; with --release stored only."
            ) { $0.unreleased?.ageSeconds },
            gauge(
                "tributary_source_unreleased_bytes",
                "Received payload that is not in the object store; with --release stored only."
            ) { $0.unreleased.map { Double($0.bytes) } },
            gauge(
                "tributary_source_spool_bytes",
                "Bytes that the agent keeps because they are not durable here; 0: none."
            ) { $0.report.map { Double($0.keptBytes) } },
            gauge(
                "tributary_source_report_age_seconds", "Seconds since the last report of the agent."
            ) {
                $0.report?.ageSeconds
            },
            counter(
                "tributary_source_agent_lost_samples_total",
                "Samples lost on the box since the agent started."
            ) { $0.report?.lostSamples },
        ]
    }

    private static var flow: [Column] {
        [
            gauge("tributary_source_pictures_per_second", "Pictures received in the last second.") {
                $0.picturesPerSecond
            },
            gauge("tributary_source_bytes_per_second", "Payload received in the last second.") {
                $0.bitsPerSecond / 8
            },
            gauge(
                "tributary_source_lag_seconds",
                "Delay of the newest sample from capture to the collector; none while the capture is stopped."
            ) { $0.lagSeconds },
            counter("tributary_source_pictures_total", "Pictures received.") { $0.counts.pictures },
            counter("tributary_source_sound_packets_total", "\(AudioCodec.list) packets received.")
            {
                $0.counts.soundPackets
            },
            counter("tributary_source_received_bytes_total", "Payload received.") {
                $0.counts.receivedBytes
            },
            counter("tributary_source_written_bytes_total", "Payload written to the disk.") {
                $0.counts.writtenBytes
            },
        ]
    }

    private static var clock: [Column] {
        [
            gauge(
                "tributary_source_clock_offset_seconds",
                "Clock offset: the collector's monotonic clock minus the box's."
            ) { $0.clock.map { Double($0.offsetNanoseconds) / 1e9 } },
            gauge(
                "tributary_source_clock_bound_seconds",
                "Error bound of the timestamps of the newest sample."
            ) { $0.clock.map { Double($0.boundNanoseconds) / 1e9 } },
            gauge(
                "tributary_source_clock_skew_ratio",
                "Clock skew: how much faster the collector's clock runs than the box's; 1e-6: one microsecond a second."
            ) { $0.clock.map { Double($0.skewPPB) / 1e9 } },
        ]
    }

    private static var labelled: [Column] {
        [
            Column(
                name: "tributary_source_gaps_total", kind: .counter,
                help: "Gaps in the recording, by cause."
            ) { gaps(of: $0, \.count) },
            Column(
                name: "tributary_source_lost_samples_total", kind: .counter,
                help: "Samples in those gaps, where the number is known."
            ) { gaps(of: $0, \.samples) },
            Column(
                name: "tributary_source_owed_bytes", kind: .gauge,
                help:
                    "Bytes that the box keeps for a collector that lacks them; with --release mirrored only."
            ) { owed(of: $0, \.bytes) },
            Column(
                name: "tributary_source_owed_records", kind: .gauge,
                help: "Numbers of those records; a record of samples counts each of them."
            ) { owed(of: $0, \.records) },
            Column(
                name: "tributary_source_sound_peak_decibels", kind: .gauge,
                help: "Peak level since the previous report, in dBFS."
            ) {
                ($0.report?.soundPeaks ?? []).enumerated().map {
                    ([("channel", "\($0 + 1)")], $1)
                }
            },
        ]
    }

    private static func gaps(
        of source: SourceStatus, _ value: KeyPath<SourceCounts.Gaps, UInt64>
    ) -> Values {
        source.counts.gaps.sorted { $0.key < $1.key }.map {
            ([("cause", $0)], Double($1[keyPath: value]))
        }
    }

    private static func owed(
        of source: SourceStatus, _ value: KeyPath<SourceStatus.Owed, Double>
    ) -> Values {
        // A label's values must differ.
        var told: Set<String> = []
        return (source.report?.owed ?? []).filter { told.insert($0.collector).inserted }.map {
            ([("collector", $0.collector)], $0[keyPath: value])
        }
    }
}
