import Archive
import Media
import Synchronization
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// Cancelled takeovers and concurrent requests of one.
@Suite struct InterruptedTakeOverTests {
    private func recorded(segments: Int) throws -> UploadScene {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: segments, state: .recording)
        var line = LedgerEntry(kind: .gap, at: SmallArchive.zero)
        line.spool = SmallArchive.spool.description
        line.ranges = [[UInt64(segments) * 10 + 1, UInt64(segments) * 10 + 3]]
        try scene.archive.append(Ledger.line(line), session: "s")
        scene.live()
        return scene
    }

    /// - Parameter steps: how many steps it may take; nil: any number.
    private func takeOver(
        _ scene: UploadScene, _ layout: ArchiveLayout, connections: Int, steps: Int? = nil
    ) throws -> ArchiveTakeOver.Outcome {
        let left = Mutex(steps)
        var surroundings = scene.surroundings
        surroundings.checkpoint = { _ throws(UploadStop) in
            let isOver = left.withLock { left in
                left = left.map { $0 - 1 }
                return left.map { $0 < 0 } ?? false
            }
            if isOver { throw UploadStop() }
        }
        var attempt = ArchiveTakeOver(
            from: UploadTarget(
                scene.bucket, layout, settings: scene.settings, surroundings: surroundings,
                figures: UploadFigures()), now: SmallArchive.zero, idleTimeoutNanoseconds: 0,
            connections: connections)
        return try attempt.run()
    }

    /// Every file of an archive.
    private func files(_ layout: ArchiveLayout) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileSystem.names(in: layout.session("s")) {
            let path = "\(layout.session("s"))/\(name)"
            for inner in try FileSystem.isDirectory(path) ? FileSystem.names(in: path) : [] {
                files["\(name)/\(inner)"] = try FileSystem.read(
                    "\(path)/\(inner)", limit: 1 << 20)
            }
            if !FileSystem.isDirectory(path) {
                files[name] = try FileSystem.read(path, limit: 1 << 20)
            }
        }
        return files
    }

    @Test func `with several requests at the same time, everything is fetched as with one`() throws
    {
        let scene = try recorded(segments: 20)
        var found: [[String: [UInt8]]] = []
        for connections in [1, 8] {
            let directory = TemporaryDirectory()
            let layout = ArchiveLayout(root: directory.path)
            let outcome = try takeOver(scene, layout, connections: connections)
            #expect(outcome.sessions == 1 && outcome.segments == 20 && outcome.problems.isEmpty)
            found.append(try files(layout))
            let archive = try ArchiveRecovery.run(
                layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
            #expect(archive.spools["camera"]?.first?.sequences == SequenceSet(upTo: 203))
        }
        #expect(found[0] == found[1] && found[0].count == 23)
    }

    @Test(arguments: [1, 4])
    func `it can be stopped at any step, and gives the same result when it is repeated`(
        _ connections: Int
    ) throws {
        let scene = try recorded(segments: 3)
        var stops = 0
        for steps in 0... {
            let directory = TemporaryDirectory()
            let layout = ArchiveLayout(root: directory.path)
            #expect(try ArchiveTakeOver.unfinished(in: layout) == nil)
            do throws(UploadError) {
                var place = UploadTarget(
                    scene.bucket, layout, settings: scene.settings,
                    surroundings: scene.surroundings, figures: UploadFigures())
                let left = Atomic(steps)
                place.surroundings.checkpoint = { _ throws(UploadStop) in
                    if left.subtract(1, ordering: .relaxed).newValue < 0 { throw UploadStop() }
                }
                var attempt = ArchiveTakeOver(
                    from: place, now: SmallArchive.zero, idleTimeoutNanoseconds: 0,
                    connections: connections)
                _ = try attempt.run()
                break
            } catch {
                #expect(error == .stopped)
            }
            stops += 1
            #expect(!FileSystem.exists(layout.manifest("s")))
            let unfinished = try ArchiveTakeOver.unfinished(in: layout)
            #expect(unfinished == (steps == 0 ? nil : scene.bucket.name))
            #expect(try ArchiveTakeOver.isNeeded(layout))
            #expect(try takeOver(scene, layout, connections: connections).segments == 3)
            #expect(try ArchiveTakeOver.unfinished(in: layout) == nil)
            let archive = try ArchiveRecovery.run(
                layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
            #expect(archive.spools["camera"]?.first?.sequences == SequenceSet(upTo: 33))
        }
        // Each of four objects, and each file that is made durable.
        #expect(stops > 10)
    }

    @Test func `leftovers of an interrupted run are removed if the bucket lacks them`() throws {
        let scene = try recorded(segments: 3)
        let last = try scene.segments("s")[2]
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        var steps = 0
        while !FileSystem.exists(layout.path(of: last, .proof)), steps < 100 {
            steps += 1
            _ = try? takeOver(scene, layout, connections: 1, steps: steps)
        }
        #expect(!FileSystem.exists(layout.manifest("s")))
        scene.bucket.lose(last.path(.proof))
        #expect(try takeOver(scene, layout, connections: 1).segments == 2)
        #expect(!FileSystem.exists(layout.path(of: last, .proof)))
    }
}
