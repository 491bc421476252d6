import Foundation
import Media
import Testing
import Timing

@testable import Archive

@Suite struct FragmentRecordTests {
    private let record = FragmentRecord(
        spool: SpoolID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10),
        epoch: EpochID(high: 0x1112_1314_1516_1718, low: 0x191A_1B1C_1D1E_1F20),
        clock: FragmentRecord.Clock(
            offsetNanoseconds: -5, boundNanoseconds: 250_000, skewPartsPerBillion: -200_000),
        sessionZero: UTCTime(nanoseconds: 1_790_000_000_000_000_000),
        collectorZeroNanoseconds: 123_456_789_000,
        segmentOriginNanoseconds: -600_000_000_000, chain: Digest(of: [1, 2, 3]),
        durableBytes: 987_654_321,
        pieces: [
            FragmentRecord.Piece(
                sizeBytes: 1_000, digestOrigin: .agent, digest: Digest(of: [4]),
                runs: [
                    FragmentRecord.Run(
                        track: .video, primingSamples: 0, samples: 3, firstSequence: 7,
                        firstDTSNanoseconds: -1, appliedOffsetNanoseconds: -1_000_000),
                    FragmentRecord.Run(
                        track: .audio, primingSamples: 1, samples: 5, firstSequence: 10,
                        firstDTSNanoseconds: 5,
                        appliedOffsetNanoseconds: 4_500_000_000_000_000_000),
                ])
        ],
        exchanges: [
            ClockExchange(
                t1Nanoseconds: 1_000_000, t2Nanoseconds: 6_050_000, t3Nanoseconds: 6_051_000,
                t4Nanoseconds: 1_101_000),
            // Impossible values are stored unchanged.
            ClockExchange(
                t1Nanoseconds: .max, t2Nanoseconds: .min, t3Nanoseconds: -1, t4Nanoseconds: 0),
            ClockExchange(
                t1Nanoseconds: 2_000_000, t2Nanoseconds: 7_050_000, t3Nanoseconds: 7_051_000,
                t4Nanoseconds: 2_101_000),
        ])

    /// The same as version 1 wrote it: without the collector's zero, the runs' offsets and the exchanges.
    private static let version1 = """
        010000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20ffffffff
        fffffffb000000000003d090fffffffffffcf2c018d75b8423f30000ffffff744d369000039058c6
        f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb810001000003e800e52d9c508c
        502347344d8c07ad91cbd6068afc75ff6292f062a09ca381c89e7102010000000003000000000000
        0007ffffffffffffffff020100000005000000000000000a0000000000000005
        """

    /// Bytes of hexadecimal digits in the text.
    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }

    @Test func `a record of version 1 still reads`() throws {
        let old = try FragmentRecord(parsing: Self.bytes(Self.version1))
        #expect(old.collectorZeroNanoseconds == nil && old.exchanges.isEmpty)
        #expect(old.clock == record.clock && old.sequences == record.sequences)
        #expect(old.chain == record.chain && old.sessionZero == record.sessionZero)
        #expect(old.pieces.flatMap(\.runs).map(\.appliedOffsetNanoseconds) == [-5, -5])
        #expect(old.pieces.flatMap(\.runs).map(\.firstDTSNanoseconds) == [-1, 5])
    }

    @Test func `a record of version 2 still reads`() throws {
        var bytes = record.encoded()
        bytes[0] = 2
        // Behind the chain.
        bytes.removeSubrange(116..<124)
        var old = record
        old.durableBytes = nil
        #expect(try FragmentRecord(parsing: bytes) == old)
    }

    @Test func `an exchange needs about twelve bytes in a record`() {
        var many = record
        let few = record.encoded().count
        many.exchanges += (0..<100).map { (index: Int64) in
            let t1 = 5_000_000_000_000 + index * 2_000_000_000
            return ClockExchange(
                t1Nanoseconds: t1, t2Nanoseconds: t1 + 77_000_050_000 + index * 31,
                t3Nanoseconds: t1 + 77_000_052_000 + index * 31,
                t4Nanoseconds: t1 + 102_000 + index * 17)
        }
        #expect(many.encoded().count - few < 100 * 14)
    }

    /// The record of a network camera.
    private var stamped: FragmentRecord {
        var stamped = record
        stamped.pieces[0].runs[0].camera = CameraStamps(
            clockRate: 90_000,
            stamps: (0..<3 as Range<Int64>).map { number in
                CameraStamp(
                    timestamp: (UInt32.max - 5_000) &+ UInt32(number) * 3_600,
                    arrivalNanoseconds: 80_000_000 + number * 40_003_000,
                    arrivalSpanNanoseconds: 1_500_000, firstPacket: 65_530 + number * 9,
                    packets: 9)
            },
            reports: [
                CameraReport(
                    source: .max, ntp: .max - 1, timestamp: 7, arrivalNanoseconds: -100)
            ])
        return stamped
    }

    @Test func `camera stamps are kept, and need version 4`() throws {
        #expect(record.encoded()[0] == 3)
        let bytes = stamped.encoded()
        #expect(bytes[0] == 4)
        #expect(try FragmentRecord(parsing: bytes) == stamped)
        for count in 0..<bytes.count {
            #expect(throws: FragmentRecord.Malformed.self) {
                try FragmentRecord(parsing: Array(bytes.prefix(count)))
            }
        }
        for place in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[place] ^= 1 << bit
                if let parsed = try? FragmentRecord(parsing: damaged) { _ = parsed.sequences }
            }
        }
    }

    @Test func `a picture's stamps take a dozen bytes`() {
        var many = stamped
        let few = many.encoded().count
        let more = (3..<103 as Range<Int64>).map { number -> CameraStamp in
            let wander = number % 7 * 100_000
            return CameraStamp(
                timestamp: (UInt32.max - 5_000) &+ UInt32(number) * 3_600,
                arrivalNanoseconds: 80_000_000 + number * 40_003_000 + wander,
                arrivalSpanNanoseconds: 1_500_000 + number * 1_000,
                firstPacket: 65_530 + number * 9, packets: 9)
        }
        many.pieces[0].runs[0].camera?.stamps += more
        many.pieces[0].runs[0].samples += 100
        #expect(many.encoded().count - few <= 100 * 14)
    }

    @Test func `impossible stamps of a camera are refused`() {
        for change in [
            { $0.stamps[1].arrivalNanoseconds = .max }, { $0.reports[0].arrivalNanoseconds = .min },
            { $0.stamps[0].arrivalSpanNanoseconds = -1 },
            { $0.reports += [CameraReport](repeating: $0.reports[0], count: 16) },
        ] as [(inout CameraStamps) -> Void] {
            var wrong = stamped
            if var camera = wrong.pieces[0].runs[0].camera {
                change(&camera)
                wrong.pieces[0].runs[0].camera = camera
            }
            #expect(throws: FragmentRecord.Malformed.self) {
                try FragmentRecord(parsing: wrong.encoded())
            }
        }
    }

    @Test func `a record reads back as it was written`() throws {
        #expect(try FragmentRecord(parsing: record.encoded()) == record)
        #expect(record.sequences == [7...9, 10...14])
    }

    @Test func `a record cut anywhere is refused`() {
        let bytes = record.encoded()
        for count in 0..<bytes.count {
            #expect(throws: FragmentRecord.Malformed.self) {
                try FragmentRecord(parsing: Array(bytes.prefix(count)))
            }
        }
        #expect(throws: FragmentRecord.Malformed.self) {
            try FragmentRecord(parsing: bytes + [0])
        }
    }

    @Test func `flipped bits never trap`() {
        let bytes = record.encoded()
        for position in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[position] ^= 1 << bit
                if let parsed = try? FragmentRecord(parsing: damaged) { _ = parsed.sequences }
            }
        }
    }
}

