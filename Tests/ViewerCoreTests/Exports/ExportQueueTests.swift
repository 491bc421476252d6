import Containers
import ExportCore
import Foundation
import Logging
import Synchronization
import TestAccounts
import Testing

@testable import Accounts
@testable import ViewerCore

/// Exports that run until released.
private final class ExportScene: Sendable {
    let place = AccessPlace()
    let begun = LiveEvent()
    let mayEnd = LiveEvent()
    let ended = LiveEvent()

    var directory: String { "\(place.directory)/exports" }

    /// - Parameter error: thrown by a cancelled export.
    func queue(cancelled error: any Error = ExportError.cancelled) -> ExportQueue {
        let (begun, mayEnd, ended) = (begun, mayEnd, ended)
        return ExportQueue(
            directory: directory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            reserveBytes: 0,
            work: { _, path, control in
                let output = try OutputFile(path, overwrites: true)
                begun.happens()
                while !mayEnd.hasHappened {
                    guard !control.cancellation.isCancelled else {
                        // Cancellation is delayed.
                        for _ in 0..<50 { usleep(1_000) }
                        ended.happens()
                        throw error
                    }
                    usleep(1_000)
                }
                try output.commit()
                ended.happens()
                return 0
            }, changed: { _ in })
    }
}

/// Exports whose order is recorded. They run until released.
private final class ExportOrder: Sendable {
    let mayEnd = LiveEvent()
    private let state = Mutex<[String]>([])

    /// Identifiers of the jobs, in the order in which they began.
    var ids: [String] { state.withLock { $0 } }

    func queue(in directory: String) -> ExportQueue {
        ExportQueue(
            directory: directory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            reserveBytes: 0,
            work: { job, _, control in
                self.state.withLock { $0.append(job.id) }
                while !self.mayEnd.hasHappened, !control.cancellation.isCancelled { usleep(1_000) }
                return 0
            }, changed: { _ in })
    }
}

extension ExportQueue {
    fileprivate func add(_ owner: String) -> ExportJob? {
        guard case .taken(let job) = addition(for: .user(owner)) else { return nil }
        return job
    }

    fileprivate func addition(for owner: Identity) -> Addition {
        let wish = ExportRequest(
            session: "session", sources: ["camera"], fromNanoseconds: nil, untilNanoseconds: nil,
            layout: .passthrough)
        return add(wish, for: owner, now: 0)
    }

