import Accounts
import Archive
import Foundation
import HTTPTypes
import Library
import Logging
import MP4
import Media
import NIOEmbedded
import Recordings
import Synchronization
import TestAccounts
import TestRecordings
import Testing

@testable import RTSPServer
@testable import ViewerCore

private let second: Int64 = 1_000_000_000

/// An archive with recordings of 20 s, whose keyframes are a second apart.
private final class PlaybackScene: Sendable {
    let archive = SmallArchive()
    let site: ViewerSite
    let owner = WorkOwner.account(.user("anna"))

    init() throws {
        try archive.addSession("one", segments: 2)
        site = ViewerSite(
            archive: ArchiveReference(directory: archive.layout.root),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            threads: ReadingThreads())
    }

    /// Writes ten seconds of sound in place of a file.
    func replaceWithSound(_ path: String, from start: Int64 = 10, channels: UInt8 = 2) throws {
        try FileManager.default.removeItem(atPath: path)
        let format = TrackFormat.audio(
            .aac(
                configuration: [0x11, 0x80 | channels << 3], sampleRate: 48_000,
                channels: UInt32(channels)))
        let writer = try SegmentWriter(
            path: path,
            plan: SegmentPlan(
                originNanoseconds: start * second,
                tracks: [.init(format: format, originTicks: start * 48_000, shiftTicks: 0)]),
            sessionZero: SmallArchive.zero)
        let samples = (0..<500).map { packet in
            let ticks = start * 48_000 + Int64(packet) * 960
            return PlannedSample(
                sizeBytes: 3, dts: ticks, pts: ticks, duration: 960, flags: .keyframe,
                agentDTSNanoseconds: start * second + Int64(packet) * second / 50,
                appliedOffsetNanoseconds: 0)
        }
        let bytes = [UInt8](repeating: 7, count: 1_500)
        try writer.append(
            FragmentPlan(
                context: FragmentContext(
                    spool: SmallArchive.spool, epoch: EpochID(high: 2, low: 2),
                    clock: FragmentRecord.Clock(
                        offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
                    collectorZeroNanoseconds: 0),
                pieces: [
                    PlannedPiece(
                        payload: ArrayPayload(bytes), range: 0..<bytes.count,
                        digest: Digest(of: bytes),
                        runs: [
                            PlannedRun(
                                track: .audio, firstSequence: UInt64(start + 1), samples: samples)
                        ])
                ]))
        try writer.finish()
    }

    /// Monotonic time of a playback, nanoseconds.
    let now = Atomic<Int64>(0)

    func open(_ session: String = "one", from: String? = nil) async throws -> RecordingPlayback {
        try await RecordingPlayback.open(
            "camera", in: session, from: from, for: owner, at: site
        ) { [self] in now.load(ordering: .relaxed) }
    }

    func setComplete(_ isComplete: Bool, _ session: String) throws {
        let path = archive.layout.manifest(session)
        var manifest = try SessionManifest.read(path)
        manifest.sources[0].isComplete = isComplete
        try FileSystem.replace(path, with: manifest.encoded())
    }

    /// The next pictures, in seconds, until playback waits or ends.
    func steps(
        _ playback: RecordingPlayback, _ cursor: RecordingPlayback.Cursor
    ) async throws -> [(picture: Int64, isAfterWait: Bool)] {
        var found: [(picture: Int64, isAfterWait: Bool)] = []
        var isBegun = false
        while let steps = try await playback.next(cursor) {
            if steps.isEmpty, isBegun { break }
            isBegun = isBegun || !steps.isEmpty
            found += steps.map { ($0.positionNanoseconds / second, $0.isAfterWait) }
        }
        return found
    }

    /// Sends everything of a range; session times of its pictures, in seconds.
    func send(_ playback: RecordingPlayback, _ range: PlayRange) async throws -> [Int64] {
        let cursor = try await playback.seek(to: range)
        _ = playback.begin(cursor)
        var times: [Int64] = []
        while let steps = try await playback.next(cursor) {
            for step in steps { playback.note(sent: step) }
            times += steps.map { $0.positionNanoseconds / second }
        }
        return times
    }
}

@Suite(.timeLimit(.minutes(1))) struct RecordingPlaybackTests {
    private let scene: PlaybackScene

    init() throws { scene = try PlaybackScene() }

    @Test func `normal play time begins at the keyframe at or before from`() async throws {
        let playback = try await scene.open(from: "12.5")
        #expect(playback.beginningNanoseconds == 12 * second)
        #expect(playback.presentation.extent == .recorded(durationNanoseconds: 8 * second))
        #expect(try await scene.send(playback, .from(0, until: nil)) == Array(12...19))
        try await scene.site.threads.stop()
    }

    @Test func `playback stops at the stated end, and continues from there`() async throws {
        let playback = try await scene.open(from: "2")
        let cursor = try await playback.seek(to: .from(4 * second, until: 6 * second))
        let beginning = playback.begin(cursor)
        #expect(beginning.startNanoseconds == 4 * second)
        #expect(beginning.endNanoseconds == 6 * second)
        let range = PlayRange.from(4 * second, until: 6 * second)
        #expect(try await scene.send(playback, range) == [6, 7])
        // The recording ends earlier.
        let long = try await playback.seek(to: .from(17 * second, until: 30 * second))
        #expect(playback.begin(long).endNanoseconds == 18 * second)
        #expect(try await scene.send(playback, range) == [6, 7])
        // The last pictures were repeated, whenever the end was reached.
        #expect(try await scene.send(playback, .unspecified) == Array(7...19))
        try await scene.site.threads.stop()
    }

    @Test func `playback continues at the time that was sent last, also after a seek back`()
        async throws
    {
        let playback = try await scene.open()
        for start in [15, 4] {
            let range = PlayRange.from(Int64(start) * second, until: nil)
            let cursor = try await playback.seek(to: range)
            _ = playback.begin(cursor)
            let steps = try await playback.next(cursor)
            playback.note(sent: try #require(steps?.first))
            let next = try await playback.seek(to: .unspecified)
            #expect(next.startNanoseconds == Int64(start) * second)
        }
        try await scene.site.threads.stop()
    }

    @Test func `a seek beyond the end fails, and the playback in progress continues`() async throws
    {
        let playback = try await scene.open()
        let cursor = try await playback.seek(to: .from(16 * second, until: nil))
        _ = playback.begin(cursor)
        #expect(try await playback.next(cursor)?.first?.positionNanoseconds == 16 * second)
        let error = await #expect(throws: Problem.self) {
            _ = try await playback.seek(to: .from(1_000 * second, until: nil))
        }
        #expect(error.map { RTSPService.status(of: $0) } == .invalidRange)
        #expect(try await playback.next(cursor)?.first?.positionNanoseconds == 18 * second)
        try await scene.site.threads.stop()
    }

    @Test func `a recording has no end while its source is recorded, also between two files`()
        async throws
    {
        let layout = scene.archive.layout
        try scene.archive.addSession("two", segments: 1, state: .recording)
        let lock = try #require(try ArchiveLock.take(layout))
        for (isComplete, duration) in [(true, 10 * second), (false, nil)] {
            var manifest = try SessionManifest.read(layout.manifest("two"))
            manifest.sources[0].isComplete = isComplete
            try FileSystem.replace(layout.manifest("two"), with: manifest.encoded())
            // Its only file is finished.
            let playback = try await scene.open("two")
            #expect(
                playback.presentation.extent == .recorded(durationNanoseconds: duration),
                "\(isComplete)")
        }
        withExtendedLifetime(lock) {}
        try await scene.site.threads.stop()
    }

