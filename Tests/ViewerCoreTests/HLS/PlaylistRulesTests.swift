import Testing

/// The rules themselves: each is broken once, and is found.
@Suite struct PlaylistRulesTests {
    private static let recorded = """
        #EXTM3U
        #EXT-X-VERSION:7
        #EXT-X-TARGETDURATION:4
        #EXT-X-MEDIA-SEQUENCE:0
        #EXT-X-PLAYLIST-TYPE:VOD
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-MAP:URI="a.init.mp4"
        #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z
        #EXTINF:4,
        #EXT-X-BYTERANGE:1000@1187
        a.mp4
        #EXT-X-DATERANGE:ID="gap-1",CLASS="org.tributary.gap",START-DATE="2026-11-20T22:40:04.000Z",\
        DURATION=0.5,X-CAUSE="late",X-SAMPLES=3
        #EXTINF:2.5,
        #EXT-X-BYTERANGE:500@2187
        a.mp4
        #EXT-X-DISCONTINUITY
        #EXT-X-MAP:URI="b.init.mp4"
        #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:06.500Z
        #EXTINF:4.499,
        #EXT-X-BYTERANGE:1000@1187
        b.mp4
        #EXT-X-ENDLIST

        """

    private static let live = """
        #EXTM3U
        #EXT-X-VERSION:9
        #EXT-X-TARGETDURATION:1
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=6,HOLD-BACK=3,PART-HOLD-BACK=1.5
        #EXT-X-PART-INF:PART-TARGET=0.5
        #EXT-X-MEDIA-SEQUENCE:7
        #EXT-X-DISCONTINUITY-SEQUENCE:2
        #EXT-X-MAP:URI="init.0.mp4"
        #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z
        #EXTINF:1,
        7.mp4
        #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:01.000Z
        #EXTINF:1,
        8.mp4
        #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:02.000Z
        #EXT-X-PART:DURATION=0.5,URI="9.0.mp4",INDEPENDENT=YES
        #EXT-X-PART:DURATION=0.43,URI="9.1.mp4"
        #EXT-X-PART:DURATION=0.07,URI="9.2.mp4"
        #EXTINF:1,
        9.mp4
        #EXT-X-DISCONTINUITY
        #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:23.000Z
        #EXT-X-PART:DURATION=0.1,URI="9.3.mp4",INDEPENDENT=YES
        #EXT-X-PART:DURATION=0.45,URI="10.1.mp4"
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI="10.2.mp4"

        """

    /// A part of one of the two playlists, its replacement, and the rule that it violates.
    struct Breakage: CustomTestStringConvertible, Sendable {
        var rule: PlaylistRules.Rule
        var isLive = false
        var place: String
        var other: String

        init(_ rule: PlaylistRules.Rule, live: Bool = false, _ place: String, _ other: String) {
            self.rule = rule
            isLive = live
            self.place = place
            self.other = other
        }

        var testDescription: String { "\(rule): '\(place)' becomes '\(other)'" }
    }

