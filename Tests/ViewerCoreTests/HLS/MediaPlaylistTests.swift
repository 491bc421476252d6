import Archive
import Library
import Media
import Recordings
import Testing
import TestRecordings
import ViewerCore

/// Media playlists of recorded sources.
@Suite struct MediaPlaylistTests {
    private static let zero = UTCTime(nanoseconds: 1_795_214_400_000_000_000)

    private static func playlist(
        _ kind: MediaPlaylist.Kind, _ segmentation: MediaSegmentation
    ) -> String? {
        var playlist = MediaPlaylist(kind, zero: zero)
        playlist.update(segmentation, gaps: [])
        return playlist.text
    }

    @Test func `a playlist is this text`() {
        var segmentation = MediaSegmentation()
        segmentation.add(WrittenFragments(seconds: 0..<5), name: "2026-11-20T22-40-00.000Z")
        segmentation.add(
            WrittenFragments(seconds: 5..<6), name: "a b\"%", origin: 5, revision: 0xAB)
        segmentation.finish()
        #expect(
            Self.playlist(.vod, segmentation) == """
                #EXTM3U
                #EXT-X-VERSION:7
                #EXT-X-TARGETDURATION:8
                #EXT-X-MEDIA-SEQUENCE:0
                #EXT-X-PLAYLIST-TYPE:VOD
                #EXT-X-INDEPENDENT-SEGMENTS
                #EXT-X-MAP:URI="2026-11-20T22-40-00.000Z.init.mp4"
                #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z
                #EXTINF:4,
                #EXT-X-BYTERANGE:4000@1187
                2026-11-20T22-40-00.000Z.mp4
                #EXTINF:1,
                #EXT-X-BYTERANGE:1000@5187
                2026-11-20T22-40-00.000Z.mp4
                #EXT-X-DISCONTINUITY
                #EXT-X-MAP:URI="a%20b%22%25.init.mp4"
                #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:05.000Z
                #EXTINF:1,
                #EXT-X-BYTERANGE:1000@1187
                a%20b%22%25.000000ab.mp4
                #EXT-X-ENDLIST

                """)
    }

    @Test func `playlists of recordings break no rule, and have every segment`() throws {
        for (number, session) in [
            try WrittenSession { _ in 0 },
            try WrittenSession(segments: 4, secondsEach: 3) { _ in 2_345_678 },
            try WrittenSession(segments: 3, reordered: true) { _ in 0 },
            try WrittenSession(primed: true) { _ in 1_000_000 },
            try WrittenSession(segments: 1, secondsEach: 30) { $0 / 100_000 },
            try WrittenSession(finished: false) { _ in 0 },
        ].enumerated() {
            let camera = try RecordedCamera(session)
            let segmentation = try camera.segmentation()
            for kind in [MediaPlaylist.Kind.vod, .event] {
                let rules = try expectRules(try camera.playlist(kind, segmentation))
                #expect(rules.isEnded, "session \(number)")
                #expect(rules.segments.map(\.range) == segmentation.segments.map(\.range))
                for (written, segment) in zip(rules.segments, segmentation.segments) {
                    let difference = written.microseconds - segment.durationNanoseconds / 1_000
                    #expect(abs(difference) <= 1, "session \(number)")
                }
                let resource = rules.segments.first.flatMap { SegmentResource($0.uri) }
                let name = try #require(segmentation.files.first?.name)
                #expect(resource == .media(file: name, revision: 0))
                let map = rules.segments.first?.map.flatMap { SegmentResource($0) }
                #expect(map == .initialization(file: name))
            }
        }
    }

    @Test func `a retimed session has new media names and dates`() throws {
        let session = try WrittenSession { _ in 3_000_000 }
        let before = try RecordedCamera(session)
        let old = try expectRules(try before.playlist(.vod, try before.segmentation()))
        _ = try SessionRetimer(WrittenSession.name, in: session.layout).retime(isDryRun: false)
        let after = try RecordedCamera(session)
        let segmentation = try after.segmentation()
        let new = try expectRules(try after.playlist(.vod, segmentation))
        #expect(segmentation.files.allSatisfy { $0.revision != 0 })
        #expect(new.segments.map(\.range) == old.segments.map(\.range))
        #expect(Set(new.segments.map(\.uri)).isDisjoint(with: old.segments.map(\.uri)))
        #expect(new.segments.map(\.map) == old.segments.map(\.map))
        let first = try #require(new.segments.first)
        #expect(
            SegmentResource(first.uri)
                == .media(
                    file: segmentation.files[0].name, revision: segmentation.files[0].revision))
        let date = try #require(first.dateNanoseconds)
        let moved = date - (old.segments[0].dateNanoseconds ?? 0)
        // Dates have milliseconds.
        #expect(moved <= -2_000_000 && moved >= -4_000_000, "\(moved) ns")
    }

    @Test func `a growing playlist is only appended to, up to its end`() throws {
        let session = try WrittenSession(segments: 3, state: .recording, finished: false) { _ in 0 }
        let camera = try RecordedCamera(session)
        try RecordedCamera.writeLedger(
            [.gap("late", at: 2, seconds: 1), .gap("late", at: 14.5, seconds: 0.2)], of: session)
        let gaps = try camera.source.gaps()
        #expect(gaps.count == 2)
        let recorded = try camera.source.playback(0..<100 * WrittenFragments.second)
        var segmentation = MediaSegmentation()
        var playlist = MediaPlaylist(.event, zero: camera.zero)
        #expect(playlist.text == nil)
        var old: PlaylistRules?
        var text = ""
        func follow() throws {
            playlist.update(segmentation, gaps: gaps)
            guard let now = playlist.text else { return }
            #expect(now.hasPrefix(text))
            text = now
            let rules = try expectRules(now)
            if let old {
                let found = rules.findings(after: old)
                #expect(found.isEmpty, "\(found)")
            }
            old = rules
        }
        for file in recorded.files {
            let place = segmentation.beginFile(SegmentFile(file.file, key: file.key))
            let index = try #require(place)
            for fragment in file.fragments {
                segmentation.append(FragmentOutline(fragment), toFile: index)
                try follow()
            }
            segmentation.finishFile(index)
            try follow()
        }
        #expect(old?.isEnded == false && old?.dateRanges.count == 1)
        segmentation.finish()
        try follow()
        let rules = try #require(old)
        #expect(rules.isEnded && rules.segments.count == 6 && rules.dateRanges.count == 2)
        // A playlist generated in one step is the same except its type.
        let whole = try camera.playlist(.vod, try camera.segmentation())
        #expect(whole == text.replacing(":EVENT", with: ":VOD"))
    }

    @Test func `the target duration of a growing playlist stays, and no segment exceeds it`()
        throws
    {
        // Groups of a second, then one of 30 s, then one of 8.4 s, which is rounded to 8.
        var fragments = WrittenFragments(seconds: 0..<8)
        fragments.add(8...38, isKey: true)
        fragments.add(38...46.4, isKey: true)
        fragments.add(46.4...47, isKey: true)
        var segmentation = MediaSegmentation()
        segmentation.add(fragments, name: "a")
        segmentation.finish()
        #expect(segmentation.seconds == [4, 4, 30, 8.4, 0.6])
        let growing = try expectRules(Self.playlist(.event, segmentation))
        #expect(growing.targetSeconds == 8)
        let told: [Double] = [4, 4, 8, 8.4, 0.6]
        #expect(growing.segments.map(\.microseconds) == told.map { nanoseconds($0) / 1_000 })
        #expect(growing.segments.map(\.isDiscontinuous) == [false, false, false, true, false])
        let date = try #require(growing.segments[3].dateNanoseconds)
        #expect(date == Self.zero.nanoseconds + 38 * WrittenFragments.second)
        let finished = try expectRules(Self.playlist(.vod, segmentation))
        #expect(finished.targetSeconds == 30)
        #expect(finished.segments[2].microseconds == 30_000_000)
        #expect(finished.segments.allSatisfy { !$0.isDiscontinuous })
    }

    @Test func `a camera with long groups has a longer target duration from the first segment on`()
        throws
    {
        var fragments = WrittenFragments()
        for group in 0..<5 {
            let start = Double(group) * 20
            fragments.add(start...start + 20, isKey: true)
        }
        var segmentation = MediaSegmentation()
        segmentation.add(fragments, name: "a", isFinished: false)
        let young = try expectRules(Self.playlist(.event, segmentation))
        #expect(young.targetSeconds == 30 && young.segments.count == 4 && !young.isEnded)
        #expect(young.segments.allSatisfy { $0.microseconds == 20_000_000 })
        segmentation.finish()
        #expect(PlaylistRules(Self.playlist(.vod, segmentation) ?? "").targetSeconds == 30)
        var other = MediaPlaylist(.event, zero: Self.zero, leastTargetSeconds: 45)
        other.update(segmentation, gaps: [])
        #expect(try expectRules(other.text).targetSeconds == 45)
    }

    @Test func `a jump of time within a file is a discontinuity with a date`() throws {
        var fragments = WrittenFragments(seconds: 0..<4)
        for second in 34..<70 {
            fragments.add(Double(second)...Double(second + 1), isKey: true)
        }
        var segmentation = MediaSegmentation()
        segmentation.add(fragments, name: "a")
        segmentation.finish()
        let rules = try expectRules(Self.playlist(.vod, segmentation))
        #expect(rules.segments.map(\.isDiscontinuous).prefix(3) == [false, true, false])
        #expect(Set(rules.segments.map(\.map)) == ["a.init.mp4"])
        let dates = rules.segments.compactMap(\.dateNanoseconds).map {
            ($0 - Self.zero.nanoseconds) / WrittenFragments.second
        }
        // At the beginning, at the jump, and every five segments.
        #expect(dates == [0, 34, 54])
    }

    @Test func `sources without pictures have segments too`() throws {
        // Every fragment of sound can be decoded.
        var fragments = WrittenFragments()
        for second in 0..<21 {
            fragments.add(Double(second)...Double(second) + 0.99, isKey: true)
        }
        var segmentation = MediaSegmentation()
        segmentation.add(fragments, name: "a")
        segmentation.finish()
        let rules = try expectRules(Self.playlist(.vod, segmentation))
        #expect(rules.segments.count == 6)
    }

    @Test func `a playlist without segments is nil`() {
        var segmentation = MediaSegmentation()
        #expect(Self.playlist(.event, segmentation) == nil)
        segmentation.finish()
        #expect(Self.playlist(.vod, segmentation) == nil)
    }

    @Test func `a playlist of ten hours is only appended to`() throws {
        var segmentation = MediaSegmentation()
        for file in 0..<60 {
            segmentation.add(
                WrittenFragments(seconds: file * 600..<(file + 1) * 600, keyEvery: 2),
                name: "\(file)", origin: Double(file * 600), isFinished: file < 59)
        }
        var playlist = MediaPlaylist(.event, zero: Self.zero)
        playlist.update(segmentation, gaps: [])
        let rules = try expectRules(playlist.text)
        // The last file's last group is incomplete and not listed.
        #expect(rules.segments.count == 60 * 150 - 1)
        var before = try #require(playlist.text)
        for second in 36_000..<36_010 {
            var fragment = WrittenFragments()
            fragment.add(Double(second)...Double(second + 1), isKey: second % 2 == 0)
            var next = try #require(fragment.fragments.first)
            let offset = Int64(second) * 1_000_000
            next.range = offset..<offset + 1_000
            segmentation.append(next, toFile: 59)
            playlist.update(segmentation, gaps: [])
            let text = try #require(playlist.text)
            #expect(text.hasPrefix(before))
            before = text
        }
        #expect(before.utf8.count > 300_000)
    }

    @Test func `names of resources are read back, and others are refused`() {
        let file = SegmentFile(
            name: "2026-11-20T22-40-00.000Z", originNanoseconds: 0, revision: 0xDEAD_BEEF,
            formats: [])
        #expect(
            SegmentResource(file.mediaURI)
                == .media(file: "2026-11-20T22-40-00.000Z", revision: 0xDEAD_BEEF))
        #expect(
            SegmentResource(file.initializationURI)
                == .initialization(file: "2026-11-20T22-40-00.000Z"))
        #expect(
            SegmentResource("2026-11-20T22-40-00.000Z.mp4")
                == .media(file: "2026-11-20T22-40-00.000Z", revision: 0))
        #expect(SegmentResource("a.00000000.mp4") == .media(file: "a.00000000", revision: 0))
        #expect(SegmentResource("a.DEADBEEF.mp4") == .media(file: "a.DEADBEEF", revision: 0))
        for name in ["", ".mp4", "a.mov", "a", "index.m3u8"] {
            #expect(SegmentResource(name) == nil, "\(name)")
        }
    }
}