    /// The files that were known at the start were played, and then the end was reported.
    @Test func `playback of a recording that grows continues until its source is complete`()
        async throws
    {
        let layout = scene.archive.layout
        let paths = try scene.archive.addSession("two", segments: 2, state: .recording)
        try scene.setComplete(false, "two")
        let aside = "\(layout.root)/aside"
        try FileManager.default.moveItem(atPath: paths[1], toPath: aside)
        let lock = try #require(try ArchiveLock.take(layout))
        let playback = try await scene.open("two")
        let cursor = try await playback.seek(to: .from(0, until: nil))
        _ = playback.begin(cursor)
        // The end may have only one of the tracks.
        #expect(try await scene.steps(playback, cursor).map(\.picture) == Array(0...6))
        try FileManager.default.moveItem(atPath: aside, toPath: paths[1])
        let more = try await scene.steps(playback, cursor)
        #expect(more.map(\.picture) == Array(7...16))
        #expect(more.map(\.isAfterWait) == [true] + Array(repeating: false, count: 9))
        try scene.setComplete(true, "two")
        #expect(try await scene.steps(playback, cursor).map(\.picture) == Array(17...19))
        #expect(try await playback.next(cursor)?.count == nil)
        withExtendedLifetime(lock) {}
        try await scene.site.threads.stop()
    }