@Suite struct LedgerTests {
    private func entry(_ text: String) -> LedgerEntry {
        var entry = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        entry.text = text
        entry.cause = "spool full"
        entry.samples = 3
        return entry
    }

    @Test func `lines are read back, and damaged ones are reported`() {
        let lines = ["a \"quoted\" one", "zwei", "three"].map { Ledger.line(entry($0)) }
        let whole = Ledger.parse(Array(lines.joined()))
        #expect(whole.entries.map(\.text) == ["a \"quoted\" one", "zwei", "three"])
        #expect(whole.damagedLines.isEmpty && !whole.hasTornTail)

        var damaged = Array(lines.joined())
        damaged[lines[0].count + 20] ^= 1
        let other = Ledger.parse(damaged)
        #expect(other.entries.count == 2)
        #expect(other.damagedLines == [2])
    }

    /// Everything that a line can have.
    private var fullEntry: LedgerEntry {
        var full = entry("plain")
        full.firstSequence = 1
        full.lastSequence = 1 << 62
        full.ranges = [[1, 2], [4, 9]]
        full.spool = String(repeating: "0f", count: 16)
        full.after = 0
        full.track = "video"
        full.startNanoseconds = -5
        full.durationNanoseconds = 7
        full.epoch = "00000000000000ff"
        full.agentNanoseconds = 12
        full.offsetNanoseconds = -(1 << 40)
        full.skewPartsPerBillion = -20_000
        full.boundNanoseconds = 300
        full.collectorZeroNanoseconds = 8
        full.exchanges = [[1, 2, 3, 4], [-5, 6, 7, 8], []]
        full.rejectedExchanges = 1
        full.outlyingExchanges = 2
        full.segment = "2026-11-20T22-40-00.000Z.mp4"
        return full
    }

