import Foundation
import Media
import TestRecordings
import Testing
import Timing

@testable import Archive

/// Files of one archive retimed with the exchanges of another one.
@Suite("Retiming with the archives of a site")
struct SiteRetimingTests {
    private static let second = WrittenSession.second
    private static let (eastClock, westClock) = (
        EpochID(high: 1, low: 1).description, EpochID(high: 2, low: 2).description
    )
    /// West's clock less east's.
    private static let apart: Int64 = 300_000_000_000
    private static let westZero: Int64 = 400_000_000_000_000

    private let west = TemporaryDirectory()
    private var westLayout: ArchiveLayout { ArchiveLayout(root: west.path) }
    private let recording: WrittenSession

    /// Recorded by east up to 3 ms late, with two slow exchanges a minute after the end; west has quick ones.
    init() throws {
        recording = try WrittenSession(withExchanges: false, boundNanoseconds: 20_000_000) {
            max(0, 3_000_000 - $0 / 2_000)
        }
        let session = recording
        try Self.write(
            [
                Self.line(
                    epoch: EpochID(high: 2, low: 0).description, zero: WrittenSession.collectorZero,
                    (70...71).map {
                        Self.exchange(session, $0 * Self.second, 9_000_000, 1_000_000)
                    })
            ], to: recording.layout.ledger(WrittenSession.name, "camera"))
        try Self.write(
            [
                Self.line(
                    epoch: EpochID(high: 2, low: 0).description, zero: Self.westZero,
                    (0...12).map {
                        Self.exchange(session, $0 * Self.second, 90_000, 30_000, Self.apart)
                    })
            ], to: westLayout.ledger(WrittenSession.name, "camera"))
        var own = LedgerEntry(kind: .epoch, at: UTCTime(nanoseconds: 0))
        own.epoch = Self.eastClock
        own.collectorZeroNanoseconds = WrittenSession.collectorZero
        try Self.write([own], to: recording.layout.clocks(WrittenSession.name))
        try Self.write([asked()], to: westLayout.clocks(WrittenSession.name))
    }

    private static func write(_ lines: [LedgerEntry], to path: String) throws {
        try FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileSystem.replace(path, with: lines.flatMap(Ledger.line))
    }

    private static func line(
        epoch: String, zero: Int64, _ exchanges: [[Int64]]
    ) -> LedgerEntry {
        var line = LedgerEntry(kind: .exchanges, at: UTCTime(nanoseconds: 0))
        line.epoch = epoch
        line.collectorZeroNanoseconds = zero
        line.exchanges = exchanges
        return line
    }

    /// The camera asks at a true session time.
    private static func exchange(
        _ session: WrittenSession, _ time: Int64, _ there: Int64, _ back: Int64, _ apart: Int64 = 0
    ) -> [Int64] {
        let arrived = WrittenSession.collectorZero + time + there + apart
        return [
            session.stamp(time), arrived, arrived + 5_000,
            session.stamp(time + there + 5_000 + back),
        ]
    }

    /// West asks east every second.
    private func asked() -> LedgerEntry {
        var line = Self.line(
            epoch: Self.westClock, zero: Self.westZero,
            (Int64(-5)...20).map { second in
                let time = WrittenSession.collectorZero + second * Self.second
                return [
                    time + Self.apart, time + 60_000, time + 65_000, time + 85_000 + Self.apart,
                ]
            })
        line.collector = "east"
        line.peerEpoch = Self.eastClock
        return line
    }

    private func retime(with peers: Bool = true) throws -> RetimingReport {
        try SessionRetimer(
            WrittenSession.name, in: recording.layout,
            peers: peers
                ? [RetimingPeer(name: "west", layout: westLayout, session: WrittenSession.name)]
                : []
        ).retime(isDryRun: false)
    }

    private func undo() throws {
        _ = try SessionRetimer(WrittenSession.name, in: recording.layout).undo(isDryRun: false)
    }

    @Test func `times are within the smaller bound, and undo brings back every byte`() throws {
        let before = try recording.bytes()
        let alone = try retime(with: false)
        try undo()
        let report = try retime()
        #expect(report.problems == nil)
        #expect(
            report.peers == [.init(name: "west", tiedClocks: 0, sources: ["camera"])])
        for (index, bytes) in try recording.bytes().enumerated() {
            let origin = Int64(index) * 5 * Self.second
            let files = [alone, report].map { $0.sources[0].files[index] }
            let bounds = try files.map { try #require($0.boundAfter?.greatestNanoseconds) }
            #expect(bounds[0] > 4_000_000 && bounds[1] < 300_000, "\(bounds)")
            for (picture, time) in try WrittenSession.times(bytes, .video).enumerated().dropFirst()
            {
                let truth = Int64(picture) * Self.second / 20 + origin
                #expect(abs(time + origin - truth) <= Int64(bounds[1]) + 12_000)
            }
        }
        // Recorded by east's exchanges, tied to west's: the same again changes nothing.
        let once = try recording.bytes()
        #expect(try retime().sources[0].files.map(\.outcome) == [.unchanged, .unchanged])
        #expect(try recording.bytes() == once && once != before)
        try undo()
        #expect(try recording.bytes() == before)
    }

