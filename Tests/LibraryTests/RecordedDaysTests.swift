import Archive
import Catalog
import Foundation
import Media
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// The days of a calendar.
@Suite struct RecordedDaysTests {
    private static let second: Int64 = 1_000_000_000
    private static let day = 86_400 * second
    private static let first = "2026-09-21T14-13-20.000Z"
    private static let other = "2026-09-21T14-13-21.000Z"
    private static let zero = SmallArchive.zero.nanoseconds
    private let archive = SmallArchive()

    private func library() throws -> RecordingLibrary {
        try RecordingLibrary(readingOnly: archive.layout.root) { Issue.record("\($0)") }
    }

    private func addGap(at start: Int64, seconds: Int64) throws {
        var entry = LedgerEntry(kind: .gap, at: SmallArchive.zero)
        entry.cause = "disconnected"
        entry.startNanoseconds = start * Self.second
        entry.durationNanoseconds = UInt64(seconds * Self.second)
        entry.samples = 10
        try archive.append(Ledger.line(entry), session: Self.first)
    }

    private func recorded(
        before: Int64 = 0, after: Int64 = day, resolution: Int64 = 0,
        where mayRead: (String) -> Bool = { _ in true }
    ) throws -> [SourceRecord]? {
        try library().recorded(
            in: Self.zero - before..<Self.zero + after, resolutionNanoseconds: resolution,
            where: mayRead)
    }

    /// Session, beginning and end of each span, seconds after the zero.
    private func spans(_ records: [SourceRecord]?) throws -> [[String]] {
        try #require(records).flatMap { record in
            try record.recorded.map { span in
                let ends = try [span.start, span.end].map {
                    (try #require(UTCTime(fileName: $0.replacing(":", with: "-"))).nanoseconds
                        - Self.zero) / Self.second
                }
                return [record.source, span.session, "\(ends[0])...\(ends[1])"]
            }
        }
    }

    @Test func `spans of a source are those of all sessions, without the gaps in them`() throws {
        try archive.addSession(Self.first, segments: 3)
        try archive.addSession(Self.other, segments: 1)
        try addGap(at: 4, seconds: 3)
        #expect(
            try spans(recorded(after: 100 * Self.second)) == [
                ["camera", Self.first, "0...4"], ["camera", Self.other, "0...10"],
                ["camera", Self.first, "7...30"],
            ])
        #expect(
            try spans(recorded(after: 100 * Self.second, resolution: 4 * Self.second)) == [
                ["camera", Self.first, "0...30"], ["camera", Self.other, "0...10"],
            ])
    }

    @Test func `spans are cut to the range, and limited to the rights`() throws {
        try archive.addSession(Self.first, segments: 3)
        #expect(
            try spans(recorded(before: 5 * Self.second, after: 12 * Self.second)) == [
                ["camera", Self.first, "0...12"]
            ])
        #expect(try recorded { $0 == "yard" } == [])
        #expect(try recorded(before: Self.day, after: 0) == [])
    }

    @Test func `months are answered from the catalog, or without one from the files`() throws {
        try archive.addSession(Self.first, segments: 3)
        try addGap(at: 4, seconds: 3)
        let month = 31 * Self.day
        let whole = ["camera", Self.first, "0...30"]
        #expect(try spans(recorded(after: month)) == [whole])
        _ = try SQLiteCatalog.rebuild(archive.layout)
        #expect(try spans(recorded(after: month)) == [whole])
        // An incomplete catalog is not used.
        try archive.addSession(Self.other, segments: 1)
        #expect(
            try spans(recorded(after: month)) == [whole, ["camera", Self.other, "0...10"]])
    }

    /// Files are not opened for months: an unreadable one is still listed.
    @Test func `months are read from the catalog without opening files`() throws {
        let paths = try archive.addSession(Self.first, segments: 3)
        _ = try SQLiteCatalog.rebuild(archive.layout)
        try Data("damaged".utf8).write(to: URL(filePath: paths[1]))
        #expect(
            try spans(recorded(after: 31 * Self.day)) == [["camera", Self.first, "0...30"]])
        #expect(
            try spans(recorded(after: 100 * Self.second)) == [
                ["camera", Self.first, "0...10"], ["camera", Self.first, "20...30"],
            ])
    }
}
