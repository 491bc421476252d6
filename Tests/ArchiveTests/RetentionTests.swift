import Glibc
import TestRecordings
import Testing

@testable import Archive

private let day: Int64 = 86_400_000_000_000

/// A segment of 100 bytes that ended this number of days after 1970.
private func segment(
    _ days: Int64, source: String = "camera", session: String = "s", isProtected: Bool = false,
    isOpen: Bool = false
) -> ArchivedSegment {
    ArchivedSegment(
        SourceKey(session: session, source: source), path: "\(session)/\(source)/\(days)",
        sizeBytes: 100,
        ended: UTCTime(nanoseconds: days * day), isProtected: isProtected, isOpen: isOpen)
}

private func expired(
    _ limits: RemovalLimits, _ segments: [ArchivedSegment], free: UInt64 = 0, today: Int64 = 100
) -> [String] {
    limits.expired(of: segments, freeBytes: free, now: UTCTime(nanoseconds: today * day))
        .map { "\($0.segment.path) \($0.cause)" }
}

@Suite struct RemovalLimitsTests {
    @Test func `without limits everything stays`() {
        #expect(RemovalLimits().keepsEverything)
        #expect(expired(RemovalLimits(), [segment(1)]).isEmpty)
    }

    @Test func `segments older than the limit expire, to the day`() {
        let limits = RemovalLimits(maximumAgeNanoseconds: 10 * day)
        #expect(
            expired(limits, [segment(91), segment(89), segment(90), segment(5)])
                == ["s/camera/5 age", "s/camera/89 age"])
    }

    @Test func `the oldest segments of all sources expire until the rest fits`() {
        let limits = RemovalLimits(maximumBytes: 250)
        let segments = [segment(3), segment(1, source: "door"), segment(2), segment(4)]
        #expect(expired(limits, segments) == ["s/door/1 size", "s/camera/2 size"])
    }

    @Test func `the oldest go until enough is free`() {
        let limits = RemovalLimits(minimumFreeBytes: 1_000)
        let segments = (1...5).map { segment($0) }
        #expect(
            expired(limits, segments, free: 850)
                == ["s/camera/1 freeSpace", "s/camera/2 freeSpace"])
        #expect(expired(limits, segments, free: 1_000).isEmpty)
    }

    @Test func `protected and open segments stay, and count`() {
        let limits = RemovalLimits(maximumAgeNanoseconds: day, maximumBytes: 100)
        let segments = [
            segment(1, isProtected: true), segment(2, isOpen: true), segment(3), segment(99),
        ]
        #expect(expired(limits, segments) == ["s/camera/3 age", "s/camera/99 size"])
    }
}

@Suite struct RemovalTests {
    @Test
    func `a removed segment's records are in the ledger, and the session stays sound`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        try SegmentRemoval.remove(paths[0], cause: "older than is kept", now: SmallArchive.zero) {
            lines throws(ArchiveError) in try archive.append(lines, session: "s")
        }
        #expect(!FileSystem.exists(paths[0]))
        let entry = try #require(try archive.ledger("s").first)
        #expect(entry.kind == .removed && entry.cause == "older than is kept")
        #expect(entry.firstSequence == 1 && entry.lastSequence == 10)
        #expect(entry.segment.map { paths[0].hasSuffix("/\($0)") } == true)
        let report = try SessionVerifier.verify("s", in: archive.layout)
        #expect(report.isIntact && report.findings.isEmpty)
    }

    @Test func `a segment that is missing without a ledger line is damage`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        unlink(paths[1])
        let report = try SessionVerifier.verify("s", in: archive.layout)
        #expect(report.findings.contains { $0.severity == .damage })
    }

    /// A crash after each step of a removal.
    @Test(arguments: 0...2)
    func `that a crash interrupted is completed, with one ledger line`(stepsDone: Int) throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        let staged = SegmentCompanion.removing.path(of: paths[1])
        switch stepsDone {
        case 0: break
        case 1:
            #expect(rename(paths[1], staged) == 0)
        default:
            do throws(ArchiveError) {
                try SegmentRemoval.remove(paths[1], cause: "age", now: SmallArchive.zero) {
                    lines throws(ArchiveError) in
                    try archive.append(lines, session: "s")
                    throw .malformed(path: "", reason: "the power is gone")
                }
            } catch {
                #expect(FileSystem.exists(staged))
            }
        }
        let before = try SessionVerifier.verify("s", in: archive.layout)
        #expect(!before.findings.contains { $0.severity == .damage })
        let survey = try ArchiveSurvey(of: archive.layout)
        #expect(survey.staged.map(\.path) == (stepsDone == 0 ? [] : [staged]))
        for rest in survey.staged {
            try SegmentRemoval.complete(
                rest.path, ledger: Ledger.read(archive.layout.ledger("s", "camera")),
                now: SmallArchive.zero
            ) { lines throws(ArchiveError) in try archive.append(lines, session: "s") }
        }
        let removed = try archive.ledger("s").filter { $0.kind == .removed }
        #expect(removed.count == (stepsDone == 0 ? 0 : 1))
        #expect(try SessionVerifier.verify("s", in: archive.layout).findings.isEmpty)
        #expect(try ArchiveSurvey(of: archive.layout).staged.isEmpty)
    }

    @Test func `an empty session is removed completely, also after a crash`() throws {
        let archive = SmallArchive()
        try archive.addSession("a", segments: 0)
        try archive.addSession("b", segments: 1)
        try archive.addSession("c", segments: 0, state: .recording)
        try archive.addSession("d", segments: 0)
        try FileSystem.replace(archive.layout.protection("d"), with: [])
        #expect(try ArchiveSurvey(of: archive.layout).emptySessions == ["a"])
        try SessionRemoval.remove("a", from: archive.layout)
        #expect(try archive.layout.sessionNames() == ["b", "c", "d"])
        #expect(
            rename(
                archive.layout.session("b"),
                "\(archive.layout.sessions)/\(SessionRemoval.stagedPrefix)b") == 0)
        try SessionRemoval.complete(in: archive.layout)
        #expect(try FileSystem.names(in: archive.layout.sessions) == ["c", "d"])
    }
}

@Suite struct SurveyTests {
    @Test func `distinguishes open from finished segments, and protected from others`() throws {
        let archive = SmallArchive()
        try archive.addSession("done", segments: 2)
        try archive.addSession("running", segments: 2, state: .recording)
        try FileSystem.replace(archive.layout.protection("done"), with: [])
        let segments = try ArchiveSurvey(of: archive.layout).segments
        #expect(segments.map(\.isOpen) == [false, false, false, true])
        #expect(segments.map(\.isProtected) == [true, true, false, false])
        unlink(archive.layout.protection("done"))
        #expect(try ArchiveSurvey(of: archive.layout).segments.allSatisfy { !$0.isProtected })
    }
}