    @Test func `the fast parser equals the JSON decoder`() throws {
        for entry in [fullEntry, entry("short"), entry("offset 4 ns ± 3 ns, „Bühne“ 🎬")] {
            let body = Array(Ledger.line(entry).dropLast(29))
            let quick = body.withUnsafeBytes { LedgerLineParser.entry($0) }
            #expect(quick == entry)
            let slow = try JSONDecoder().decode(
                LedgerEntry.self, from: Data(body + [UInt8(ascii: "}")]))
            #expect(quick == slow)
        }
        // Unknown lines are left to the other one.
        let start = #"{"at":"","kind":"gap","#
        for body in [
            start + #""text":"a \"b\"""#, start + "\"text\":\"\u{7F}\"", start + #""new":1"#,
            start + #""samples":-1"#, start + #""samples":01"#, start + #""samples":1.5"#,
            start + #""samples":99999999999999999999"#, start + #""kind":"gap""#,
            start + #""ranges":[[1,2]"#, start + #""text":null"#,
            start + #""startNanoseconds":-0"#, start + #""text":"}"#, #"{"kind":"gap""#,
            #"{ "at":"","kind":"gap""#, "{", "", String(start.dropLast()) + "}",
        ] {
            #expect(
                Array(body.utf8).withUnsafeBytes { LedgerLineParser.entry($0) } == nil, "\(body)")
        }
        let invalid = Array("\(start)\"text\":\"".utf8) + [0xC3, UInt8(ascii: "\"")]
        #expect(invalid.withUnsafeBytes { LedgerLineParser.entry($0) } == nil)
    }

    @Test func `lines are read from blocks of any size`() {
        let bytes = Array(["one", "two \"b\"", "three"].map { Ledger.line(entry($0)) }.joined())
        for size in [1, 7, 100, bytes.count] {
            var rest = bytes[...]
            let contents = try? Ledger.read("ledger") { () throws(ArchiveError) in
                defer { rest = rest.dropFirst(size) }
                return Array(rest.prefix(size))
            }
            #expect(contents?.entries.map(\.text) == ["one", "two \"b\"", "three"])
            #expect(contents?.offsets == Ledger.parse(bytes).offsets)
        }
    }

    @Test func `an oversized line is damaged, and not kept in memory`() {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: Ledger.maximumLineBytes + 1)
        let good = Ledger.line(entry("good"))
        let contents = Ledger.parse(good + long + [UInt8(ascii: "\n")] + good + long)
        #expect(contents.entries.count == 2)
        #expect(contents.damagedLines == [2])
        #expect(contents.hasTornTail)
        #expect(contents.offsets == [0, UInt64(good.count + long.count + 1)])
    }

    @Test func `a ledger of more lines, or more damaged ones, than a collector writes is refused`()
        throws
    {
        let path = "\(NSTemporaryDirectory())ledger-\(UInt64.random(in: 0 ... .max)).jsonl"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let line = Array("x\n".utf8)
        try Data((0..<10_000).flatMap { _ in line }).write(to: URL(filePath: path))
        let contents = try Ledger.read(path)
        #expect(contents.damagedLines.count == 100)
        #expect(contents.otherDamagedLines == 9_900)
        #expect(contents.damage.last == "9900 more lines are damaged")
        try Data((0..<10_200).flatMap { _ in line }).write(to: URL(filePath: path))
        #expect(throws: ArchiveError.self) { try Ledger.read(path) }
        // Lines of which each is one, or nothing.
        try Data(repeating: UInt8(ascii: "\n"), count: Ledger.maximumLines).write(
            to: URL(filePath: path))
        #expect(try Ledger.read(path).entries.isEmpty)
        try Data(repeating: UInt8(ascii: "\n"), count: Ledger.maximumLines + 1).write(
            to: URL(filePath: path))
        #expect(throws: ArchiveError.self) { try Ledger.read(path) }
    }

    @Test func `a torn line loses only itself`() {
        let first = Ledger.line(entry("one"))
        let second = Ledger.line(entry("two"))
        for count in 1..<second.count - 1 {
            let contents = Ledger.parse(first + second.prefix(count))
            #expect(contents.entries.count == 1)
            #expect(contents.hasTornTail && contents.damagedLines.isEmpty)
        }
    }
}

