import Archive
import Library
import MP4
import Recordings
import Testing
import TestRecordings

@testable import ViewerCore

extension WrittenSession {
    /// Late by 3 ms at first, by 1 ms after four seconds: all times of all files change when they are computed again.
    @Sendable static func settling(_ session: Int64) -> Int64 {
        1_000_000 + max(0, 2_000_000 - session * 2_000_000 / (4 * second))
    }

    func retime() throws {
        let report = try SessionRetimer(Self.name, in: layout).retime(isDryRun: false)
        #expect(report.sources.first?.files.allSatisfy { $0.outcome == .retimed } == true)
    }

    func undoRetiming() throws {
        let report = try SessionRetimer(Self.name, in: layout).undo(isDryRun: false)
        #expect(report.sources.first?.files.allSatisfy { $0.outcome == .restored } == true)
    }

    /// Its files as they are now.
    func files() throws -> [RecordedFile] {
        let recording = try RecordedSession(Self.name, in: layout)
        return try #require(recording.source("camera")).files.map { try $0.opened() }
    }
}

extension RecordedFile {
    /// A player's concatenation as a growing file, which has a placeholder behind `ftyp`.
    /// - Parameter media: whole fragments.
    func growing(_ media: [UInt8]) throws -> [UInt8] {
        let beginning = try initialization()
        let split = Int(FragmentedHeader.placeholderOffset)
        var bytes = Array(beginning[..<split])
        bytes += [0, 0, 0, 16]
        bytes += Array("free".utf8)
        bytes += [UInt8](repeating: 0, count: 8)
        bytes += beginning[split...]
        bytes += media
        return bytes
    }
}