    @Test func `the other archive is only read`() throws {
        func contents() throws -> [String: Data] {
            let root = URL(filePath: west.path)
            let paths = FileManager.default.enumerator(atPath: west.path)?
                .compactMap { $0 as? String }
            var found: [String: Data] = [:]
            for path in paths ?? [] {
                let url = root.appending(path: path)
                found[path] = url.hasDirectoryPath ? Data() : try? Data(contentsOf: url)
            }
            return found
        }
        let before = try contents()
        #expect(before.count == 2)
        _ = try retime()
        #expect(try contents() == before)
    }

    @Test func `an invalid or too large clock file loses only its own exchanges`() throws {
        _ = try retime(with: false)
        let alone = try recording.bytes()
        let path = westLayout.clocks(WrittenSession.name)
        for damage in ["garbage", "gigabytes", "absent"] {
            switch damage {
            case "garbage":
                try FileSystem.replace(path, with: Array("{]\n\u{0}\n".utf8) + [0xFF, 10])
            case "gigabytes":
                let handle = try FileHandle(forWritingTo: URL(filePath: path))
                try handle.truncate(atOffset: 3 << 30)
                try handle.close()
            default:
                try FileManager.default.removeItem(atPath: path)
            }
            let report = try retime()
            #expect(report.peers == nil)
            #expect(report.problems?.count == 1, "\(damage): \(report.problems ?? [])")
            #expect(report.problems?.first?.hasPrefix("west: not used: ") == true)
            #expect(try recording.bytes() == alone, "\(damage)")
        }
    }

    @Test func `damaged lines of clock files are findings, and each file's are one line`() throws {
        for layout in [recording.layout, westLayout] {
            let path = layout.clocks(WrittenSession.name)
            let lines = try FileSystem.read(path, limit: 1 << 24)
            try FileSystem.replace(path, with: Array("x\ny\n".utf8) + lines)
        }
        let path = recording.layout.clocks(WrittenSession.name)
        let findings = try SessionVerifier.verify(WrittenSession.name, in: recording.layout)
            .findings.filter { $0.path == path }
        #expect(findings.map(\.text) == ["line 1 is damaged", "line 2 is damaged"])
        #expect(findings.allSatisfy { $0.severity == .damage })
        let problems = try retime().problems ?? []
        #expect(problems.count == 2, "\(problems)")
        #expect(problems.first?.hasPrefix("clocks.jsonl: line 1 is damaged, and 1 more; ") == true)
        #expect(problems.last?.hasPrefix("west: clocks.jsonl: line 1 ") == true)
    }

    @Test func `another collector on the same machine has the same clock`() throws {
        let session = recording
        try Self.write(
            [
                Self.line(
                    epoch: EpochID(high: 2, low: 0).description, zero: Self.westZero,
                    (0...12).map { Self.exchange(session, $0 * Self.second, 90_000, 30_000) })
            ], to: westLayout.ledger(WrittenSession.name, "camera"))
        var own = LedgerEntry(kind: .epoch, at: UTCTime(nanoseconds: 0))
        own.epoch = Self.eastClock
        own.collectorZeroNanoseconds = Self.westZero
        try Self.write([own], to: westLayout.clocks(WrittenSession.name))
        let report = try retime()
        #expect(report.problems == nil)
        #expect(report.peers == [.init(name: "west", tiedClocks: 0, sources: ["camera"])])
        let bounds = report.sources[0].files.compactMap(\.boundAfter?.greatestNanoseconds)
        #expect(bounds.count == 2 && bounds.allSatisfy { $0 < 300_000 }, "\(bounds)")
    }

    @Test func `a damaged own clock file is reported, and its exchanges are not used`() throws {
        _ = try retime(with: false)
        let alone = try recording.bytes()
        let path = recording.layout.clocks(WrittenSession.name)
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.truncate(atOffset: 3 << 30)
        try handle.close()
        let report = try retime()
        #expect(report.problems?.first?.contains("larger than") == true)
        #expect(try recording.bytes() == alone)
    }
}
