import Foundation
import Glibc
import Media
import Testing

@testable import Archive

/// Restarts that read only what was written since a checkpoint.
@Suite struct CheckpointTests {
    private typealias Scene = RecoveryScene
    private static let fragments = 40

    private struct Site {
        var scene: Scene
        /// Where each fragment begins.
        var starts: [Int]
        var summaries: [SegmentSummary]
        var checkpoint: String
    }

    /// A file of forty fragments, all durable, and its writer's summary of each beginning.
    private func site(seed: Int = 0) throws -> Site {
        let scene = try Scene()
        try scene.writeManifest()
        try scene.ledger(Scene.line(.opened, after: 0))
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: Scene.format, originTicks: 0, shiftTicks: 0)])
        let writer = try SegmentWriter(path: scene.path(0), plan: plan, sessionZero: Scene.zero)
        var starts: [Int] = []
        var summaries: [SegmentSummary] = []
        for index in 0..<Self.fragments {
            starts.append(Int(writer.sizeBytes))
            var fragment = Scene.fragment(index)
            fragment.context.clock.skewPartsPerBillion = Int64(seed)
            try writer.append(fragment)
            try writer.synchronize()
            summaries.append(try #require(writer.summary))
        }
        let checkpoint = scene.layout.checkpoint(
            SourceKey(session: scene.session, source: "camera"))
        return Site(
            scene: scene, starts: starts, summaries: summaries, checkpoint: checkpoint)
    }

    private static func name(of scene: Scene) -> String {
        scene.path(0).split(separator: "/").last.map(String.init) ?? ""
    }

    private func write(_ fragments: Int, _ site: Site, to path: String? = nil) throws {
        var checkpoint = SourceCheckpoint()
        checkpoint.keep(site.summaries[fragments - 1], of: Self.name(of: site.scene))
        try FileSystem.replace(path ?? site.checkpoint, with: checkpoint.encoded())
    }

    /// The state that a collector resumes.
    private struct Found: Equatable {
        var open: UnfinishedSegment?
        var ends: [TrackKind: TrackEnd]
        var clocks: [RecordedClock]
        var origins: [Int64]
        var sequences: SequenceSet?
        var end: TrackEnd?
    }

    private func found(_ scene: Scene) throws -> Found {
        let archive = try scene.recover()
        let source = try #require(archive.session?.sources.first)
        let spool = archive.spools["camera"]?.first
        return Found(
            open: source.open, ends: source.ends, clocks: source.clocks, origins: source.origins,
            sequences: spool?.sequences, end: spool?.end(of: .video, before: 1_000)?.end)
    }

    private func flip(_ byte: Int, of path: String) throws {
        var bytes = try FileSystem.read(path, limit: 64 << 20)
        bytes[byte] ^= 1
        try FileSystem.replace(path, with: bytes)
    }

    @Test func `a file's writer and its reader have the same summary`() throws {
        let site = try site()
        let whole = try FileSystem.withFile(site.scene.path(0)) {
            try SegmentSurvey(of: $0)
        }
        #expect(whole.summary == site.summaries.last)
        for known in [1, 7, 39, 40] {
            let survey = try FileSystem.withFile(site.scene.path(0)) {
                try SegmentSurvey(of: $0, after: site.summaries[known - 1])
            }
            #expect(survey.summarised?.fragments == UInt32(known))
            #expect(survey.summary == site.summaries.last)
            #expect(Int(survey.fragmentCount) == Self.fragments)
        }
    }

    @Test func `a recovery from a checkpoint equals a complete one`() throws {
        let site = try site()
        let complete = try found(site.scene)
        #expect(complete.open?.fragments == UInt32(Self.fragments))
        #expect(complete.sequences == SequenceSet(upTo: 400))
        for known in [1, 20, 40] {
            try write(known, site)
            #expect(try found(site.scene) == complete, "\(known)")
        }
    }

    @Test func `fragments before a checkpoint are not read`() throws {
        let site = try site()
        let complete = try found(site.scene)
        // The head of the sixth fragment.
        try flip(site.starts[5] + 20, of: site.scene.path(0))
        #expect(try found(site.scene).open == nil)
        try write(20, site)
        #expect(try found(site.scene) == complete)
    }

    @Test func `a damaged checkpoint, or one of other contents, is not used`() throws {
        let site = try site()
        let complete = try found(site.scene)
        try write(20, site)
        let bytes = try FileSystem.read(site.checkpoint, limit: 1 << 20)
        for byte in bytes.indices {
            try flip(byte, of: site.checkpoint)
            #expect(SourceCheckpoint.read(site.checkpoint).isEmpty)
            try flip(byte, of: site.checkpoint)
        }
        for count in bytes.indices {
            #expect(SourceCheckpoint(parsing: Array(bytes.prefix(count))) == nil)
        }
        // The rest of an earlier, longer checkpoint follows.
        #expect(SourceCheckpoint(parsing: bytes + [1, 2, 3])?.isEmpty == false)
        // The same numbers and sizes, other media.
        try write(20, try self.site(seed: 9), to: site.checkpoint)
        #expect(SourceCheckpoint.read(site.checkpoint).isEmpty == false)
        #expect(try found(site.scene) == complete)
    }

    @Test func `a file that is shorter than its checkpoint is read completely`() throws {
        let site = try site()
        try write(40, site)
        #expect(truncate(site.scene.path(0), off_t(site.starts[30])) == 0)
        let rest = try found(site.scene)
        #expect(rest.open?.fragments == 30)
        #expect(rest.sequences == SequenceSet(upTo: 300))
    }

    /// An agent may repeat records past a hole, and a later sample's time depends on its neighbours.
    @Test func `records after a hole are read one by one`() throws {
        let scene = try Scene()
        try scene.writeManifest()
        // Numbers 1 to 10 are missing.
        try scene.ledger(Scene.line(.opened, after: 0))
        try scene.write(segment: 0, fragments: 1..<3, finished: false)
        let complete = try found(scene)
        let survey = try FileSystem.withFile(scene.path(0)) { try SegmentSurvey(of: $0) }
        var checkpoint = SourceCheckpoint()
        checkpoint.keep(try #require(survey.summary), of: Self.name(of: scene))
        let place = scene.layout.checkpoint(SourceKey(session: scene.session, source: "camera"))
        try FileSystem.replace(place, with: checkpoint.encoded())
        #expect(try found(scene) == complete)
        let end = try scene.recover().spools["camera"]?.first?.end(of: .video, before: 21)
        #expect(end?.sequence == 20)
    }
}