    /// It waited until the session's end.
    @Test func `playback ends where a source has stopped, although its session continues`()
        async throws
    {
        try scene.archive.addSession("two", segments: 2, state: .recording)
        try scene.setComplete(false, "two")
        let lock = try #require(try ArchiveLock.take(scene.archive.layout))
        let playback = try await scene.open("two")
        let cursor = try await playback.seek(to: .from(15 * second, until: nil))
        _ = playback.begin(cursor)
        #expect(try await scene.steps(playback, cursor).map(\.picture) == [15, 16])
        scene.now.store(10 * second, ordering: .relaxed)
        #expect(try await scene.steps(playback, cursor).map(\.picture) == [17, 18, 19])
        #expect(try await playback.next(cursor)?.count == 0)
        scene.now.store(30 * second, ordering: .relaxed)
        while let steps = try await playback.next(cursor) { #expect(steps.isEmpty) }
        #expect(cursor.endReason == "nothing more is recorded at present")
        withExtendedLifetime(lock) {}
        try await scene.site.threads.stop()
    }

    @Test func `a range of a recording that grows ends at its end`() async throws {
        let layout = scene.archive.layout
        try scene.archive.addSession("two", segments: 2, state: .recording)
        try scene.setComplete(false, "two")
        let lock = try #require(try ArchiveLock.take(layout))
        let playback = try await scene.open("two")
        let range = PlayRange.from(4 * second, until: 6 * second)
        #expect(try await scene.send(playback, range) == [4, 5])
        withExtendedLifetime(lock) {}
        try await scene.site.threads.stop()
    }

    @Test func `sound without a description is skipped half a second at a time`() async throws {
        let paths = try scene.archive.addSession("three", segments: 3)
        try scene.replaceWithSound(paths[1])
        let playback = try await scene.open("three")
        let cursor = try await playback.seek(to: .from(9 * second, until: nil))
        _ = playback.begin(cursor)
        var positions: [[Int64]] = []
        while let steps = try await playback.next(cursor) {
            positions.append(steps.map { $0.positionNanoseconds / second })
        }
        // Ten seconds of sound are twenty parts.
        #expect(positions.first == [9])
        #expect((18...22).contains(positions.count { $0.isEmpty }), "\(positions)")
        #expect(positions.flatMap { $0 } == [9] + Array(20...29))
        try await scene.site.threads.stop()
    }

    /// It was left out.
    @Test func `a track that begins later is described and played`() async throws {
        let paths = try scene.archive.addSession("five", segments: 5)
        for index in 3...4 {
            try scene.replaceWithSound(paths[index], from: Int64(index) * 10)
        }
        let playback = try await scene.open("five")
        let tracks = playback.presentation.tracks
        #expect(tracks.map(\.format.kind) == [.video, .audio])
        let cursor = try await playback.seek(to: .from(29 * second, until: nil))
        _ = playback.begin(cursor)
        var packets = [0, 0]
        while let steps = try await playback.next(cursor) {
            for packet in steps.flatMap(\.batch.batch.packets) where !packet.isControl {
                packets[packet.track] += 1
            }
        }
        #expect(packets[0] >= 1 && packets[1] == 1_000)
        #expect(cursor.endReason == nil)
        try await scene.site.threads.stop()
    }

    /// Playback ended without a reason.
    @Test func `playback ends where the format changes, and states the reason`() async throws {
        let paths = try scene.archive.addSession("three", segments: 3)
        try scene.replaceWithSound(paths[1], from: 10)
        try scene.replaceWithSound(paths[2], from: 20, channels: 1)
        let playback = try await scene.open("three")
        let cursor = try await playback.seek(to: .from(9 * second, until: nil))
        _ = playback.begin(cursor)
        var last: Int64 = 0
        while let steps = try await playback.next(cursor) {
            last = max(last, steps.last?.positionNanoseconds ?? 0)
        }
        #expect(last == 19_980_000_000)
        let reason =
            "the recording has another format from 20.000 s on: request it with ?from=20.000"
        #expect(cursor.endReason == reason)
        // No description of the beginning suits it.
        let problem = try await #require(throws: Problem.self) {
            _ = try await playback.seek(to: .from(25 * second, until: nil))
        }
        #expect(problem.status == .notFound && problem.text.contains("?from=25.000"))
        #expect(try await scene.open("three", from: "25").presentation.tracks.count == 1)
        try await scene.site.threads.stop()
    }

