import Testing

@testable import Operations
@testable import TestMetrics

@Suite struct MetricTextTests {
    private func metrics(
        _ status: CollectorStatus?, process: ProcessFigures? = nil, age: Double? = 0.5
    ) -> String {
        CollectorMetrics.text(
            status, ageSeconds: age, readiness: HealthAnswer(isWell: true, text: "well"),
            version: "1.2.3", process: process)
    }

    @Test func `any label value is escaped and read back`() throws {
        let odd = "a\\b\"c\nd,e=}{ é"
        var text = MetricText()
        text.begin("things", .gauge, "Back\\slash and\nline.")
        text.add("things", [("name", odd), ("other", "")], 1.5)
        #expect(
            text.text == """
                # HELP things Back\\\\slash and\\nline.
                # TYPE things gauge
                things{name="a\\\\b\\"c\\nd,e=}{ é",other=""} 1.5

                """)
        let read = try MetricReading(text.text)
        #expect(
            read.all("things") == [.init(labels: ["name": odd, "other": ""], value: 1.5)])
    }

    @Test(
        arguments: [
            (0, "0"), (1, "1"), (-6, "-6"), (0.0005, "0.0005"), (1e-9, "1e-09"), (1e20, "1e+20"),
            (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (4_100_000, "4100000"),
        ] as [(Double, String)])
    func `numbers are written as Go reads them`(value: Double, written: String) throws {
        var text = MetricText()
        text.add("x", value)
        #expect(text.text == "x \(written)\n")
        let read = try #require(MetricReading(text.text).value("x"))
        #expect(read == value || (read.isNaN && value.isNaN))
    }

    @Test func `a histogram's buckets are cumulative, and the last has every value`() throws {
        var histogram = LatencyHistogram()
        for milliseconds in [0, 1, 2, 2_000, 60_000] { histogram.add(.milliseconds(milliseconds)) }
        var text = MetricText()
        text.histogram("t_seconds", "Times.", histogram)
        let read = try MetricReading(text.text)
        let buckets = read.all("t_seconds_bucket")
        #expect(buckets.map(\.value) == buckets.map(\.value).sorted())
        func upTo(_ bound: String) -> Double? {
            buckets.first { $0.labels["le"] == bound }?.value
        }
        #expect(upTo("0.0005") == 1)
        #expect(upTo("0.001") == 2)
        #expect(upTo("0.0025") == 3)
        #expect(upTo("1") == 3)
        #expect(upTo("2.5") == 4)
        #expect(upTo("10") == 4)
        #expect(upTo("+Inf") == 5)
        #expect(read.value("t_seconds_count") == 5)
        #expect(abs((read.value("t_seconds_sum") ?? 0) - 62.003) < 1e-9)
    }

    @Test func `every metric has one HELP and one TYPE line before its values`() throws {
        let text = metrics(.full, process: .current())
        var helped: Set<String> = []
        var kinds: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3)
            if line.hasPrefix("# HELP") {
                #expect(helped.insert(String(words[2])).inserted, "\(line)")
                #expect(words.count == 4 && words[3].hasSuffix("."), "\(line)")
            } else if line.hasPrefix("# TYPE") {
                #expect(helped.contains(String(words[2])), "\(line)")
                #expect(kinds.updateValue(String(words[3]), forKey: String(words[2])) == nil)
            } else {
                let name = String(line.prefix { $0 != "{" && $0 != " " })
                let series = ["_bucket", "_sum", "_count"].first { suffix in
                    name.hasSuffix(suffix)
                        && kinds[String(name.dropLast(suffix.count))] == "histogram"
                }
                let base = String(name.dropLast(series?.count ?? 0))
                #expect(kinds[base] != nil, "\(line) comes before it is known what it is")
            }
        }
        for (name, kind) in kinds {
            #expect((kind == "counter") == name.hasSuffix("_total"), "\(name) is a \(kind)")
            #expect(
                name.hasPrefix("tributary_") || name.hasPrefix("process_"), "\(name)")
        }
    }

    @Test func `unknown values are left out, and known ones are right`() throws {
        let read = try MetricReading(metrics(.full, process: .current()))
        #expect(read.value("tributary_disk_seconds_left") == 99_000_000_000.0 / 500_000)
        #expect(read.value("tributary_disk_free_bytes") == 100_000_000_000)
        #expect(read.value("tributary_disk_reserve_bytes") == 1_000_000_000)
        #expect(read.value("tributary_disk_written_bytes_total") == 14_900_000)
        #expect(
            read.all("tributary_source_clock_offset_seconds")
                == [.init(labels: ["source": "stage"], value: -0.123456789)])
        #expect(read.all("tributary_source_sound_peak_decibels").count == 2)
        #expect(
            read.all("tributary_refused_connections_total").count
                == ConnectionRefusal.allCases.count)
        #expect(
            read.all("tributary_refused_connections_total").filter { $0.value > 0 } == [
                .init(labels: ["reason": "unknown_key"], value: 1),
                .init(labels: ["reason": "version"], value: 2),
            ])
        #expect(
            read.all("tributary_source_clock_skew_ratio")
                == [.init(labels: ["source": "stage"], value: 12.5e-6)])
        #expect(try #require(read.value("process_resident_memory_bytes")) > 100_000)
        #expect(try #require(read.value("process_open_fds")) >= 3)
        #expect(try #require(read.value("process_start_time_seconds")) > 1_600_000_000)

        let early = try MetricReading(metrics(nil, age: nil))
        #expect(early.names == ["tributary_build_info", "tributary_ready"])

        let idle = try MetricReading(metrics(CollectorStatus(sources: [SourceStatus(name: "a")])))
        for name in [
            "tributary_disk_seconds_left", "tributary_disk_free_bytes", "tributary_session_seconds",
            "tributary_session_info",
        ] {
            #expect(!idle.names.contains(name))
        }
        #expect(!idle.names.contains("tributary_source_lag_seconds"))
        #expect(idle.value("tributary_session_active") == 0)
    }

    @Test(arguments: [
        "name", "name{", "name{a}", "name{a=b} 1", "name{a=\"b} 1", "name{a=\"b\" c} 1", "{} 1",
        "name x", "name{a=\"b\\", "1 name",
    ])
    func `text that is not valid is refused with its line`(line: String) throws {
        let error = try #require(throws: MetricTextError.self) {
            try MetricReading("# fine\n\nok 1\n\(line)\n")
        }
        guard case .malformed(line: 4, _) = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test func `the text format of other programs is read`() throws {
        let read = try MetricReading(
            "a{b=\"c\", d = \"e\" ,} 1.5e3 1700000000\r\n  f\t+Inf\n#a 7\n")
        #expect(read.all("a") == [.init(labels: ["b": "c", "d": "e"], value: 1_500)])
        #expect(read.value("f") == .infinity)
    }

    @Test func `the cost of recording is exported, and shown per stream-minute`() throws {
        let cost = CollectorStatus.full.cost
        let read = try MetricReading(metrics(.full))
        #expect(read.value("tributary_stream_seconds_total") == 3_840)
        #expect(read.value("tributary_receiver_wakeups_total") == 1_344)
        #expect(read.value("tributary_copied_bytes_total") == 8_320_000)
        #expect(
            cost.line
                == "64.0 stream-minutes; each cost 0.080 CPU seconds, 21.0 wake-ups, 130 kB copied, 62.0 fdatasyncs"
        )
        var nothing = cost
        nothing.streamSeconds = 0.9
        #expect(nothing.line == nil)
        // Rounding carries.
        var other = RecordingCost()
        other.streamSeconds = 60
        other.cpuSeconds = 0.9996
        #expect(other.line?.contains("each cost 1.000 CPU seconds, 0.000 wake-ups") == true)
    }
}
