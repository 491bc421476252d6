import Archive
import Library
import Media
import Recordings
import Testing
import TestRecordings
import ViewerCore

/// Gaps of the ledger as date ranges.
@Suite struct GapDateRangeTests {
    /// A camera with ten seconds of pictures and these ledger entries.
    private func playlist(
        _ entries: [LedgerEntry], _ kind: MediaPlaylist.Kind = .vod
    ) throws -> PlaylistRules {
        let session = try WrittenSession { _ in 0 }
        try RecordedCamera.writeLedger(entries, of: session)
        let camera = try RecordedCamera(session)
        return try expectRules(try camera.playlist(kind, try camera.segmentation()))
    }

    @Test func `a gap has its time, duration, cause and count`() throws {
        let rules = try playlist([
            .gap("driver drop", at: 3.25, seconds: 1.5, samples: 45, text: "camera 2")
        ])
        let range = try #require(rules.dateRanges.values.first)
        #expect(rules.dateRanges.count == 1)
        #expect(range.quoted("CLASS") == "org.tributary.gap")
        #expect(range.quoted("START-DATE") == "2026-11-20T22:40:03.250Z")
        #expect(range.plain("DURATION") == "1.5")
        #expect(range.quoted("X-CAUSE") == "driver drop")
        #expect(range.plain("X-SAMPLES") == "45")
        #expect(range.quoted("X-TEXT") == "camera 2")
        #expect(range.values.count == 7)
    }

    @Test func `a gap of a track names the track, and a gap without a time is omitted`() throws {
        var sound = LedgerEntry.gap("overrun", at: 1, seconds: 0)
        sound.track = "audio"
        let rules = try playlist([sound, .gap("spool full", at: nil, seconds: 3)])
        #expect(rules.dateRanges.count == 1)
        #expect(rules.dateRanges.values.first?.quoted("X-TRACK") == "audio")
        #expect(rules.dateRanges.values.first?.plain("DURATION") == "0")
    }

    @Test func `an ID is the same in every playlist, and no other gap has it`() throws {
        let gaps: [LedgerEntry] = [
            .gap("late", at: 1, seconds: 1), .gap("late", at: 2, seconds: 1),
            .gap("late", at: 2, seconds: 1, samples: 2), .gap("other", at: 2, seconds: 1),
            .gap("late", at: 2, seconds: 1),
        ]
        let all = try playlist(gaps)
        #expect(all.dateRanges.count == 5)
        let growing = try playlist(gaps, .event)
        #expect(growing.dateRanges.mapValues(\.values) == all.dateRanges.mapValues(\.values))
        // Without the others, each has the ID that it had.
        for gap in gaps.prefix(4) {
            let alone = try playlist([gap])
            let id = try #require(alone.dateRanges.keys.first)
            #expect(alone.dateRanges[id]?.values == all.dateRanges[id]?.values)
        }
    }

    @Test(arguments: [
        "\"quoted\"", "line\nbreak", "carriage\rreturn\r\n", "\u{0}\u{7}\u{1B}[31m\u{7F}\u{85}",
        "{$variable}", "\u{FEFF}mark", "\u{2028}line\u{2029}", "\u{202E}reversed", "a=b,C=\"d\"",
        "\"\u{301}accent", "#EXT-X-ENDLIST\n#EXT-X-ENDLIST", "   \t  ", "\u{1F980}\u{E000}",
        "\"\n\"\n\"",
    ])
    func `no text of a ledger breaks a playlist`(_ text: String) throws {
        let long = String(repeating: text, count: 2_000)
        let rules = try playlist([
            .gap(text, at: 1, seconds: 1, text: text), .gap(long, at: 2, seconds: 1, text: long),
        ])
        #expect(rules.dateRanges.count == 2)
        #expect(rules.segments.count == 4 && rules.isEnded)
        for range in rules.dateRanges.values {
            #expect((range.quoted("X-CAUSE") ?? "").utf8.count <= 64)
            #expect((range.quoted("X-TEXT") ?? "").utf8.count <= 256)
            for name in ["X-CAUSE", "X-TEXT"] {
                let value = range.quoted(name) ?? "-"
                #expect(!value.isEmpty && !value.contains("\n") && !value.hasPrefix(" "))
            }
        }
    }