    /// Players waited for the length of the gap, or dropped what came after it.
    @Test func `timestamps shorten a long gap, and the report after it states the true time`()
        async throws
    {
        let paths = try scene.archive.addSession("three", segments: 3)
        try FileManager.default.removeItem(atPath: paths[1])
        let playback = try await scene.open("three")
        let cursor = try await playback.seek(to: .from(8 * second, until: nil))
        let start = try #require(playback.begin(cursor).tracks[0]?.timestamp)
        var (dues, pictures, reports): ([Int64], [UInt32], [(seconds: UInt32, ticks: UInt32)]) =
            ([], [], [])
        while let steps = try await playback.next(cursor) {
            for step in steps {
                let batch = step.batch.batch
                dues.append(step.dueNanoseconds / second)
                for packet in batch.packets {
                    let bytes = Array(batch.bytes[packet.range])
                    if packet.isControl {
                        reports.append((number(bytes, at: 8), number(bytes, at: 16) &- start))
                    } else if bytes[12] & 0x1F == 5 {
                        pictures.append(number(bytes, at: 4) &- start)
                    }
                }
            }
        }
        // Pictures 8, 9, and 20 to 29.
        #expect(dues == Array(8...19))
        #expect(pictures == (0...11).map { UInt32($0) * 90_000 })
        // Seconds since 1900.
        let zero = UInt32(SmallArchive.zero.nanoseconds / second + 2_208_988_800)
        #expect(reports.map(\.seconds) == [zero + 8, zero + 20, zero + 25])
        #expect(reports.map(\.ticks) == [0, 180_000, 630_000])
        try await scene.site.threads.stop()
    }

