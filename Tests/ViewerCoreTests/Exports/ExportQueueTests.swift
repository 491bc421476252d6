import Containers
import ExportCore
import Foundation
import Logging
import Testing

@testable import ViewerCore

/// Exports that last until they are told to go on.
private final class ExportScene: Sendable {
    let place = AccessPlace()
    let begun = LiveEvent()
    let mayEnd = LiveEvent()
    let ended = LiveEvent()

    var directory: String { "\(place.directory)/exports" }

    func queue() -> ExportQueue {
        let (begun, mayEnd, ended) = (begun, mayEnd, ended)
        return ExportQueue(
            directory: directory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            reserveBytes: 0,
            work: { _, path, control in
                let output = try OutputFile(path, overwrites: true)
                begun.happens()
                while !mayEnd.hasHappened {
                    guard !control.cancellation.isCancelled else {
                        // It takes its time.
                        for _ in 0..<50 { usleep(1_000) }
                        ended.happens()
                        throw ExportError.cancelled
                    }
                    usleep(1_000)
                }
                try output.commit()
                ended.happens()
                return 0
            }, changed: { _ in })
    }
}

extension ExportQueue {
    fileprivate func add(_ owner: String) -> ExportJob? {
        let wish = ExportWish(
            session: "session", sources: ["camera"], fromNanoseconds: nil, untilNanoseconds: nil,
            layout: .passthrough)
        return add(wish, for: .user(owner), now: 0)
    }

    fileprivate func reaches(_ id: String, _ state: ExportJob.State) async throws {
        while job(id)?.state != state { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// Jobs, and the thread that works on them.
@Suite(.timeLimit(.minutes(1))) struct ExportQueueTests {
    private let scene = ExportScene()

    @Test func `stopping waits until the running export has ended, and leaves nothing`()
        async throws
    {
        let queue = scene.queue()
        let job = try #require(queue.add("anna"))
        _ = try #require(queue.add("anna"))
        try await queue.reaches(job.id, .running)
        while !scene.begun.hasHappened { try await Task.sleep(for: .milliseconds(1)) }
        queue.stop()
        #expect(scene.ended.hasHappened)
        #expect(!FileManager.default.fileExists(atPath: scene.directory))
        #expect(queue.add("anna") == nil)
        // Nothing runs any more.
        queue.stop()
    }

    @Test func `stopping removes what is done`() async throws {
        let queue = scene.queue()
        scene.mayEnd.happens()
        let job = try #require(queue.add("anna"))
        try await queue.reaches(job.id, .done)
        #expect(FileManager.default.fileExists(atPath: queue.path(job.id)))
        queue.stop()
        #expect(!FileManager.default.fileExists(atPath: scene.directory))
    }
}
