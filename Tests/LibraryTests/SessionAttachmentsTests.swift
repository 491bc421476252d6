import Archive
import Catalog
import Foundation
import Media
import ObjectStore
import Terminal
import TestRecordings
import Testing
import Threads

@testable import Library
@testable import Recordings

/// Sessions of a site that a collector began without its database, read with the site's.
@Suite struct SessionAttachmentsTests {
    private static let second: Int64 = 1_000_000_000

    private func attached(
        _ session: String, _ offset: Int64, _ bound: UInt64
    ) -> SessionManifest.Attachment {
        SessionManifest.Attachment(
            session: session, zeroUTCNanoseconds: 0, segmentNanoseconds: 1,
            offsetNanoseconds: offset, boundNanoseconds: bound)
    }

    private func described(
        _ session: String, _ attached: SessionManifest.Attachment...
    ) -> SessionAttachments.Described {
        SessionAttachments.Described(session: session, attached: attached)
    }

    // MARK: The graph

    @Test func `attached sessions are one session, in any order of archives`() {
        let all = [
            described("x"), described("y", attached("x", 70, 5)),
            described("z", attached("y", -30, 3)), described("other"),
            // Another archive's copy says it less exactly.
            described("y", attached("x", 90, 50)), described("lone", attached("absent", 1, 1)),
        ]
        for order in [all, all.reversed()] {
            let attachments = SessionAttachments(order)
            #expect(attachments.parts(of: "x") == ["y", "z"])
            #expect(
                attachments.place(of: "y")
                    == .init(session: "x", offsetNanoseconds: 70, boundNanoseconds: 5))
            #expect(
                attachments.place(of: "z")
                    == .init(session: "x", offsetNanoseconds: 40, boundNanoseconds: 8))
            #expect(attachments.whole(of: "z") == "x" && attachments.whole(of: "x") == "x")
            #expect(attachments.place(of: "lone") == nil && attachments.parts(of: "other") == [])
        }
    }

    @Test func `two sessions are joined by a part that was attached to both in turn`() {
        let attachments = SessionAttachments([
            described("b"), described("a"),
            described("part", attached("b", 10, 1), attached("a", 60, 2)),
        ])
        #expect(attachments.parts(of: "a") == ["b", "part"])
        #expect(
            attachments.place(of: "b")
                == .init(session: "a", offsetNanoseconds: 50, boundNanoseconds: 3))
        #expect(attachments.place(of: "part")?.offsetNanoseconds == 60)
    }

    /// Its collector lost its disk, or its archive was deleted.
    @Test func `parts of one session are joined if no archive has this session`() {
        let attachments = SessionAttachments([
            described("b", attached("absent", 70, 5)), described("c", attached("absent", 40, 3)),
            described("d", attached("alone", 1, 1)),
        ])
        #expect(attachments.parts(of: "b") == ["c"])
        #expect(
            attachments.place(of: "c")
                == .init(session: "b", offsetNanoseconds: -30, boundNanoseconds: 8))
        #expect(["b", "d", "absent"].map(attachments.whole) == ["b", "d", "absent"])
    }

    @Test func `cyclic attachments have a whole`() {
        let circle = [
            described("a", attached("b", 1, 1)), described("b", attached("c", 1, 1)),
            described("c", attached("a", 1, 1)), described("self", attached("self", 1, 1)),
        ]
        for order in [circle, circle.reversed()] {
            let attachments = SessionAttachments(order)
            #expect(["a", "b", "c"].map(attachments.whole) == ["a", "a", "a"])
            #expect(attachments.place(of: "a") == nil && attachments.place(of: "self") == nil)
        }
    }

    // MARK: Archives

    private let east = TemporaryDirectory()
    private let west = TemporaryDirectory()
    private static let whole = "\(WrittenSession.name)-east"
    private static let part = "2026-11-20T22-39-59.700Z-west"

    private var places: [ArchiveLayout] {
        [ArchiveLayout(root: east.path), ArchiveLayout(root: west.path)]
    }

    private func library(_ directories: [String]) throws -> RecordingLibrary {
        let references = directories.map { ArchiveReference(directory: $0) }
        return try RecordingLibrary(
            references.count > 1 ? ArchiveReference(references) : references[0]
        ) { print($0) }
    }

    private func change(
        _ layout: ArchiveLayout, to name: String, _ change: (inout SessionManifest) -> Void
    ) throws {
        let path = layout.manifest(WrittenSession.name)
        var manifest = try SessionManifest.read(path)
        manifest.session = name
        change(&manifest)
        try FileSystem.replace(path, with: manifest.encoded())
        try FileManager.default.moveItem(
            atPath: layout.session(WrittenSession.name), toPath: layout.session(name))
    }

    private func samples(
        _ session: RecordedSession
    ) throws -> [(number: UInt64, dts: Int64, bytes: [UInt8])] {
        var reader = SampleReader(try #require(session.source("camera")))
        var samples: [(number: UInt64, dts: Int64, bytes: [UInt8])] = []
        while let sample = try reader.next() {
            samples.append(
                (try #require(sample.sequence), sample.dtsNanoseconds, try sample.read()))
        }
        return samples
    }

    /// The first file of a recording in one archive, the second in the other, whose zero is 300 ms earlier.
    private func record() throws -> [(number: UInt64, dts: Int64, bytes: [UInt8])] {
        let recorded = try WrittenSession { _ in 0 }
        let name = WrittenSession.name
        var early = SplitRecording(collector: "west", term: 2, shiftNanoseconds: 300_000_000)
        early.leavesOutLines = { $0.kind == .clock }
        try SplitRecording(collector: "east", term: 1).copy(
            name, from: recorded.layout, to: places[0]
        ) { $1 <= 350 }
        try early.copy(name, from: recorded.layout, to: places[1]) { $1 > 350 }
        try change(places[0], to: Self.whole) { _ in }
        try change(places[1], to: Self.part) { manifest in
            manifest.attached = [attached(Self.whole, -300_000_000, 900_000)]
        }
        return try samples(RecordedSession(name, in: recorded.layout))
    }

    @Test func `a part is read on the timeline of its whole`() throws {
        let all = try record()
        for directories in [[east.path, west.path], [west.path, east.path]] {
            let library = try library(directories)
            #expect(try library.sessions().map(\.session) == [Self.whole])
            #expect(try library.sessions().map(\.segments) == [2])
            #expect(try library.sessionNames() == [Self.whole])
            let merged = try samples(library.recording(Self.whole))
            #expect(merged.map(\.number) == all.map(\.number))
            #expect(zip(merged, all).allSatisfy { abs($0.dts - $1.dts) <= 12_000 })
            #expect(zip(merged, all).allSatisfy { $0.bytes == $1.bytes })
            let report = try library.verification(of: Self.whole)
            #expect(report.isIntact, "\(report.allFindings)")
            #expect(report.archives?.map(\.name) == ["east", "west"])
            #expect(report.archives?.map(\.session) == [nil, Self.part])
            #expect(report.archives?.map(\.shiftNanoseconds) == [0, -300_000_000])
            #expect(report.archives?.map(\.boundNanoseconds) == [0, 900_000])
            #expect(report.sources.map(\.recordedSamples) == [UInt64(all.count)])
            // Its own name leads to the whole.
            #expect(try library.whole(of: Self.part) == Self.whole)
            #expect(try library.manifest(Self.part).session == Self.whole)
            #expect(
                try library.segments(of: Self.whole).map(\.segment) == [
                    "2026-11-20T22-40-00.000Z.mp4", "2026-11-20T22-40-04.700Z.mp4",
                ])
        }
    }

    @Test func `the times of a part are moved to the session, and its bounds widened`() throws {
        let all = try record()
        let apart = try library([west.path]).verification(of: Self.part)
        let report = try library([east.path, west.path]).verification(of: Self.whole)
        let source = try #require(report.sources.first)
        let own = try #require(apart.sources.first)
        #expect(source.files.count == 2 && own.files.count == 1 && !all.isEmpty)
        let moved = try #require(source.files.last?.originSeconds)
        let before = try #require(own.files.last?.originSeconds)
        #expect(abs(moved - before + 0.3) < 1e-6)
        let bounds = try #require(source.files.last?.clockBoundMilliseconds)
        let ownBounds = try #require(own.files.last?.clockBoundMilliseconds)
        #expect(!bounds.isEmpty && bounds.count == ownBounds.count)
        for (bound, own) in zip(bounds, ownBounds) where own > 0 {
            #expect(abs(bound - own - 0.9) < 1e-6)
        }
    }

    @Test func `the files of a part are measured under its own name`() throws {
        _ = try record()
        let library = try library([east.path, west.path])
        let copies = try #require(try library.measuredCopies(of: Self.whole))
        #expect(copies.map(\.session) == [Self.whole, Self.part])
        for copy in copies {
            let layout = try #require(copy.layout)
            #expect(try layout.segmentPaths(copy.session, "camera").count == 1)
        }
        #expect(try self.library([east.path]).measuredCopies(of: Self.whole) == nil)
        // One of the archives may have it alone.
        try FileManager.default.removeItem(atPath: places[1].session(Self.part))
        let alone = try self.library([east.path, west.path]).measuredCopies(of: Self.whole)
        #expect(alone?.map(\.archive) == ["east"])
    }

    @Test func `a part without its whole is listed alone, with the whole's name`() throws {
        _ = try record()
        let library = try library([west.path])
        #expect(try library.sessions().map(\.session) == [Self.part])
        let (details, report) = try library.details(of: Self.part)
        #expect(report.isIntact || report.findings.allSatisfy { !$0.text.contains("session") })
        #expect(details.whole?.session == Self.whole)
        #expect(details.whole?.offsetNanoseconds == -300_000_000)
        #expect(details.whole?.boundNanoseconds == 900_000)
    }

    private func mark(_ digit: String, _ at: Int64, _ text: String) -> SessionMarks.Mark {
        SessionMarks.Mark(
            id: String(repeating: digit, count: 16), atNanoseconds: at, text: text)
    }

    @Test func `marks that one archive has are marks of the session`() throws {
        _ = try record()
        let (one, two) = (mark("1", 2 * Self.second, "east"), mark("2", Self.second, "west"))
        let both = try SessionEdit(addedMarks: [one])
        _ = try library([east.path]).apply(both, to: Self.whole)
        _ = try library([west.path]).apply(
            try SessionEdit(addedMarks: [mark("1", Self.second, "another"), two]), to: Self.part)
        for directories in [[east.path, west.path], [west.path, east.path]] {
            let marks = try library(directories).marks(Self.whole).marks
            // On the timeline of the whole; of one identity, the first archive's.
            #expect(marks == [mark("2", 700_000_000, "west"), one])
        }
    }

    @Test func `marks are set where the session is, and removed from its parts, too`() throws {
        _ = try record()
        let collectors = zip(["east", "west"], [east.path, west.path]).map { name, path in
            SiteCollector(
                archive: "id-\(name)", name: name, heardSeconds: 1, runningSeconds: 1,
                report: SiteReport(
                    name: name, version: "1", machine: "m", listen: "", archive: path,
                    release: "local"))
        }
        let archives = SiteArchives(collectors, endpoint: nil, isForChanges: true) { path in
            path == east.path ? "id-east" : "id-west"
        }
        var changed: [String] = []
        let changes = try SiteChanges(
            archives, site: nil, shutdown: Shutdown(),
            apply: { edit, session, layout in
                let library = try RecordingLibrary(layout.root) { Issue.record("\($0)") }
                if try library.apply(edit, to: session).hasChanged { changed.append(session) }
            },
            complain: { Issue.record("\($0)") })
        func untimed(_ digit: String, _ at: Int64?) -> ViewerMark {
            ViewerMark(
                id: String(repeating: digit, count: 16), atNanoseconds: at, text: "x", source: nil)
        }
        // It is not being recorded.
        #expect(throws: Failure.self) { try changes.set(untimed("3", nil), of: Self.whole) }
        #expect(throws: Failure.self) { try changes.set(untimed("3", 1), of: "other") }
        let set = untimed("3", Self.second)
        for _ in 0..<2 { #expect(try changes.set(set, of: Self.whole) == set) }
        #expect(changed == [Self.whole])
        _ = try library([west.path]).apply(
            try SessionEdit(addedMarks: [mark("4", Self.second, "west")]), to: Self.part)
        #expect(try library([east.path, west.path]).marks(Self.whole).marks.count == 2)
        let removal = try SessionEdit(
            removedMarks: ["3", "4"].map { String(repeating: $0, count: 16) })
        try changes.change(removal, of: [Self.whole, Self.part])
        #expect(try library([east.path, west.path]).marks(Self.whole).marks.isEmpty)
        #expect(changed == [Self.whole, Self.whole, Self.part])
    }

    @Test func `a session that two collectors record is placed within the errors of its zeros`()
        throws
    {
        let recorded = try WrittenSession { _ in 0 }
        for (layout, name) in zip(places, ["east", "west"]) {
            var copy = SplitRecording(collector: name, term: name == "east" ? 1 : 2)
            copy.leavesOutLines = { $0.kind == .clock }
            try copy.copy(WrittenSession.name, from: recorded.layout, to: layout) { _, number in
                (number <= 350) == (name == "east")
            }
            try change(layout, to: Self.whole) { manifest in
                manifest.clock = .init(
                    boot: name, zeroWallNanoseconds: manifest.zeroUTCNanoseconds,
                    wallErrorNanoseconds: 16 * Self.second,
                    zeroErrorNanoseconds: name == "east" ? 0 : 700_000)
            }
        }
        let report = try library([east.path, west.path]).verification(of: Self.whole)
        #expect(report.archives?.map(\.shiftNanoseconds) == [0, 0])
        #expect(report.archives?.map(\.boundNanoseconds) == [0, 700_000])
        #expect(report.isIntact, "\(report.allFindings)")
    }
}