    fileprivate func reaches(_ id: String, _ state: ExportJob.State) async throws {
        while job(id)?.state != state { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// Jobs, and the thread that works on them.
@Suite(.timeLimit(.minutes(1))) struct ExportQueueTests {
    private let scene = ExportScene()

    @Test func `a failed export names the range without samples`() async throws {
        let place = AccessPlace()
        let queue = ExportQueue(
            directory: "\(place.directory)/exports",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, reserveBytes: 0,
            work: { _, _, _ in throw ExportError.nothingThere("camera") }, changed: { _ in })
        var wish = ExportRequest(session: "session", sources: ["camera"], layout: .passthrough)
        let ranges: [(Int64?, Int64?, String)] = [
            (nil, nil, ""), (60_000_000_000, nil, " from 1:00.000 on"),
            (nil, -1_500_000_000, " before -0:01.500"),
            (60_000_000_000, 70_000_000_000, " from 1:00.000 to 1:10.000"),
        ]
        for (from, until, text) in ranges {
            (wish.fromNanoseconds, wish.untilNanoseconds) = (from, until)
            guard case .taken(let job) = queue.add(wish, for: .user("anna"), now: 0) else {
                Issue.record("the export was not accepted")
                return
            }
            try await queue.reaches(job.id, .failed)
            #expect(queue.job(job.id)?.failure == "nothing is recorded in camera\(text)")
        }
        queue.stop()
    }

    @Test func `stopping waits for the running export, and leaves no file`() async throws {
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

    /// An encoded export reports cancellation as an error of its output file.
    @Test func `a running export that is removed is cancelled, and has not failed`() async throws {
        for error in [ExportError.cancelled, ContainerError.cancelled] as [any Error] {
            let scene = ExportScene()
            let queue = scene.queue(cancelled: error)
            defer { queue.stop() }
            let job = try #require(queue.add("anna"))
            try await queue.reaches(job.id, .running)
            let isKnown = queue.remove(job.id)
            #expect(isKnown)
            while queue.job(job.id)?.hasEnded == false {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(queue.job(job.id)?.state == .cancelled, "\(error)")
            #expect(scene.ended.hasHappened)
        }
    }

    @Test func `an account has four jobs that have not ended, and others have theirs`() {
        let queue = scene.queue()
        defer { queue.stop() }
        let own = (0..<4).compactMap { _ in queue.add("anna") }
        #expect(own.count == 4)
        guard case .fullForAccount = queue.addition(for: .user("anna")) else {
            Issue.record("a fifth job")
            return
        }
        let other = queue.add("ben")
        #expect(other != nil)
        // A waiting export is cancelled.
        let isRemoved = queue.remove(own[3].id)
        let next = queue.add("anna")
        #expect(isRemoved && next != nil)
    }

    @Test func `the next export is of the account whose last one began first`() async throws {
        let order = ExportOrder()
        let queue = order.queue(in: scene.directory)
        defer { queue.stop() }
        let first = try #require(queue.add("anna"))
        try await queue.reaches(first.id, .running)
        let anna = [try #require(queue.add("anna")), try #require(queue.add("anna"))]
        let ben = [try #require(queue.add("ben")), try #require(queue.add("ben"))]
        let carl = try #require(queue.add("carl"))
        order.mayEnd.happens()
        for job in anna + ben + [carl] { try await queue.reaches(job.id, .done) }
        #expect(order.ids == [first, ben[0], carl, anna[0], ben[1], anna[1]].map(\.id))
    }

    @Test func `without accounts, exports are made in their order`() async throws {
        let order = ExportOrder()
        let queue = order.queue(in: scene.directory)
        defer { queue.stop() }
        var jobs: [ExportJob] = []
        for _ in 0..<4 {
            guard case .taken(let job) = queue.addition(for: .anonymous) else {
                Issue.record("there is no room")
                return
            }
            jobs.append(job)
        }
        order.mayEnd.happens()
        for job in jobs { try await queue.reaches(job.id, .done) }
        #expect(order.ids == jobs.map(\.id))
    }

    @Test func `without accounts, sixteen wait`() {
        let queue = scene.queue()
        defer { queue.stop() }
        var taken = 0
        while case .taken = queue.addition(for: .anonymous), taken < 100 { taken += 1 }
        // One more may be running already.
        #expect((16...17).contains(taken))
    }

    @Test func `a job is for its owner and for operators of its sources`() throws {
        let queue = scene.queue()
        defer { queue.stop() }
        let job = try #require(queue.add("anna"))
        let viewer = Rights(role: .viewer, sources: .all)
        let operators = Rights(role: .operator, sources: .named(["camera"]))
        #expect(job.isFor(.user("anna"), viewer))
        #expect(!job.isFor(.user("ben"), viewer))
        #expect(job.isFor(.user("ben"), operators))
        #expect(!job.isFor(.user("ben"), Rights(role: .operator, sources: .named(["door"]))))
        // Its owner may not see the source any more.
        #expect(!job.isFor(.user("anna"), Rights(role: .viewer, sources: .named(["door"]))))
    }

    @Test func `stopping removes finished exports`() async throws {
        let queue = scene.queue()
        scene.mayEnd.happens()
        let job = try #require(queue.add("anna"))
        try await queue.reaches(job.id, .done)
        #expect(FileManager.default.fileExists(atPath: queue.path(job.id)))
        queue.stop()
        #expect(!FileManager.default.fileExists(atPath: scene.directory))
    }

    @Test func `files are removed after an hour`() async throws {
        let queue = scene.queue()
        defer { queue.stop() }
        scene.mayEnd.happens()
        let job = try #require(queue.add("anna"))
        try await queue.reaches(job.id, .done)
        let ended = try #require(queue.job(job.id)).sinceNanoseconds
        queue.tidy(now: ended + 3_599_000_000_000)
        #expect(FileManager.default.fileExists(atPath: queue.path(job.id)))
        queue.tidy(now: ended + 3_601_000_000_000)
        #expect(!FileManager.default.fileExists(atPath: queue.path(job.id)))
        #expect(queue.job(job.id) == nil)
    }

    @Test func `leftovers of a killed viewer are removed, and no other files`() throws {
        try FileManager.default.createDirectory(
            atPath: scene.directory, withIntermediateDirectories: false)
        let queue = scene.queue()
        func make(_ name: String, secondsAgo: Double) throws {
            let path = "\(scene.directory)/\(name)"
            try Data().write(to: URL(filePath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -secondsAgo)], ofItemAtPath: path)
        }
        try make("export-old.mp4", secondsAgo: 4_000)
        try make(".export-old.mp4.77.part", secondsAgo: 4_000)
        try make("export-new.mp4", secondsAgo: 3_000)
        try make("mine.mp4", secondsAgo: 4_000)
        queue.tidy()
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.directory).sorted()
        #expect(names == ["export-new.mp4", "mine.mp4"])
        // It was there before.
        queue.stop()
        #expect(FileManager.default.fileExists(atPath: scene.directory))
    }
}