@Suite struct NamesTests {
    @Test func `an instant's file name reads back`() {
        let time = UTCTime(nanoseconds: 1_795_214_400_123_000_000)
        #expect(time.fileName == "2026-11-20T22-40-00.123Z")
        #expect(UTCTime(fileName: time.fileName) == time)
        #expect(UTCTime(nanoseconds: -1_000_000).description == "1969-12-31T23:59:59.999Z")
        #expect(UTCTime(fileName: "2026-02-30T00-00-00.000Z") == nil)
        #expect(UTCTime(fileName: "2026-11-20T22:40:00.123Z") == nil)
        #expect(UTCTime(fileName: "") == nil)
    }

    @Test(arguments: [
        "9999-12-31T23-59-59.999Z", "2300-01-01T00-00-00.000Z", "0000-01-01T00-00-00.000Z",
    ])
    func `a year out of range is not a segment's name`(_ name: String) {
        #expect(UTCTime(fileName: name) == nil)
    }

    @Test(arguments: [
        ("camera1", true), ("A.b_c-9", true), ("", false), (".hidden", false), ("-x", false),
        ("a/b", false), ("..", false), ("käse", false), (String(repeating: "x", count: 64), true),
        (String(repeating: "x", count: 65), false), ("a\n", false),
    ])
    func `only names that are safe as directories are names`(name: String, isValid: Bool) {
        #expect(ArchiveLayout.isValidName(name) == isValid)
    }
}

@Suite struct DescriptionTests {
    /// Reads a description with these changes.
    private func reading(
        _ change: (inout SessionManifest) -> Void
    ) throws -> Result<SessionManifest, ArchiveError> {
        var manifest = SessionManifest(
            session: "2026-11-20T22-40-00.000Z",
            zero: UTCTime(nanoseconds: 1_795_214_400_000_000_000), zeroMonotonicNanoseconds: 5,
            startAt: .firstSample, startWindowNanoseconds: 500_000_000,
            segmentNanoseconds: 600_000_000_000, software: "test")
        change(&manifest)
        let path = FileManager.default.temporaryDirectory
            .appending(path: "description-\(UUID().uuidString).json").path
        try FileSystem.replace(path, with: manifest.encoded())
        defer { unlink(path) }
        return Result { () throws(ArchiveError) in try SessionManifest.read(path) }
    }

    @Test func `the manifests of a collector and an import are readable`() throws {
        _ = try reading { _ in }.get()
        // Without a description, after a crash, there is no grid; an import may use a single file.
        for segment in [0, Int64.max] {
            let manifest = try reading {
                $0.state = .finished
                $0.segmentNanoseconds = segment
            }
            #expect(try manifest.get().segmentNanoseconds == segment)
        }
    }

    @Test func `names that lead elsewhere make a manifest invalid`() throws {
        func source(_ name: String) -> SessionManifest.Source {
            .init(name: name, agent: "a", address: "b", tracks: [], isComplete: true)
        }
        let changes: [(inout SessionManifest) -> Void] = [
            { $0.session = "../../elsewhere" }, { $0.sources = [source("../camera")] },
            { $0.sources = [source("camera"), source("camera")] },
        ]
        for (index, change) in changes.enumerated() {
            guard case .failure(.malformed) = try reading(change) else {
                Issue.record("change \(index) was read")
                continue
            }
        }
    }

    @Test func `ranges out of bounds are limited when a manifest is read`() throws {
        var end = SessionManifest.SpoolEnd(spool: "01", sequences: SequenceSet(upTo: .max))
        end.beyond = [[0, .max], [.max, .max], [5, 4], [7]]
        let camera = SessionManifest.Source(
            name: "camera", agent: "a", address: "b", tracks: [], isComplete: true)
        let manifest = try reading {
            $0.sources = [camera]
            $0.sources[0].spools = [end]
        }.get()
        let read = try #require(manifest.sources.first?.spools?.first)
        #expect(read.joined(with: SequenceSet()).through == 1 << 62)
    }

    @Test func `times out of range make a manifest invalid`() throws {
        let changes: [(inout SessionManifest) -> Void] = [
            { $0.segmentNanoseconds = 0 }, { $0.segmentNanoseconds = .max },
            { $0.zeroUTCNanoseconds = .min }, { $0.zeroUTCNanoseconds = .max },
            { $0.zeroMonotonicNanoseconds = .min }, { $0.startWindowNanoseconds = -1 },
            {
                $0.clock = SessionManifest.CollectorClock(
                    boot: "", zeroWallNanoseconds: .min, wallErrorNanoseconds: 0)
            },
            {
                $0.clock = SessionManifest.CollectorClock(
                    boot: "", zeroWallNanoseconds: 0, wallErrorNanoseconds: .max)
            },
        ]
        for (index, change) in changes.enumerated() {
            guard case .failure(.malformed) = try reading(change) else {
                Issue.record("change \(index) was read")
                continue
            }
        }
    }
}
