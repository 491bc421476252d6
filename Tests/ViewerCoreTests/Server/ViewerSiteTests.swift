import Archive
import Dispatch
import ExportCore
import Glibc
import HTTPTypes
import Library
import Logging
import MP4
import Media
import Recordings
import Synchronization
import Testing
import TestRecordings

@testable import Accounts
@testable import ViewerCore

/// Work that occupies its thread.
private final class BlockedWork: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let counts = Mutex((running: 0, met: 0))

    var running: Int { counts.withLock { $0.running } }

    /// Blocks until released.
    func run() {
        counts.withLock { $0.running += 1 }
        gate.wait()
    }

    func free(_ count: Int) {
        for _ in 0..<count { gate.signal() }
    }

    /// Blocks until `count` have arrived.
    func meets(_ count: Int) {
        counts.withLock { $0.met += 1 }
        while counts.withLock({ $0.met }) < count { usleep(1_000) }
    }
}

/// The answers for errors.
@Suite struct ViewerSiteTests {
    private struct Unknown: Error {}

    private static let errors: [(any Error, Int)] = [
        (MP4Error.noBox(offset: 7), 503),
        (MP4Error.shortRead(offset: 7, wanted: 2, got: 1), 503),
        (Unknown(), 503),
        (ArchiveError.malformed(path: "/secret/a.mp4", reason: "its index is cut"), 503),
        (ArchiveError.system(operation: "read", path: "/secret/a.mp4", errno: 5), 503),
        (ArchiveError.system(operation: "read", path: "/secret/a.mp4", errno: 2), 404),
        (ArchiveError.badName("a/b"), 404),
        (LibraryError.noArchive("/secret"), 503),
        (LibraryError.noCatalog, 503),
        (LibraryError.noSession("a", archive: "/secret"), 404),
        (ExportError.noSource("a", available: ["secret"]), 404),
        (ExportError.nothingThere("stage"), 404),
        (ExportError.tooLong, 413),
        (ExportError.formatChanges(.video, atNanoseconds: 83_500_000_000), 409),
        (ExportError.rateChanges(path: "/secret/a.mp4", atNanoseconds: 83_500_000_000), 409),
        (ExportError.damaged(path: "/secret/a.mp4", reason: "a box is too long"), 503),
        (ExportError.refused(path: "/secret/a.mp4", reason: "it is a directory"), 503),
    ]

    @Test func `an error of reading is an answer of one line, without paths`() throws {
        for (error, status) in Self.errors {
            let problem = try #require(ViewerSite.answer(to: error) as? Problem)
            #expect(problem.status.code == status, "\(error)")
            #expect(!problem.text.contains("secret") && !problem.text.contains("\n"), "\(error)")
        }
        for error in [
            ExportError.formatChanges(.video, atNanoseconds: 83_500_000_000),
            .rateChanges(path: "/secret/a.mp4", atNanoseconds: 83_500_000_000),
        ] {
            let text = (ViewerSite.answer(to: error) as? Problem)?.text ?? ""
            #expect(text.hasSuffix("at 1:23.500: ask for the parts with from and until"))
        }
        let own = Problem(.conflict, "it is running")
        #expect((ViewerSite.answer(to: own) as? Problem)?.status == .conflict)
        #expect(ViewerSite.answer(to: CancellationError()) is CancellationError)
    }

    @Test(.timeLimit(.minutes(1)))
    func `heavy requests leave two threads for all others`() async throws {
        let archive = SmallArchive()
        let site = ViewerSite(
            archive: ArchiveReference(directory: archive.layout.root),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            threads: ReadingThreads())
        let work = BlockedWork()
        let heavy = (0..<8).map { number in
            Task {
                try await site.runHeavy(for: .account(.user("\(number)"))) {
                    try await site.run { work.run() }
                }
            }
        }
        while site.heavyWork.waitingCount < 6 || work.running < 2 {
            try await Task.sleep(for: .milliseconds(1))
        }
        // They are all answered though each waits for the other.
        let light = (0..<2).map { _ in Task { try await site.run { work.meets(2) } } }
        for task in light { try await task.value }
        #expect(work.running == 2)
        work.free(8)
        for task in heavy { try await task.value }
        try await site.threads.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `an account with too many heavy requests is refused with the reason`() async throws {
        let site = ViewerSite(
            archive: ArchiveReference(directory: SmallArchive().layout.root),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            threads: ReadingThreads())
        let work = BlockedWork()
        let anna = WorkOwner.account(.user("anna"))
        let heavy = (0..<98).map { _ in
            Task { try await site.runHeavy(for: anna) { try await site.run { work.run() } } }
        }
        while site.heavyWork.waitingCount < 96 || work.running < 2 {
            try await Task.sleep(for: .milliseconds(1))
        }
        let refused = await #expect(throws: Problem.self) {
            try await site.runHeavy(for: anna) {}
        }
        #expect(refused?.status == .serviceUnavailable)
        #expect(refused?.text.hasPrefix("96 of your requests wait already") == true)
        work.free(98)
        for task in heavy { try await task.value }
        try await site.threads.stop()
    }

    @Test func `a session without readable sources is answered as one that does not exist`() throws
    {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        let library = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let source = try #require(try library.sourceNames("one").first)
        let own = Rights(role: .viewer, sources: .named([source]))
        #expect(try library.sources(of: "one", for: own) == [source])
        #expect(try library.sources(of: "two", for: .everything).isEmpty)
        let other = Rights(role: .operator, sources: .named(["other"]))
        for session in ["one", "two"] {
            let problem = #expect(throws: Problem.self) {
                try library.sources(of: session, for: other)
            }
            #expect(problem?.status == .notFound && problem?.text == ViewerSite.noRecording.text)
        }
    }

    @Test func `a source without a right is answered as one that does not exist`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        try FileSystem.makeDirectories(archive.layout.source("one", "door"))
        let library = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let rights = Rights(role: .viewer, sources: .named(["camera", "yard"]))
        for wanted in [nil, [], ["camera"]] {
            #expect(throws: Never.self) {
                try library.sources(of: "one", for: rights, naming: wanted)
            }
        }
        for name in ["door", "yard", "nope"] {
            let problem = #expect(throws: Problem.self) {
                try library.sources(of: "one", for: rights, naming: ["camera", name])
            }
            #expect(problem?.status == .notFound)
            #expect(problem?.text == "no source '\(name)' in one")
        }
    }
}