    private static let breakages: [Breakage] = [
        Breakage(.firstLine, "#EXTM3U\n", "#EXTM3U8\n"),
        Breakage(.characters, "X-CAUSE=\"late\"", "X-CAUSE=\"la\u{9}te\""),
        Breakage(.characters, "X-CAUSE=\"late\"", "X-CAUSE=\"la\rte\""),
        Breakage(.characters, "a.init", "\u{FEFF}a.init"),
        Breakage(.characters, "#EXTINF:4,\n", "#EXTINF:4,\n\n"),
        Breakage(.unknownTag, "#EXT-X-ENDLIST", "#EXT-X-GAP\n#EXT-X-ENDLIST"),
        Breakage(.duplicateTag, "#EXT-X-VERSION:7\n", "#EXT-X-VERSION:7\n#EXT-X-VERSION:7\n"),
        Breakage(.duplicateTag, "#EXTINF:4,\n", "#EXTINF:4,\n#EXTINF:4,\n"),
        Breakage(.misplacedTag, "#EXT-X-ENDLIST", "#EXT-X-VERSION:7\n#EXT-X-ENDLIST"),
        Breakage(.misplacedTag, "#EXTINF:2.5,\n", ""),
        Breakage(.misplacedTag, "@1187\nb.mp4", "@1187"),
        Breakage(.misplacedTag, live: true, "#EXTINF:1,\n9.mp4", "#EXTINF:1,"),
        Breakage(.attributes, "URI=\"a.init.mp4\"", "URI=a.init.mp4"),
        Breakage(.attributes, "#EXTINF:4,", "#EXTINF:4"),
        Breakage(.attributes, "#EXTINF:4,", "#EXTINF:-4,"),
        Breakage(.attributes, live: true, "=YES,CAN-SKIP", "=YES,,CAN-SKIP"),
        Breakage(.attributes, live: true, "DURATION=0.45,", "DURATION=0.45,DURATION=0.45,"),
        Breakage(.version, "VERSION:7", "VERSION:5"),
        Breakage(.version, "#EXT-X-VERSION:7\n", ""),
        Breakage(.targetDuration, "#EXT-X-TARGETDURATION:4\n", ""),
        Breakage(.targetDuration, "TARGETDURATION:4", "TARGETDURATION:4.5"),
        Breakage(.overTarget, "#EXTINF:4.499,", "#EXTINF:4.5,"),
        Breakage(.overTarget, "#EXTINF:4.499,", "#EXTINF:0,"),
        Breakage(.byteRange, "500@2187", "500@2188"),
        Breakage(.byteRange, "500@2187", "500@2186"),
        Breakage(.byteRange, "500@2187", "500"),
        Breakage(.byteRange, "500@2187", "0@2187"),
        Breakage(.map, "#EXT-X-MAP:URI=\"a.init.mp4\"\n", ""),
        Breakage(.map, "#EXT-X-MAP:URI=\"b.init.mp4\"\n", ""),
        Breakage(.date, "22:40:00.000Z", "22:40:00Z"),
        Breakage(.date, "#EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z\n", ""),
        Breakage(.date, "#EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:06.500Z\n", ""),
        Breakage(.date, "22:40:06.500Z", "22:40:05.400Z"),
        Breakage(.date, live: true, "22:40:01.000Z", "22:40:01.010Z"),
        Breakage(.dateRange, "ID=\"gap-1\",", ""),
        Breakage(.dateRange, "START-DATE=\"2026-11-20T22:40:04.000Z\",", ""),
        Breakage(.dateRange, "DURATION=0.5", "DURATION=-0.5"),
        Breakage(.dateRange, "X-SAMPLES=3", "X-SAMPLES=many"),
        Breakage(.dateRange, "\"late\"", "\"la\"te\""),
        Breakage(.dateRange, "\"late\"", "\"{$late}\""),
        Breakage(.discontinuity, "#EXT-X-DISCONTINUITY\n", ""),
        Breakage(.ending, "#EXT-X-ENDLIST\n", ""),
        Breakage(.ending, "#EXT-X-ENDLIST\n", "#EXT-X-ENDLIST\n#EXT-X-INDEPENDENT-SEGMENTS\n"),
        Breakage(.playlistType, ":VOD", ":LIVE"),
        Breakage(.playlistType, "MEDIA-SEQUENCE:0", "MEDIA-SEQUENCE:1"),
        Breakage(.partInfo, live: true, "#EXT-X-PART-INF:PART-TARGET=0.5\n", ""),
        Breakage(.partInfo, live: true, ",PART-HOLD-BACK=1.5", ""),
        Breakage(.partTooLong, live: true, "DURATION=0.43", "DURATION=0.51"),
        Breakage(.partTooShort, live: true, "DURATION=0.43", "DURATION=0.42"),
        Breakage(.serverControl, live: true, "CAN-BLOCK-RELOAD=YES,", ""),
        Breakage(.serverControl, live: true, "CAN-SKIP-UNTIL=6", "CAN-SKIP-UNTIL=5.9"),
        Breakage(.serverControl, live: true, ",HOLD-BACK=3", ",HOLD-BACK=2.9"),
        Breakage(.serverControl, live: true, "PART-HOLD-BACK=1.5", "PART-HOLD-BACK=0.9"),
        Breakage(.partHoldBack, live: true, "PART-HOLD-BACK=1.5", "PART-HOLD-BACK=1.4"),
        Breakage(
            .partAge, live: true, "#EXTINF:1,\n7.mp4",
            "#EXT-X-PART:DURATION=0.5,URI=\"7.0.mp4\"\n#EXTINF:1,\n7.mp4"),
        Breakage(.hint, live: true, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"10.2.mp4\"\n", ""),
        Breakage(.hint, live: true, "URI=\"10.2.mp4\"", "URI=\"10.1.mp4\""),
        Breakage(
            .skip, live: true, "SEQUENCE:2\n", "SEQUENCE:2\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n"),
    ]

    @Test func `playlists that break no rule are found to break none`() {
        #expect(PlaylistRules(Self.recorded).findings.isEmpty)
        #expect(PlaylistRules(Self.live).findings.isEmpty)
        let rules = PlaylistRules(Self.recorded)
        #expect(rules.segments.map(\.microseconds) == [4_000_000, 2_500_000, 4_499_000])
        #expect(rules.segments.map(\.discontinuity) == [0, 0, 1])
        #expect(rules.segments.map(\.map) == ["a.init.mp4", "a.init.mp4", "b.init.mp4"])
        let live = PlaylistRules(Self.live)
        #expect(live.segments.map(\.sequence) == [7, 8, 9])
        #expect(live.open?.sequence == 10 && live.open?.discontinuity == 3)
        #expect(live.open?.parts.map(\.uri) == ["9.3.mp4", "10.1.mp4"])
    }