    /// Timestamps went back to those of the earlier time.
    @Test func `timestamps continue after a seek, and sender reports map them to the true time`()
        async throws
    {
        let playback = try await scene.open()
        let start = try #require(
            playback.begin(try await playback.seek(to: .from(15 * second, until: nil)))
                .tracks[0]?.timestamp)
        _ = try await scene.send(playback, .from(15 * second, until: 18 * second))
        let cursor = try await playback.seek(to: .from(2 * second, until: 4 * second))
        let beginning = playback.begin(cursor)
        #expect(beginning.startNanoseconds == 2 * second)
        // Three seconds were played, and 0.2 s are left out.
        #expect(beginning.tracks[0].map { $0.timestamp &- start } == 288_000)
        var pictures: [UInt32] = []
        var reports: [(seconds: UInt32, ticks: UInt32)] = []
        while let steps = try await playback.next(cursor) {
            for step in steps {
                let batch = step.batch.batch
                for packet in batch.packets {
                    let bytes = Array(batch.bytes[packet.range])
                    if packet.isControl {
                        reports.append((number(bytes, at: 8), number(bytes, at: 16) &- start))
                    } else if bytes[12] & 0x1F == 5 {
                        pictures.append(number(bytes, at: 4) &- start)
                    }
                }
            }
        }
        #expect(pictures == [288_000, 378_000])
        let zero = UInt32(SmallArchive.zero.nanoseconds / second + 2_208_988_800)
        #expect(reports.map(\.seconds) == [zero + 2])
        #expect(reports.map(\.ticks) == [288_000])
        try await scene.site.threads.stop()
    }

    /// Receivers did not learn of lost samples.
    @Test func `a sequence number is skipped where samples are missing`() async throws {
        let paths = try scene.archive.addSession("three", segments: 3)
        try FileManager.default.removeItem(atPath: paths[1])
        for (session, expected) in [("one", []), ("three", [20])] as [(String, [Int64])] {
            let playback = try await scene.open(session)
            let cursor = try await playback.seek(to: .from(0, until: nil))
            var next = try #require(playback.begin(cursor).tracks[0]?.sequence)
            var skips: [Int64] = []
            while let steps = try await playback.next(cursor) {
                for step in steps {
                    let batch = step.batch.batch
                    for packet in batch.packets where !packet.isControl {
                        let bytes = Array(batch.bytes[packet.range])
                        let sequence = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
                        if sequence != next {
                            #expect(sequence == next &+ 1)
                            skips.append(step.positionNanoseconds / second)
                        }
                        next = sequence &+ 1
                    }
                }
            }
            #expect(skips == expected)
        }
        try await scene.site.threads.stop()
    }

    private func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    @Test func `look-ups wait for the turn of their account`() async throws {
        let gate = ReadingGate()
        let heavy = (0..<2).map { _ in
            Task { [scene] in
                try await scene.site.runHeavy(for: scene.owner) { await gate.wait() }
            }
        }
        while gate.waitingCount < 2 { await Task.yield() }
        let lookup = Task { [scene] in try await scene.open() }
        while scene.site.heavyWork.waitingCount < 1 { await Task.yield() }
        gate.open()
        for task in heavy { try await task.value }
        _ = try await lookup.value
        try await scene.site.threads.stop()
    }
}

/// Holds work until it is opened.
private final class ReadingGate: Sendable {
    private let state = Mutex((waitingCount: 0, isOpen: false))

    var waitingCount: Int { state.withLock(\.waitingCount) }

    func wait() async {
        state.withLock { $0.waitingCount += 1 }
        while !state.withLock(\.isOpen) { await Task.yield() }
    }

    func open() { state.withLock { $0.isOpen = true } }
}

@Suite(.timeLimit(.minutes(1))) struct RTSPServiceTests {
    @Test func `a name that no collector reports causes no subscription`() async throws {
        let scene = try PlaybackScene()
        let (hub, history) = (LiveHub(), StatusHistory())
        let disk =
            #"{"removesOldSegments":false,"filesWithoutRoom":0,"stuckFiles":0,"busySeconds":0}"#
        let status =
            #"{"version":"1","isReady":true,"refusedConnections":0,"disk":\#(disk),"sources":[],"omittedSources":0}"#
        history.take(status: Array(status.utf8), now: 0)
        let service = RTSPService(
            site: scene.site, access: try AccessScene().access(hasAccounts: false), hub: hub,
            history: history, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let number = try #require(service.begin(EmbeddedChannel()))
        let wish = ServerSession.Lookup(resource: .live(source: "nothing"), credentials: nil)
        let outcome = await service.resolve(wish, from: "192.0.2.7", connection: number)
        guard case .refused(.notFound) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(hub.watcherCount == 0)
        try await scene.site.threads.stop()
    }
}
