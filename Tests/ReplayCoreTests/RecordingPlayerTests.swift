import Archive
import Foundation
import Hashing
import Library
import Media
import Messaging
import Recordings
import ReplayCore
import Testing
import TestRecordings
import Wire

/// The messages of a replayed recording.
@Suite struct RecordingPlayerTests {
    private static let second = WrittenSession.second

    private func source(_ written: WrittenSession) throws -> RecordedSource {
        try #require(RecordedSession(WrittenSession.name, in: written.layout).source("camera"))
    }

    private func items(
        _ written: WrittenSession, from: Int64? = nil, to: Int64? = nil
    ) throws -> [ReplayItem] {
        guard var player = try RecordingPlayer(try source(written), from: from, to: to) else {
            return []
        }
        var items: [ReplayItem] = []
        while let item = try player.next() { items.append(item) }
        return items
    }

    private func samples(_ items: [ReplayItem]) -> [ReplayedSamples] {
        items.compactMap { if case .samples(let samples) = $0.content { samples } else { nil } }
    }

    @Test func `messages leave as they came: same samples, same bytes, same digests`() throws {
        let written = try WrittenSession { _ in 0 }
        let items = try items(written)
        let messages = samples(items)
        #expect(messages.count == 100)
        #expect(
            zip(items, items.dropFirst()).allSatisfy { $0.timeNanoseconds <= $1.timeNanoseconds })
        for (index, message) in messages.enumerated() {
            #expect(message.runs.map(\.track) == [.video, .audio])
            #expect(message.runs[0].dtsNanoseconds[0] == Int64(index) * Self.second / 10)
            #expect(message.runs[1].sizes == [3, 3, 3, 3, 3])
            let digest = message.payload.withUnsafeBytes { HashFunction.sha256.hash($0) }
            #expect(message.digest == digest)
        }
        #expect(messages[10].runs[0].flags(at: 0) == .keyframe)
        #expect(messages[11].runs[0].flags(at: 0) == [])
    }

    @Test func `media after the fourth gigabyte are replayed unchanged`() throws {
        let near = try WrittenSession(finished: false) { _ in 0 }
        let far = try WrittenSession(finished: false) { _ in 0 }
        for path in try far.paths { try DistantRecording.push(path) }
        let expected = samples(try items(near))
        let messages = samples(try items(far))
        #expect(messages.count == 100)
        for (message, other) in zip(messages, expected) {
            #expect(message.runs == other.runs && message.digest == other.digest)
            let digest = message.payload.withUnsafeBytes { HashFunction.sha256.hash($0) }
            #expect(message.digest == digest)
        }
    }

    @Test
    func `a part begins with its keyframe, and divided messages get new digests`() throws {
        let written = try WrittenSession { _ in 0 }
        let messages = samples(
            try items(written, from: 5_720_000_000, to: 6_030_000_000))
        let pictures = messages.flatMap(\.runs).filter { $0.track == .video }
            .flatMap(\.dtsNanoseconds)
        #expect(pictures.first == 5 * Self.second && pictures.last == 6 * Self.second)
        let packets = messages.flatMap(\.runs).filter { $0.track == .audio }
            .flatMap(\.dtsNanoseconds)
        #expect(packets.first == 5 * Self.second && packets.last == 6_020_000_000)
        for message in messages {
            let digest = message.payload.withUnsafeBytes { HashFunction.sha256.hash($0) }
            #expect(message.digest == digest)
        }
        #expect(try items(written, from: 20 * Self.second, to: 21 * Self.second).isEmpty)
    }

    @Test func `gaps of the ledger are replayed at their times`() throws {
        let written = try WrittenSession { _ in 0 }
        var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        gap.cause = "driver drop"
        gap.startNanoseconds = 3 * Self.second
        gap.durationNanoseconds = 40_000_000
        gap.samples = 2
        gap.track = "video"
        gap.text = "two buffers"
        try FileSystem.replace(
            written.layout.ledger(WrittenSession.name, "camera"), with: Ledger.line(gap))
        let all = try items(written)
        let place = try #require(
            all.firstIndex { if case .loss = $0.content { true } else { false } })
        guard case .loss(let loss) = all[place].content else { return }
        #expect(loss.cause == .driverDrop && loss.track == .video && loss.samples == 2)
        #expect(loss.startNanoseconds == 3 * Self.second && loss.durationNanoseconds == 40_000_000)
        #expect(all[place - 1].timeNanoseconds < 3 * Self.second)
        #expect(all[place + 1].timeNanoseconds >= 3 * Self.second)
        // A gap before the first message is sent after it, so that nothing waits for it.
        gap.startNanoseconds = -60 * Self.second
        try FileSystem.replace(
            written.layout.ledger(WrittenSession.name, "camera"), with: Ledger.line(gap))
        guard case .loss(let early) = try self.items(written)[1].content else {
            Issue.record("the loss is not the second item")
            return
        }
        #expect(early.startNanoseconds == -60 * Self.second)
        gap.startNanoseconds = 3 * Self.second
        try FileSystem.replace(
            written.layout.ledger(WrittenSession.name, "camera"), with: Ledger.line(gap))
        // Outside of the part that is played, it is not reported.
        let part = try self.items(written, from: 5 * Self.second)
        #expect(!part.contains { if case .loss = $0.content { true } else { false } })
    }

    @Test(arguments: [[0, 1], [1], [2]])
    func `removed files are gaps of their length`(_ gone: [Int]) throws {
        let written = try WrittenSession(segments: 4) { _ in 0 }
        let ledger = written.layout.ledger(WrittenSession.name, "camera")
        var lines: [UInt8] = []
        for (index, path) in try written.paths.enumerated() where gone.contains(index) {
            try SegmentRemoval.remove(path, cause: "age", now: UTCTime(nanoseconds: 0)) { more in
                lines += more
            }
        }
        try FileSystem.replace(ledger, with: lines)
        let items = try items(written)
        let losses = items.compactMap { if case .loss(let loss) = $0.content { loss } else { nil } }
        #expect(losses.map(\.startNanoseconds) == gone.map { Int64($0) * 5 * Self.second })
        #expect(losses.allSatisfy { $0.durationNanoseconds == 5 * Self.second })
        // 20 pictures and 50 packets a second.
        #expect(losses.allSatisfy { $0.samples == 350 && $0.track == nil })
        #expect(losses.allSatisfy { $0.text == "removed from the recording: age" })
        #expect(samples(items).count == 50 * (4 - gone.count))
        #expect(
            zip(items, items.dropFirst()).allSatisfy { $0.timeNanoseconds <= $1.timeNanoseconds })
    }

    @Test(
        arguments: [
            (nil, nil), (7 * Self.second, nil), (nil, 12 * Self.second), (nil, 11 * Self.second),
        ] as [(Int64?, Int64?)])
    func `a file that is lost is a gap of unknown cause`(_ from: Int64?, _ to: Int64?) throws {
        let written = try WrittenSession(segments: 4) { _ in 0 }
        try FileManager.default.removeItem(atPath: written.paths[1])
        let items = try items(written, from: from, to: to)
        let losses = items.compactMap { if case .loss(let loss) = $0.content { loss } else { nil } }
        let loss = try #require(losses.first)
        #expect(losses.count == 1)
        #expect(loss.startNanoseconds == 5 * Self.second)
        #expect(loss.durationNanoseconds == 5 * Self.second)
        #expect(loss.samples == 350 && loss.track == nil && loss.cause == .unspecified)
        #expect(loss.text == "missing in the replayed recording")
        #expect(items.reduce(0) { $0 + $1.unexplainedSamples } == 350)
        #expect(
            zip(items, items.dropFirst()).allSatisfy { $0.timeNanoseconds <= $1.timeNanoseconds })
    }

    @Test(
        arguments: [
            (nil, nil), (7 * Self.second, nil), (12 * Self.second, nil), (nil, 12 * Self.second),
            (nil, 5 * Self.second), (3 * Self.second, 10 * Self.second),
        ] as [(Int64?, Int64?)])
    func `an intact recording has no losses, whatever part is played`(
        _ from: Int64?, _ to: Int64?
    ) throws {
        let written = try WrittenSession(segments: 4) { _ in 0 }
        let items = try items(written, from: from, to: to)
        #expect(!items.contains { if case .loss = $0.content { true } else { false } })
    }

    @Test func `a lost file outside of the part that is played is no loss`() throws {
        let written = try WrittenSession(segments: 4) { _ in 0 }
        try FileManager.default.removeItem(atPath: written.paths[1])
        for (from, to) in [(nil, 4), (13, nil)] as [(Int64?, Int64?)] {
            let items = try items(
                written, from: from.map { $0 * Self.second }, to: to.map { $0 * Self.second })
            #expect(!items.contains { if case .loss = $0.content { true } else { false } })
        }
    }

    @Test func `a hole of a recording that continues is no loss: its agent has the records`()
        throws
    {
        let written = try WrittenSession(segments: 4, state: .recording) { _ in 0 }
        try FileManager.default.removeItem(atPath: written.paths[1])
        #expect(
            try !items(written).contains { if case .loss = $0.content { true } else { false } })
    }

    @Test(arguments: [0, 3])
    func `a lost first or last file is a gap, by the numbers that the session counts`(
        _ lost: Int
    ) throws {
        let written = try WrittenSession(segments: 4) { _ in 0 }
        let path = written.layout.manifest(WrittenSession.name)
        var manifest = try SessionManifest.read(path)
        var source = SessionManifest.Source(
            name: "camera", agent: "box", address: "192.0.2.1", tracks: [], isComplete: true)
        source.spools = [
            SessionManifest.SpoolEnd(
                spool: SpoolID(high: 1, low: 1).description, first: 1,
                sequences: SequenceSet(upTo: 1_400))
        ]
        manifest.sources = [source]
        try FileSystem.replace(path, with: manifest.encoded())
        #expect(
            try !items(written).contains { if case .loss = $0.content { true } else { false } })
        try FileManager.default.removeItem(atPath: written.paths[lost])
        let losses = try items(written).compactMap {
            if case .loss(let loss) = $0.content { loss } else { nil }
        }
        #expect(losses.map(\.samples) == [350])
        #expect(losses.map(\.startNanoseconds) == [lost == 0 ? 5 * Self.second : 15 * Self.second])
    }
}
