import Archive
import Foundation
import Testing
import ViewerCore

/// Live playlists with parts.
@Suite struct LivePlaylistTests {
    private static let zero = UTCTime(nanoseconds: 1_795_214_400_000_000_000)
    private static let seeds: ClosedRange<UInt64> =
        ProcessInfo.processInfo.environment["SIMULATION_SEEDS"] == nil ? 1...6 : 1...60

    /// A feed's parts in a playlist, one after another.
    private func play(
        _ traits: LiveFeed.Traits, seconds: Double, seed: UInt64,
        _ look: (_ playlist: LivePlaylist, _ part: LivePart) throws -> Void
    ) rethrows -> LivePlaylist {
        let timing = LiveTiming()
        var gatherer = PartGatherer<Int>(timing, firstSequence: 7)
        var playlist = LivePlaylist(timing, zero: Self.zero, firstSequence: 7)
        for unit in LiveFeed(traits, seconds: seconds, seed: seed).units {
            for gathered in gatherer.append(unit) {
                playlist.append(gathered.part)
                try look(playlist, gathered.part)
            }
        }
        for gathered in gatherer.flush() {
            playlist.append(gathered.part)
            try look(playlist, gathered.part)
        }
        return playlist
    }

    @Test func `a playlist is this text`() {
        let timing = LiveTiming(targetSeconds: 1, partTargetNanoseconds: 500_000_000)
        var gatherer = PartGatherer<Int>(timing)
        var playlist = LivePlaylist(timing, zero: Self.zero)
        for number in 0..<5 {
            var unit = LiveUnit(
                number, sizeBytes: 1_000,
                nanoseconds: nanoseconds(Double(number) / 2)..<nanoseconds(Double(number + 1) / 2))
            unit.isIndependent = number % 2 == 0
            unit.initialization = number < 4 ? 0 : 1
            for part in gatherer.append(unit) { playlist.append(part.part) }
        }
        #expect(
            playlist.text() == """
                #EXTM3U
                #EXT-X-VERSION:9
                #EXT-X-TARGETDURATION:1
                #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=6,HOLD-BACK=3,\
                PART-HOLD-BACK=1.5
                #EXT-X-PART-INF:PART-TARGET=0.5
                #EXT-X-MEDIA-SEQUENCE:0
                #EXT-X-DISCONTINUITY-SEQUENCE:0
                #EXT-X-MAP:URI="init.0.mp4"
                #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:00.000Z
                #EXT-X-PART:DURATION=0.5,URI="0.0.mp4",INDEPENDENT=YES
                #EXT-X-PART:DURATION=0.5,URI="0.1.mp4"
                #EXTINF:1,
                0.mp4
                #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:01.000Z
                #EXT-X-PART:DURATION=0.5,URI="0.2.mp4",INDEPENDENT=YES
                #EXT-X-PART:DURATION=0.5,URI="1.1.mp4"
                #EXTINF:1,
                1.mp4
                #EXT-X-DISCONTINUITY
                #EXT-X-MAP:URI="init.1.mp4"
                #EXT-X-PROGRAM-DATE-TIME:2026-11-20T22:40:02.000Z
                #EXT-X-PART:DURATION=0.5,URI="1.2.mp4",INDEPENDENT=YES
                #EXT-X-PRELOAD-HINT:TYPE=PART,URI="2.1.mp4"

                """)
        playlist.finish()
        #expect(playlist.text().hasSuffix("#EXTINF:0.5,\n2.mp4\n#EXT-X-ENDLIST\n"))
    }

    @Test(arguments: seeds)
    func `no version breaks a rule, nor does any step from one to the next`(_ seed: UInt64) throws {
        var old: PlaylistRules?
        var versions = 0
        let traits = LiveFeed.traits(seed: seed)
        var playlist = play(traits, seconds: 60, seed: seed) { playlist, part in
            let rules = PlaylistRules(playlist.text())
            #expect(rules.findings.isEmpty, "seed \(seed): \(rules.findings)")
            let listed = (rules.open?.parts ?? []).last?.uri
            #expect(listed == LiveResource.part(part.name).uri)
            if let old {
                let found = rules.findings(after: old)
                #expect(found.isEmpty, "seed \(seed): \(found)")
                // A player with the previous version requests the delta update.
                let delta = PlaylistRules(playlist.text(skipsOldSegments: true))
                #expect(delta.findings.isEmpty, "seed \(seed): \(delta.findings)")
                let all = rules.segments + (rules.open.map { [$0] } ?? [])
                let completed = delta.segments(completing: old)
                #expect(completed?.map(\.core) == all.map(\.core), "seed \(seed)")
                #expect(completed?.flatMap(\.parts) == all.flatMap(\.parts), "seed \(seed)")
            }
            old = rules
            versions += 1
        }
        #expect(versions > 20)
        playlist.finish()
        let rules = PlaylistRules(playlist.text())
        #expect(rules.isEnded && rules.findings.isEmpty, "seed \(seed): \(rules.findings)")
        let found = rules.findings(after: try #require(old))
        #expect(found.isEmpty, "seed \(seed): \(found)")
    }

    @Test func `the list has a window, and older segments remain available`() throws {
        var skipped = 0
        var listed: [UInt64: Int] = [:]
        var now = 0
        let playlist = play(LiveFeed.Traits(), seconds: 120, seed: 2) { playlist, _ in
            now += 1
            let rules = PlaylistRules(playlist.text())
            for segment in rules.segments { listed[segment.sequence] = now }
            #expect(rules.length <= 37_000_000)
            let delta = PlaylistRules(playlist.text(skipsOldSegments: true))
            skipped = max(skipped, delta.skipped)
            // Segments listed within the last ten seconds are available: 5 parts a second.
            for (sequence, last) in listed where now - last < 50 {
                #expect(sequence >= playlist.firstAvailableSequence)
            }
        }
        let rules = try expectRules(playlist.text())
        #expect(rules.mediaSequence > 25 && rules.length >= 31_999_000)
        #expect(rules.segments.count >= 7)
        #expect(skipped >= 1)
        #expect(playlist.firstAvailableSequence < rules.mediaSequence)
        #expect(playlist.firstAvailableSequence + 6 > rules.mediaSequence)
        // Twelve seconds of them at most, and eight at least.
        let parts = (rules.segments + (rules.open.map { [$0] } ?? [])).flatMap(\.parts)
        let length = parts.reduce(0) { $0 + $1.microseconds }
        #expect((7_999_000...12_000_000).contains(length))
        let bandwidth = try #require(playlist.bandwidth)
        #expect(bandwidth.peakBitsPerSecond >= bandwidth.averageBitsPerSecond)
    }

    @Test func `the parts of a regular source are as long as their segment`() throws {
        for rate in [25, 29.97, 30] {
            let traits = LiveFeed.Traits(picturesPerSecond: rate, batch: 1)
            let playlist = play(traits, seconds: 60, seed: 9) { _, _ in }
            let rules = try expectRules(playlist.text())
            for segment in rules.segments where !segment.parts.isEmpty {
                let sum = segment.parts.reduce(0) { $0 + $1.microseconds }
                #expect(abs(sum - segment.microseconds) <= 1_000, "\(rate): \(segment)")
            }
        }
    }

    @Test func `discontinuities that leave the list are counted`() throws {
        let traits = LiveFeed.Traits(losses: 40)
        var last: UInt64 = 0
        _ = try play(traits, seconds: 200, seed: 4) { playlist, _ in
            last = try expectRules(playlist.text()).discontinuitySequence
        }
        #expect(last > 3)
    }

    @Test func `a source with many interruptions does not lengthen the list`() throws {
        var gatherer = PartGatherer<Int>(LiveTiming())
        var playlist = LivePlaylist(LiveTiming(), zero: Self.zero)
        var most = 0
        for number in 0..<2_000 {
            var unit = LiveUnit(
                number, sizeBytes: 1,
                nanoseconds: nanoseconds(Double(number))..<nanoseconds(Double(number) + 0.09))
            unit.isIndependent = true
            unit.isDiscontinuous = true
            for part in gatherer.append(unit) { playlist.append(part.part) }
            if number % 100 == 99 {
                let rules = try expectRules(playlist.text())
                most = max(most, rules.segments.count)
            }
        }
        #expect(most == LivePlaylist.maximumSegments - 1)
    }

    // MARK: Requests

    /// A playlist whose last segment is 9, with parts 0 to 4.
    private var running: LivePlaylist {
        var gatherer = PartGatherer<Int>(LiveTiming(), firstSequence: 7)
        var playlist = LivePlaylist(LiveTiming(), zero: Self.zero, firstSequence: 7)
        for number in 0..<45 {
            let start = Double(number) / 5
            var unit = LiveUnit(
                number, sizeBytes: 1, nanoseconds: nanoseconds(start)..<nanoseconds(start + 0.2))
            unit.isIndependent = number % 10 == 0
            for part in gatherer.append(unit) { playlist.append(part.part) }
        }
        return playlist
    }

    @Test func `a request is answered when its segment or part is there`() {
        let playlist = running
        let text = LiveAnswer.playlist(playlist.text())
        func answer(_ sequence: UInt64?, _ part: Int? = nil) -> LiveAnswer {
            playlist.answer(LiveRequest(sequence: sequence, part: part))
        }
        #expect(playlist.nextName == PartAddress(sequence: 9, part: 5))
        #expect(answer(nil) == text)
        #expect(answer(0) == text && answer(8) == text && answer(8, 3) == text)
        #expect(answer(9) == .wait(untilSequence: 9, part: nil))
        #expect(answer(9, 4) == text)
        #expect(answer(9, 5) == .wait(untilSequence: 9, part: 5))
        // Behind the last part of a complete segment is the first of the next one.
        #expect(answer(8, 20) == text && answer(8, 1_000) == text)
        #expect(answer(10) == .wait(untilSequence: 10, part: nil))
        #expect(answer(10, 0) == .wait(untilSequence: 10, part: 0))
    }

    @Test func `requests too far ahead are refused at once`() {
        let playlist = running
        func isRefused(_ sequence: UInt64?, _ part: Int? = nil) -> Bool {
            guard case .badRequest = playlist.answer(LiveRequest(sequence: sequence, part: part))
            else { return false }
            return true
        }
        #expect(isRefused(11) && isRefused(UInt64.max) && isRefused(11, 0))
        #expect(!isRefused(10))
        // Fifteen parts from the last one, which is the fifth.
        #expect(!isRefused(9, 19) && isRefused(9, 20) && isRefused(9, Int.max))
        #expect(!isRefused(10, 15) && isRefused(10, 16))
        #expect(isRefused(nil, 0))
    }

    @Test func `a player without parts waits for one whole segment`() {
        var gatherer = PartGatherer<Int>(LiveTiming(), firstSequence: 7)
        var playlist = LivePlaylist(LiveTiming(), zero: Self.zero, firstSequence: 7)
        for number in 0..<25 {
            let start = Double(number) / 5
            var unit = LiveUnit(
                number, sizeBytes: 1, nanoseconds: nanoseconds(start)..<nanoseconds(start + 0.2))
            unit.isIndependent = number % 10 == 0
            for part in gatherer.append(unit) { playlist.append(part.part) }
            if playlist.nextName.sequence == 7, playlist.nextName.part > 0 {
                #expect(
                    playlist.answer(LiveRequest()) == .wait(untilSequence: 7, part: nil))
                // A request with a part number comes from a player with the playlist.
                #expect(
                    playlist.answer(LiveRequest(sequence: 7, part: 0))
                        == .playlist(playlist.text()))
            }
        }
        #expect(playlist.nextName.sequence == 8)
        #expect(playlist.answer(LiveRequest()) == .playlist(playlist.text()))
    }

    @Test func `an empty playlist waits for its first part, a finished one answers at once`() {
        var playlist = LivePlaylist(LiveTiming(), zero: Self.zero, firstSequence: 7)
        #expect(playlist.answer(LiveRequest()) == .wait(untilSequence: 7, part: 0))
        #expect(
            playlist.answer(LiveRequest(sequence: 7, part: 0)) == .wait(untilSequence: 7, part: 0))
        guard case .badRequest = playlist.answer(LiveRequest(sequence: 9)) else {
            Issue.record("not refused")
            return
        }
        playlist = running
        let before = playlist.revision
        playlist.finish()
        #expect(playlist.revision == before + 1)
        playlist.finish()
        #expect(playlist.revision == before + 1)
        let text = LiveAnswer.playlist(playlist.text())
        for request in [
            LiveRequest(), LiveRequest(sequence: 100, part: 100), LiveRequest(part: 3),
            LiveRequest(sequence: 9, skipsOldSegments: true),
        ] {
            #expect(playlist.answer(request) == text)
        }
    }

    @Test func `delivery directives are read strictly`() throws {
        #expect(try LiveRequest(msn: nil, part: nil, skip: nil) == LiveRequest())
        #expect(
            try LiveRequest(msn: "12", part: "3", skip: "YES")
                == LiveRequest(sequence: 12, part: 3, skipsOldSegments: true))
        #expect(try LiveRequest(msn: nil, part: nil, skip: "v2").skipsOldSegments)
        for text in ["", "-1", "+1", "1.0", " 1", "0x1", "18446744073709551616", "1\u{0}", "١"] {
            #expect(throws: LiveRequest.Malformed.self, "\(text)") {
                try LiveRequest(msn: text, part: nil, skip: nil)
            }
            #expect(throws: LiveRequest.Malformed.self, "\(text)") {
                try LiveRequest(msn: "1", part: text, skip: nil)
            }
        }
        for text in ["", "NO", "yes", "YES,"] {
            #expect(throws: LiveRequest.Malformed.self, "\(text)") {
                try LiveRequest(msn: nil, part: nil, skip: text)
            }
        }
        let greatest = try LiveRequest(msn: "1", part: "18446744073709551615", skip: nil)
        #expect(greatest.part == Int.max)
    }

    @Test func `names of live resources are read back, and others are refused`() {
        for resource: LiveResource in [
            .segment(0), .segment(.max), .part(PartAddress(sequence: 7, part: 20)),
            .initialization(3),
        ] {
            #expect(LiveResource(resource.uri) == resource)
        }
        for name in [
            "", ".mp4", "7", "7.mov", "07.mp4", "+7.mp4", "-7.mp4", "7.-1.mp4", "7.01.mp4",
            "7.1.2.mp4", "init.mp4", "init.-1.mp4", "init.x.mp4", "init.1.2.mp4", "7..mp4",
            "18446744073709551616.mp4",
        ] {
            #expect(LiveResource(name) == nil, "\(name)")
        }
    }
}