    @Test(arguments: breakages) func `each rule that is broken is found`(_ breakage: Breakage) {
        let whole = breakage.isLive ? Self.live : Self.recorded
        let broken = whole.replacing(breakage.place, with: breakage.other, maxReplacements: 1)
        #expect(broken != whole)
        #expect(PlaylistRules(broken).rules.contains(breakage.rule))
    }

    /// Edits of the live playlist that make its next version.
    private static let following: [Breakage] = [
        Breakage(.sequence, live: true, "MEDIA-SEQUENCE:7", "MEDIA-SEQUENCE:6"),
        Breakage(.sequence, live: true, "DISCONTINUITY-SEQUENCE:2", "DISCONTINUITY-SEQUENCE:1"),
        Breakage(.target, live: true, "TARGETDURATION:1", "TARGETDURATION:2"),
        Breakage(.target, live: true, "PART-TARGET=0.5", "PART-TARGET=0.4"),
        Breakage(.changed, live: true, "\n8.mp4", "\n8x.mp4"),
        Breakage(.changed, live: true, "URI=\"9.1.mp4\"", "URI=\"9.x.mp4\""),
        Breakage(.changed, live: true, "DISCONTINUITY-SEQUENCE:2", "DISCONTINUITY-SEQUENCE:3"),
        Breakage(
            .hintKept, live: true, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"10.2.mp4\"",
            "#EXT-X-PART:DURATION=0.5,URI=\"10.3.mp4\"\n"
                + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"10.4.mp4\""),
        Breakage(
            .appendOnly,
            "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"b.init.mp4\"\n"
                + "#EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:06.500Z\n#EXTINF:4.499,\n"
                + "#EXT-X-BYTERANGE:1000@1187\nb.mp4\n", ""),
        Breakage(.appendOnly, ":VOD", ":EVENT"),
        Breakage(.dateRangeChanged, "X-SAMPLES=3", "X-SAMPLES=4"),
        Breakage(.dateRangeChanged, "ID=\"gap-1\"", "ID=\"gap-2\""),
    ]

    @Test(arguments: following)
    func `each rule that the next version breaks is found`(_ breakage: Breakage) {
        let whole = breakage.isLive ? Self.live : Self.recorded
        let next = whole.replacing(breakage.place, with: breakage.other, maxReplacements: 1)
        #expect(next != whole)
        let old = PlaylistRules(whole)
        #expect(old.findings(after: old).isEmpty)
        let found = PlaylistRules(next).findings(after: old)
        #expect(found.contains { $0.rule == breakage.rule })
    }

    @Test func `a playlist that became too short is detected`() {
        let old = PlaylistRules(Self.live)
        let short = Self.live.replacing("MEDIA-SEQUENCE:7", with: "MEDIA-SEQUENCE:8").replacing(
            "#EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z\n#EXTINF:1,\n7.mp4\n", with: "")
        #expect(PlaylistRules(short).findings.isEmpty)
        #expect(PlaylistRules(short).findings(after: old).map(\.rule) == [.removal])
        let long = short.replacing(
            "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"10.2.mp4\"",
            with: "#EXT-X-PART:DURATION=0.5,URI=\"10.2.mp4\"\n"
                + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"10.3.mp4\"")
        #expect(PlaylistRules(long).findings(after: old).isEmpty)
    }

    @Test func `all rules are broken by a test`() {
        let broken = Set((Self.breakages + Self.following).map(\.rule)).union([.removal])
        #expect(broken == Set(PlaylistRules.Rule.allCases))
    }

    @Test func `a delta update and the version before are the playlist`() throws {
        let old = PlaylistRules(Self.live)
        // Without the first segment, which is skipped.
        let delta = PlaylistRules(
            Self.live.replacing(
                "#EXT-X-MAP:URI=\"init.0.mp4\"\n"
                    + "#EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z\n#EXTINF:1,\n7.mp4\n",
                with: "#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n"))
        // So little may not be skipped.
        #expect(delta.rules == [.skip])
        let all = old.segments + (old.open.map { [$0] } ?? [])
        let completed = try #require(delta.segments(completing: old))
        #expect(completed.map(\.core) == all.map(\.core))
        let other = PlaylistRules(Self.live.replacing("SEQUENCE:7", with: "SEQUENCE:8"))
        #expect(delta.segments(completing: other) == nil)
    }

    @Test func `attribute lists are read strictly`() {
        #expect(AttributeReading("A=1,B=\"x,y\",C-2=YES")?.values.count == 3)
        #expect(AttributeReading("B=\"x,y\"")?.quoted("B") == "x,y")
        #expect(AttributeReading("A=0.25")?.microseconds("A") == 250_000)
        for text in [
            "", "A", "A=", "a=1", "A=1,", "A=1,A=2", "A=\"1", "A=\"1\"2", "A=1 2", ",A=1",
        ] {
            #expect(AttributeReading(text) == nil, "\(text)")
        }
    }
}