    @Test func `non-ASCII text is kept`() throws {
        let text = "Kabel gelöst – 線が抜けた, 'ок'"
        let rules = try playlist([.gap("late", at: 1, seconds: 1, text: text)])
        #expect(rules.dateRanges.values.first?.quoted("X-TEXT") == text)
    }

    @Test func `extreme numbers do not trap`() throws {
        var entry = LedgerEntry.gap("late", at: 1, seconds: 1)
        entry.startNanoseconds = .min
        entry.durationNanoseconds = .max
        entry.samples = .max
        var late = entry
        late.startNanoseconds = .max
        #expect(try playlist([entry, late]).dateRanges.count == 2)
    }

    @Test func `very many gaps are joined, with their counts added`() throws {
        let gaps = (0..<5_000).map { number in
            LedgerEntry.gap(
                number % 2 == 0 ? "driver drop" : "late", at: Double(number) / 500, seconds: 0,
                samples: 3)
        }
        let rules = try playlist(gaps)
        #expect((2...1_000).contains(rules.dateRanges.count))
        func sum(_ name: String) -> Int {
            rules.dateRanges.values.reduce(0) { $0 + (Int($1.plain(name) ?? "1") ?? 0) }
        }
        #expect(sum("X-SAMPLES") == 15_000)
        #expect(sum("X-COUNT") == 5_000)
        let causes = Set(rules.dateRanges.values.compactMap { $0.quoted("X-CAUSE") })
        #expect(causes == ["driver drop", "late"])
    }

    @Test func `too many causes are reduced to the longest gaps`() throws {
        let gaps = (0..<1_500).map { number in
            LedgerEntry.gap("cause \(number)", at: 1, seconds: Double(number) / 1_000)
        }
        let rules = try playlist(gaps)
        #expect(rules.dateRanges.count == 1_000)
        let durations = rules.dateRanges.values.compactMap { $0.microseconds("DURATION") }
        #expect(durations.min() == 500_000 && durations.max() == 1_499_000)
    }

    @Test func `a growing playlist keeps its date ranges, with room for more`() throws {
        let session = try WrittenSession(segments: 1, secondsEach: 30, finished: false) { _ in 0 }
        let camera = try RecordedCamera(session)
        let recorded = try camera.source.playback(0..<100 * WrittenFragments.second)
        let file = try #require(recorded.files.first)
        var segmentation = MediaSegmentation()
        let place = segmentation.beginFile(SegmentFile(file.file, key: file.key))
        let index = try #require(place)
        var playlist = MediaPlaylist(.event, zero: camera.zero)
        var entries: [LedgerEntry] = []
        var old: PlaylistRules?
        for (number, fragment) in file.fragments.enumerated() {
            segmentation.append(FragmentOutline(fragment), toFile: index)
            // Sixty a second; some are reported late.
            for place in 0..<60 {
                let late = place % 7 == 0 ? 2.5 : 0
                entries.append(
                    .gap(
                        "cause \(place % 3)", at: Double(number) + Double(place) / 60 - late,
                        seconds: 0.001))
            }
            guard number % 3 == 2 else { continue }
            try RecordedCamera.writeLedger(entries, of: session)
            playlist.update(segmentation, gaps: try camera.source.gaps())
            guard let text = playlist.text else { continue }
            let rules = try expectRules(text)
            if let old {
                let found = rules.findings(after: old)
                #expect(found.isEmpty, "\(found)")
            }
            old = rules
        }
        segmentation.finish()
        playlist.update(segmentation, gaps: try camera.source.gaps())
        let rules = try expectRules(playlist.text)
        #expect((500...1_000).contains(rules.dateRanges.count))
        // Those of the last seconds are among them.
        let last = rules.dateRanges.values.compactMap { $0.quoted("START-DATE") }.max()
        #expect(try #require(last) > "2026-11-20T22:40:24")
    }
}
