import Accounts
import Archive
import Library
import Logging
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

    func open(_ session: String = "one", from: String? = nil) async throws -> RecordingPlayback {
        try await RecordingPlayback.open("camera", in: session, from: from, for: owner, at: site)
    }

    /// Sends everything of a range; session times of its pictures, in seconds.
    func send(_ playback: RecordingPlayback, _ range: PlayRange) async throws -> [Int64] {
        let cursor = try await playback.seek(to: range)
        _ = playback.begin(cursor)
        var times: [Int64] = []
        while true {
            let steps = try await playback.next(cursor)
            if steps.isEmpty { return times }
            for step in steps { playback.note(sent: step) }
            times += steps.map { $0.positionNanoseconds / second }
        }
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
        // Of a recording that ends earlier.
        let long = try await playback.seek(to: .from(17 * second, until: 30 * second))
        #expect(playback.begin(long).endNanoseconds == 18 * second)
        #expect(try await scene.send(playback, range) == [6, 7])
        #expect(try await scene.send(playback, .unspecified) == [7])
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
            playback.note(sent: try #require(steps.first))
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
        #expect(try await playback.next(cursor).first?.positionNanoseconds == 16 * second)
        let error = await #expect(throws: Problem.self) {
            _ = try await playback.seek(to: .from(1_000 * second, until: nil))
        }
        #expect(error.map { RTSPService.status(of: $0) } == .invalidRange)
        #expect(try await playback.next(cursor).first?.positionNanoseconds == 18 * second)
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
    @Test func `a name that no collector reports costs no subscription`() async throws {
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
        let wish = ServerSession.Wish(resource: .live(source: "nothing"), credentials: nil)
        let outcome = await service.resolve(wish, from: "192.0.2.7", connection: number)
        guard case .refused(.notFound) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(hub.watcherCount == 0)
        try await scene.site.threads.stop()
    }
}
