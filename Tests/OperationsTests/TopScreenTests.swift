import Testing

@testable import Operations

@Suite struct TopScreenTests {
    private func view(_ change: (inout CollectorStatus) -> Void = { _ in }) throws -> SiteView {
        var status = CollectorStatus.full
        status.store = nil
        change(&status)
        let board = StatusBoard.at { 7 }
        board.publish(status)
        return try SiteView(decoding: board.view.encoded())
    }

    private func texts(_ view: SiteView, columns: Int? = nil, rows: Int? = nil) -> [String] {
        TopScreen(view, place: "here").lines(columns: columns, rows: rows).map(\.text)
    }

    @Test func `a view has the status's values, and is the same after JSON`() throws {
        let view = try view()
        #expect(view.isReady)
        #expect(view.version == "1.2.3")
        #expect(view.session == "2026-11-20T22-40-00.000Z")
        #expect(view.refusedConnections == 3)
        #expect(
            view.refusals == [
                .init(reason: "version", count: 2), .init(reason: "unknown_key", count: 1),
            ])
        let source = try #require(view.sources.first)
        #expect(source.name == "stage")
        #expect(source.agent == "box7")
        #expect(source.state == "live")
        #expect(source.clockBoundSeconds == 0.00025)
        #expect(source.spoolBytes == 500_000)
        #expect(source.gaps == [.init(cause: "driver_drop", count: 1, samples: 7)])
        #expect(source.lostSamples == 7)
        #expect(try #require(view.disk.daysLeft) > 2)
    }

    @Test func `a drained collector is shown as drained`() throws {
        let line = "DRAINED: agents that have another collector are sent there"
        #expect(try texts(view { $0.isDraining = true }).contains { $0.hasPrefix(line) })
        let view = try view()
        #expect(view.isDraining == nil && !texts(view).contains { $0.hasPrefix("DRAINED") })
    }

    @Test func `previews are marked with their source and counted separately`() throws {
        let view = try view { status in
            var preview = SourceStatus(name: "stage.preview")
            preview.isConnected = true
            status.sources.append(preview)
            var other = SourceStatus(name: "gate.preview")
            other.isConnected = true
            status.sources.append(other)
        }
        #expect(view.sources.map(\.name) == ["gate.preview", "stage", "stage.preview"])
        // There is no source "gate".
        #expect(view.sources.map(\.previewOf) == [nil, nil, "stage"])
        #expect(texts(view)[0].contains(" · 2 sources · 1 preview · "))
        var narrow = view
        narrow.removeSources { $0 == "stage" }
        #expect(narrow.sources.map(\.previewOf) == [nil, nil])
    }

    @Test func `metrics name the source of a preview`() {
        var text = MetricText()
        SourceMetrics.add(
            ["stage", "stage.preview"].map { SourceStatus(name: $0) }, to: &text)
        let lines = text.text.split(separator: "\n").filter {
            $0.hasPrefix("tributary_source_info{")
        }
        #expect(lines.count == 2)
        #expect(!lines[0].contains("preview_of"))
        #expect(
            lines[1].contains(#"source="stage.preview""#)
                && lines[1].contains(#"preview_of="stage""#))
    }

    @Test func `a wide terminal shows everything`() throws {
        let lines = try texts(view())
        #expect(
            lines[0]
                == "here: 2026-11-20T22-40-00.000Z, 1:00:00 · 1 source · 4.1 Mbit/s · "
                + "3 connections refused: version 2, unknown key 1"
        )
        #expect(lines[1].contains("100 GB free of 500 GB · reserve 1 GB · 2.3 days left"))
        #expect(
            lines[2]
                == "SOURCE  STATE  FPS     BITRATE     LAG   SPOOL     OFFSET  ± BOUND  GAPS")
        #expect(
            lines[3]
                == "stage   live    30  4.1 Mbit/s  200 ms  500 kB  -123.5 ms   250 µs  driver drop 7"
        )
        #expect(
            lines[4]
                == "stage: left tcp://c:5550: nothing was heard of it for 3 s; 25 MB kept for west")
        #expect(lines.count == 5)
    }

    @Test func `a source whose capture is incomplete is emphasised, with the reason`() throws {
        let view = try view {
            $0.sources[0].report?.moved = ""
            $0.sources[0].report?.owed = []
            $0.sources[0].report?.trouble = "no video: the camera\nis away"
        }
        #expect(view.sources[0].trouble == "no video: the camera\nis away")
        let lines = TopScreen(view, place: "here").lines()
        #expect(lines[3].emphasis == .alarming)
        #expect(lines.last?.text == "stage: no video: the camera\\u{a}is away")
    }

    @Test func `a source that was not moved and owes nothing has no line below the table`() throws {
        let view = try view {
            $0.sources[0].report?.moved = ""
            $0.sources[0].report?.owed = [.init(collector: "west", records: 10, bytes: 9_999_999)]
        }
        #expect(view.sources[0].moved == nil)
        #expect(view.sources[0].owed == [.init(collector: "west", records: 10, bytes: 9_999_999)])
        #expect(texts(view).count == 4)
        // A collector of an earlier version says nothing of it.
        let json = String(decoding: try view.encoded(), as: UTF8.self)
        let earlier = json.replacing(#/,\n? *"owed" ?: ?\[[^\]]*\]/#, with: "")
        #expect(earlier != json)
        #expect(try SiteView(decoding: Array(earlier.utf8)).sources[0].owed == nil)
    }

    @Test func `the most frequent refusal reasons are named, the others counted`() throws {
        let view = try view {
            $0.refusedConnections = [
                .revokedKey: 60, .version: 5, .limit: 3, .silent: 2, .flood: 1, .malformed: 0,
            ]
        }
        #expect(
            texts(view)[0].hasSuffix(
                " · 71 connections refused: revoked key 60, version 5, limit 3, +2"))
        #expect(
            RefusalText.line([.revokedKey: 60, .version: 11])
                == "refused 71 connections: revoked key 60, version 11")
        #expect(RefusalText.line([.flood: 1]) == "refused 1 connection: flood 1")
        #expect(RefusalText.line([.flood: 0]) == nil)
    }

    @Test func `refusals without reasons are shown as a number`() throws {
        var view = try view()
        view.refusals = nil
        let read = try SiteView(decoding: view.encoded())
        #expect(texts(read)[0].hasSuffix(" · 3 connections refused"))
    }

    @Test(
        arguments: [
            (0, "less than a minute"), (59, "less than a minute"), (60, "1 minute"),
            (256, "4 minutes"), (7_199, "119 minutes"), (7_200, "2 hours"), (9_000, "2.5 hours"),
            (172_799, "48 hours"), (200_000, "2.3 days"),
        ] as [(Double, String)])
    func `the unit of the time until the disk is full fits the value`(
        seconds: Double, text: String
    ) throws {
        let view = try view { status in
            status.disk.freeBytes = 1_000_000_000 + UInt64(seconds * 1_000)
            status.disk.writtenBytesPerSecond = 1_000
        }
        #expect(texts(view)[1].contains(" · \(text) left · "), "\(texts(view)[1])")
    }

    @Test func `the time until the disk is full is omitted while the rate is unknown`() throws {
        let view = try view { $0.disk.writtenBytesPerSecond = nil }
        #expect(view.disk.daysLeft == nil)
        #expect(!texts(view)[1].contains("left"))
    }

    @Test func `an object store has a line, and another one when it cannot be used`() throws {
        let well = try texts(view { $0.store = CollectorStatus.full.store })
        #expect(
            well[2]
                == "store: s3://bucket/archive · 3 segments wait (900 MB), the oldest for 0:12:34 · 120 stored · "
                + "80 local copies removed · 1 refused · retention done here")
        let away = try texts(
            view { status in
                status.store = StoreStatus(name: "s3://bucket/archive")
                status.store?.trouble = "s3://bucket/archive does not answer"
            })
        #expect(away[2] == "store: s3://bucket/archive · nothing waits · 0 stored")
        #expect(away[3] == "NOT UPLOADING: s3://bucket/archive does not answer")
        let shared = try texts(
            view {
                $0.store = StoreStatus(name: "s3://bucket/archive")
                $0.store?.retention = LeaseStatus(state: .taken, holder: "west")
            })
        #expect(
            shared[2]
                == "store: s3://bucket/archive · nothing waits · 0 stored · retention done by west")
    }

    @Test func `on a narrow terminal, columns are dropped, and no line wraps`() throws {
        let view = try view()
        func table(_ columns: Int) -> [String] {
            texts(view, columns: columns).drop { !$0.hasPrefix("SOURCE") }.map(\.self)
        }
        #expect(table(78)[0] == "SOURCE  STATE  FPS     BITRATE     LAG   SPOOL  ± BOUND  GAPS")
        #expect(table(78)[1].hasSuffix("driver drop 7"))
        #expect(!table(66)[0].contains("BOUND"))
        #expect(table(66)[1].hasSuffix("driver drop 7"))
        #expect(table(20)[0] == "SOURCE  FPS     LAG")
        for columns in 1...120 {
            for line in texts(view, columns: columns) { #expect(line.count <= columns) }
        }
    }

    @Test func `on a terminal of eighty columns the disk's line is complete`() throws {
        let view = try view { status in
            status.disk.removesOldSegments = true
            status.sources[0].report?.moved = ""
            status.sources[0].report?.owed = []
            status.sources[0].counts.gaps["clock_jump"] = .init(count: 1, samples: 0)
            status.sources[0].counts.gaps["spool_full"] = .init(count: 900, samples: 123_456)
        }
        let lines = texts(view, columns: 80, rows: 24)
        #expect(lines[1] == "  3 connections refused: version 2, unknown key 1")
        #expect(lines.allSatisfy { !$0.contains("…") }, "\(lines)")
        let disk = lines.drop { !$0.hasPrefix("disk:") }.prefix(2).joined(separator: " ")
        #expect(disk.contains("2.3 days until removal"))
        #expect(disk.contains("version 1.2.3"))
        #expect(lines.last?.hasSuffix("spool full 123456, +2") == true, "\(lines)")
    }

    @Test func `a source that was stopped by command is stopped, not late`() throws {
        let view = try view { status in
            status.sources[0].isStopped = true
            status.sources[0].lagSeconds = nil
            status.sources[0].persistedAgeSeconds = 0
        }
        #expect(view.sources[0].state == "stopped")
        #expect(!view.sources[0].isTroubled)
        #expect(texts(view)[3].hasPrefix("stage   stopped"))
    }

    @Test func `a source with only unpersisted samples is unsaved, not idle`() throws {
        let view = try view { status in
            status.sources[0].isRecorded = false
            status.sources[0].lagSeconds = nil
            status.sources[0].persistedAgeSeconds = 11
        }
        #expect(view.sources[0].state == "unsaved")
        #expect(view.sources[0].isTroubled)
    }

    @Test func `a source at another collector is elsewhere, and not troubled`() throws {
        let view = try view { status in
            status.sources[0].isConnected = false
            status.sources[0].elsewhere = "west\u{1B}"
            status.sources[0].report?.moved = ""
            status.sources[0].report?.owed = []
        }
        #expect(view.sources[0].state == "elsewhere" && !view.sources[0].isTroubled)
        #expect(texts(view)[3].hasPrefix("stage   elsewhere"))
        #expect(texts(view)[4] == "stage: recorded by west\\u{1b}")
        let away = try self.view {
            $0.sources[0].isConnected = false
        }
        #expect(away.sources[0].state == "away" && away.sources[0].isTroubled)
    }

    @Test func `a clock bound of zero is not shown`() throws {
        let view = try view { $0.sources[0].clock?.boundNanoseconds = 0 }
        #expect(
            texts(view)[3]
                == "stage   live    30  4.1 Mbit/s  200 ms  500 kB       -        -  driver drop 7")
    }

    @Test func `on a low terminal, troubled sources come first`() throws {
        let view = try view { status in
            status.sources = (1...9).map { SourceStatus(name: "camera\($0)") }
            for index in status.sources.indices { status.sources[index].isConnected = true }
            status.sources[7].isRecorded = true
            status.sources[7].isConnected = false
        }
        let lines = texts(view, columns: 120, rows: 7)
        #expect(lines.count == 7)
        #expect(lines[3].hasPrefix("camera8  away"))
        #expect(lines[4].hasPrefix("camera1  idle"))
        #expect(lines[6] == "… and 6 more")
        #expect(texts(view, rows: 12).count == 12)
        for rows in 1...14 { #expect(texts(view, columns: 80, rows: rows).count <= rows) }
    }

    @Test func `a collector that does not record states the reason`() throws {
        let view = try view { status in
            status.trouble = "full"
            status.disk.filesWithoutRoom = 2
        }
        #expect(texts(view).contains("NOT RECORDING: there is no room on the disk"))
        let early = StatusBoard(version: "1").view
        #expect(texts(early).contains("NOT RECORDING: the collector is starting"))
        #expect(texts(early).last == "no agents")
        let old = TopScreen(view, place: "here", complaint: "gone\u{1B}[2J").lines().map(\.text)
        #expect(old.contains("no answer: gone\\u{1b}[2J"))
    }

    @Test func `a status from afar cannot break it`() throws {
        let plain = String(decoding: try view().encoded(), as: UTF8.self)
        let odd = plain.replacing("\"stage\"", with: "\"a\\u001B[2J\"")
            .replacing("\"driver_drop\"", with: "\"\\u0007\"")
            .replacing(/"(bitsPerSecond|lagSeconds|sessionSeconds|samples)" : [0-9.]+/) {
                "\"\($0.1)\" : -1e300"
            }
        let view = try SiteView(decoding: Array(odd.utf8))
        #expect(view.sources[0].bitsPerSecond == -1e300)
        for line in texts(view) {
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
        }
        #expect(throws: (any Error).self) { try SiteView(decoding: Array("{}".utf8)) }
    }

    @Test func `a number without bound is left out, not a document without end`() throws {
        let view = try view { status in
            status.sources[0].lagSeconds = .nan
        }
        #expect(view.sources[0].lagSeconds == nil)
    }

    @Test(arguments: [
        (0.0000005, "0.5 µs"), (0.00025, "250 µs"), (0.2, "200 ms"), (1.5, "1.5 s"),
        (130, "2.2 min"), (9_000, "2.5 h"),
    ])
    func `durations are short`(seconds: Double, text: String) {
        #expect(TopScreen.short(seconds) == text)
    }
}
