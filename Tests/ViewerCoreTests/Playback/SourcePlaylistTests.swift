import Archive
import Foundation
import Library
import Media
import MP4
import Recordings
import Testing
import TestRecordings

@testable import ViewerCore

/// Playlists of recorded sources that are kept between requests.
@Suite struct SourcePlaylistTests {
    private func content(
        _ playlist: SourcePlaylist, _ session: WrittenSession, isFinished: Bool = true
    ) throws -> SourcePlaylist.Content {
        let recording = try RecordedSession(WrittenSession.name, in: session.layout)
        let source = try #require(recording.source("camera"))
        return try playlist.content(of: source, isFinished: isFinished)
    }

    private func zero(_ session: WrittenSession) throws -> UTCTime {
        try RecordedSession(WrittenSession.name, in: session.layout).zero
    }

    @Test func `a playlist that is asked for again is the same`() throws {
        let session = try WrittenSession { _ in 0 }
        let playlist = SourcePlaylist(.vod, zero: try zero(session))
        let first = try content(playlist, session)
        let again = try content(playlist, session)
        #expect(first.text != nil && first.text == again.text)
        #expect(first.formats == again.formats && first.formats.count == 2)
        let rules = try expectRules(first.text)
        #expect(rules.isEnded && !rules.segments.isEmpty)
    }

    @Test func `a growing source lists its segments so far`() throws {
        let session = try WrittenSession(state: .recording, finished: false) { _ in 0 }
        let playlist = SourcePlaylist(.event, zero: try zero(session))
        let first = try content(playlist, session, isFinished: false)
        let rules = try expectRules(first.text)
        #expect(!rules.isEnded && rules.segments.count == 1)
        let again = try content(playlist, session, isFinished: false)
        #expect(again.text == first.text)
        let last = try content(playlist, session, isFinished: true)
        let end = try expectRules(last.text)
        #expect(end.isEnded && end.segments.count > rules.segments.count)
    }

    @Test func `retiming changes the addresses, and undoing it restores them`() throws {
        let session = try WrittenSession(error: WrittenSession.settling)
        let playlist = SourcePlaylist(.vod, zero: try zero(session))
        let before = try content(playlist, session).text
        try session.retime()
        let after = try content(playlist, session).text
        let old = try expectRules(before)
        let new = try expectRules(after)
        #expect(old.segments.count == new.segments.count)
        #expect(Set(old.segments.map(\.uri)).isDisjoint(with: new.segments.map(\.uri)))
        #expect(old.segments.map(\.map) == new.segments.map(\.map))
        #expect(old.segments.map(\.range) == new.segments.map(\.range))
        try session.undoRetiming()
        let restored = try content(playlist, session).text
        #expect(restored == before)
    }

    @Test func `each range of a playlist is whole fragments that begin with a keyframe`() throws {
        let session = try WrittenSession(error: WrittenSession.settling)
        try session.retime()
        let playlist = SourcePlaylist(.vod, zero: try zero(session))
        let rules = try expectRules(try content(playlist, session).text)
        let files = try session.files()
        var pictures = 0
        for segment in rules.segments {
            guard case .media(let name, let revision)? = SegmentResource(segment.uri) else {
                Issue.record("\(segment.uri) is no media")
                continue
            }
            let file = try #require(files.first { $0.path.hasSuffix("/\(name).mp4") })
            #expect(revision == file.revision && revision != 0)
            let range = try #require(segment.range)
            let media = try RetimedBytes(file).read(
                at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
            var scanner = try FragmentScanner(MemorySource(try file.growing(media)))
            var isFirst = true
            while let fragment = try scanner.next() {
                let samples = fragment.runs.filter { $0.track == .video }.flatMap(\.samples)
                if isFirst { #expect(samples.first?.isSync == true) }
                isFirst = false
                pictures += samples.count
            }
            #expect(scanner.stop == .end)
        }
        #expect(pictures == 200)
    }

    @Test func `a file that is damaged is left out`() throws {
        let session = try WrittenSession(segments: 3) { _ in 0 }
        let whole = try content(SourcePlaylist(.vod, zero: try zero(session)), session)
        try FileSystem.replace(try session.paths[1], with: Array("nonsense".utf8))
        let rest = try content(SourcePlaylist(.vod, zero: try zero(session)), session)
        let all = try expectRules(whole.text).segments
        let left = try expectRules(rest.text).segments
        #expect(Set(left.map(\.map)).count == 2 && Set(all.map(\.map)).count == 3)
        #expect(left.count < all.count)
    }

    /// A file's segments wait until earlier files are complete, but not for a removed one.
    @Test func `a file removed while it grew does not block later ones`() throws {
        let session = try WrittenSession(segments: 3, state: .recording, finished: false) { _ in 0 }
        let playlist = SourcePlaylist(.event, zero: try zero(session))
        let first = try content(playlist, session, isFinished: false)
        let before = try expectRules(first.text).segments
        try FileManager.default.removeItem(atPath: try session.paths[0])
        let second = try content(playlist, session, isFinished: false)
        let after = try expectRules(second.text).segments
        #expect(after.map(\.core).starts(with: before.map(\.core)))
        #expect(Set(after.map(\.map)).count == 2)
    }

    @Test func `the same source has the same playlist until others were asked for`() {
        let store = PlaylistStore()
        func playlist(_ number: Int, at now: Int) -> SourcePlaylist {
            store.playlist(
                PlaylistStore.Key(session: "session", source: "camera\(number)"),
                zero: UTCTime(nanoseconds: 0), isFinished: true, now: Int64(now))
        }
        let first = playlist(0, at: 0)
        let second = playlist(1, at: 1)
        #expect(playlist(0, at: 2) === first && playlist(1, at: 2) === second)
        for number in 2..<1_000 {
            _ = playlist(number, at: number)
            // Requested repeatedly.
            #expect(playlist(0, at: number) === first)
        }
        #expect(playlist(1, at: 1_000) !== second)
    }

    @Test func `followers of a recording see the same playlist end, later clients get a new one`() {
        let store = PlaylistStore()
        let key = PlaylistStore.Key(session: "session", source: "camera")
        func playlist(isFinished: Bool, atSeconds seconds: Int64) -> SourcePlaylist {
            store.playlist(
                key, zero: UTCTime(nanoseconds: 0), isFinished: isFinished,
                now: seconds * 1_000_000_000)
        }
        let growing = playlist(isFinished: false, atSeconds: 0)
        #expect(growing.isGrowing)
        // However long it is not requested.
        #expect(playlist(isFinished: false, atSeconds: 10_000) === growing)
        #expect(playlist(isFinished: true, atSeconds: 10_100) === growing)
        #expect(playlist(isFinished: true, atSeconds: 10_200) === growing)
        let finished = playlist(isFinished: true, atSeconds: 10_400)
        #expect(finished !== growing && !finished.isGrowing)
        #expect(playlist(isFinished: true, atSeconds: 20_000) === finished)
    }
}
