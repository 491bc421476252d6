/// The part of the metrics that every source has.
enum SourceMetrics {
    /// One metric of all sources: a value for each, or none.
    private struct Column {
        var name: String
        var kind: MetricText.Kind
        var help: String
        var value: (SourceStatus) -> Double?
    }

    static func add(_ sources: [SourceStatus], to text: inout MetricText) {
        text.begin("tributary_source_info", .gauge, "Who sends a source; always 1.")
        for source in sources {
            text.add(
                "tributary_source_info",
                [("source", source.name), ("agent", source.agent), ("software", source.software)],
                1 as UInt64)
        }
        for column in columns {
            text.begin(column.name, column.kind, column.help)
            for source in sources {
                if let value = column.value(source) {
                    text.add(column.name, [("source", source.name)], value)
                }
            }
        }
        addGaps(sources, to: &text)
        let peak = "tributary_source_sound_peak_decibels"
        text.begin(peak, .gauge, "The loudest since the agent's report before; 0: full scale.")
        for source in sources {
            for (channel, value) in (source.report?.soundPeaks ?? []).enumerated() {
                text.add(peak, [("source", source.name), ("channel", "\(channel + 1)")], value)
            }
        }
    }

    private static func addGaps(_ sources: [SourceStatus], to text: inout MetricText) {
        let metrics: [(String, String, KeyPath<SourceStatus.Gaps, UInt64>)] = [
            ("tributary_source_gaps_total", "Gaps in the recording, by cause.", \.count),
            (
                "tributary_source_lost_samples_total",
                "Samples in those gaps, as far as it is known how many they were.", \.samples
            ),
        ]
        for (name, help, value) in metrics {
            text.begin(name, .counter, help)
            for source in sources {
                for (cause, gaps) in source.gaps.sorted(by: { $0.key < $1.key }) {
                    text.add(
                        name, [("source", source.name), ("cause", cause)], gaps[keyPath: value])
                }
            }
        }
    }

    private static var columns: [Column] { presence + flow + clock }

    private static var presence: [Column] {
        [
            Column(
                name: "tributary_source_connected", kind: .gauge, help: "Whether it is connected."
            ) { $0.isConnected ? 1 : 0 },
            Column(
                name: "tributary_source_recorded", kind: .gauge,
                help: "Whether it has a place in the session, and has not said goodbye."
            ) { $0.isRecorded ? 1 : 0 },
            Column(
                name: "tributary_source_connections_total", kind: .counter,
                help: "How often it has come, or come back."
            ) { Double($0.connections) },
            Column(
                name: "tributary_source_segments_begun_total", kind: .counter,
                help: "Files that were begun."
            ) { Double($0.segmentsBegun) },
            Column(
                name: "tributary_source_segments_finished_total", kind: .counter,
                help: "Files that became ordinary MP4."
            ) { Double($0.segmentsFinished) },
            Column(
                name: "tributary_source_persisted_age_seconds", kind: .gauge,
                help:
                    "For how long something has been here without becoming durable; 0: everything is."
            ) { $0.persistedAgeSeconds },
            Column(
                name: "tributary_source_spool_bytes", kind: .gauge,
                help: "What the agent keeps because it is not durable here."
            ) { $0.report.map { Double($0.keptBytes) } },
            Column(
                name: "tributary_source_report_age_seconds", kind: .gauge,
                help: "Since the agent has told of itself."
            ) { $0.report?.ageSeconds },
            Column(
                name: "tributary_source_agent_lost_samples_total", kind: .counter,
                help: "Samples lost on the box since the agent started."
            ) { $0.report.map { Double($0.lostSamples) } },
        ]
    }

    private static var flow: [Column] {
        [
            Column(
                name: "tributary_source_pictures_per_second", kind: .gauge,
                help: "Pictures received in the last second."
            ) { $0.picturesPerSecond },
            Column(
                name: "tributary_source_bytes_per_second", kind: .gauge,
                help: "Payload received in the last second."
            ) { $0.bitsPerSecond / 8 },
            Column(
                name: "tributary_source_lag_seconds", kind: .gauge,
                help: "From capture to the collector, of the newest sample."
            ) { $0.lagSeconds },
            Column(
                name: "tributary_source_pictures_total", kind: .counter, help: "Pictures received."
            ) { Double($0.pictures) },
            Column(
                name: "tributary_source_sound_packets_total", kind: .counter,
                help: "AAC packets received."
            ) { Double($0.soundPackets) },
            Column(
                name: "tributary_source_received_bytes_total", kind: .counter,
                help: "Payload received."
            ) { Double($0.receivedBytes) },
            Column(
                name: "tributary_source_written_bytes_total", kind: .counter,
                help: "Payload written to the disk."
            ) { Double($0.writtenBytes) },
        ]
    }

    private static var clock: [Column] {
        [
            Column(
                name: "tributary_source_clock_offset_seconds", kind: .gauge,
                help: "The collector's monotonic clock less the box's."
            ) { $0.clock.map { Double($0.offsetNanoseconds) / 1e9 } },
            Column(
                name: "tributary_source_clock_bound_seconds", kind: .gauge,
                help: "How far off the times of its newest sample may be."
            ) { $0.clock.map { Double($0.boundNanoseconds) / 1e9 } },
            Column(
                name: "tributary_source_clock_skew_ppm", kind: .gauge,
                help:
                    "How much faster the collector's clock runs than the box's, parts per million."
            ) { $0.clock.map { Double($0.skewPPB) / 1e3 } },
        ]
    }
}
