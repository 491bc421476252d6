import Archive
import Dispatch
import Glibc
import Library
import Logging
import Operations
import Recordings
import Testing
import TestRecordings

@testable import ViewerCore

/// Answers of `/readyz`.
@Suite(.timeLimit(.minutes(1))) struct ReadinessTests {
    private let archive = SmallArchive()
    private let threads = ReadingThreads(count: 2)

    /// With patience for a machine that is busy with other tests.
    private func readiness(_ root: String? = nil) -> Readiness {
        Readiness(site(root), patienceNanoseconds: 50_000_000_000)
    }

    private func site(_ root: String? = nil, threads: ReadingThreads? = nil) -> ViewerSite {
        ViewerSite(
            archive: ArchiveReference(directory: root ?? archive.layout.root),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            threads: threads ?? self.threads)
    }

    @Test func `an archive without recordings can be served`() async throws {
        try FileSystem.makeDirectories("\(archive.layout.root)/sessions")
        let answer = await readiness().answer()
        #expect(answer.isWell && answer.text == "ready")
        try await threads.stop()
    }

    @Test func `without an archive it is not ready, and names no path`() async throws {
        let answer = await readiness("\(archive.layout.root)/none").answer()
        #expect(!answer.isWell)
        #expect(answer.text == "no list of sessions: there is no archive yet")
        try await threads.stop()
    }

    @Test func `pictures that cannot be decoded are reported without their path`() async throws {
        try archive.addSession("zulu", segments: 2)
        let answer = await readiness().answer()
        #expect(!answer.isWell)
        #expect(answer.text.hasPrefix("no picture: ") && !answer.text.contains("/"))
        #expect(!answer.text.contains("camera") && !answer.text.contains("zulu"))
        try await threads.stop()
    }

    @Test func `readiness is answered while all threads hang, and recovers`() async throws {
        try FileSystem.makeDirectories("\(archive.layout.root)/sessions")
        // No thread replaces those that are blocked, however late the answers are asked for.
        let threads = ReadingThreads(count: 2, most: 2)
        let readiness = Readiness(
            site(threads: threads), patienceNanoseconds: 200_000_000)
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 { threads.submit { gate.wait() } }
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    let answer = await readiness.answer()
                    #expect(!answer.isWell)
                    #expect(answer.text.hasPrefix("the list of sessions has not come for "))
                }
            }
        }
        for _ in 0..<2 { gate.signal() }
        while await !readiness.answer().isWell { try await Task.sleep(for: .milliseconds(1)) }
        try await threads.stop()
    }

    @Test func `a result is reused for requests shortly after`() async throws {
        try FileSystem.makeDirectories("\(archive.layout.root)/sessions")
        let asked = readiness()
        #expect(await asked.answer().isWell)
        #expect(rename(archive.layout.root, "\(archive.layout.root).away") == 0)
        #expect(await asked.answer().isWell)
        #expect(await !readiness().answer().isWell)
        #expect(rename("\(archive.layout.root).away", archive.layout.root) == 0)
        try await threads.stop()
    }
}
