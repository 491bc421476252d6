import Archive
import MP4
import Media
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// Archives of two collectors that have measured each other's clocks, read as one.
@Suite struct SiteClocksTests {
    private static let session = WrittenSession.name
    private static let second = WrittenSession.second
    private static let (eastClock, westClock) = (
        EpochID(high: 1, low: 1).description, EpochID(high: 2, low: 2).description
    )
    /// Zeros on clocks that are minutes apart.
    private static let (eastZero, westZero): (Int64, Int64) = (
        900_000_000_000, 1_500_000_000_000
    )

    private let places = [TemporaryDirectory(), TemporaryDirectory()]

    /// West's session times run away from east's: by 3 ms, and 400 millionths of the time.
    private static func west(_ east: Int64) -> Int64 { east + error(east) }
    private static func error(_ session: Int64) -> Int64 { 3_000_000 + session / 2_500 }

    /// West asks east every two seconds, with other delays there than back.
    private static func lines(from start: Int64, to end: Int64) -> (
        east: [LedgerEntry], west: [LedgerEntry]
    ) {
        let utc = UTCTime(nanoseconds: 0)
        func begin(_ epoch: String, _ zero: Int64) -> LedgerEntry {
            var line = LedgerEntry(kind: .epoch, at: utc)
            line.epoch = epoch
            line.collectorZeroNanoseconds = zero
            return line
        }
        var asked = LedgerEntry(kind: .exchanges, at: utc)
        asked.collector = "east"
        asked.epoch = westClock
        asked.peerEpoch = eastClock
        asked.collectorZeroNanoseconds = westZero
        asked.exchanges = stride(from: start, to: end, by: Int(2 * second)).map { moment in
            let (there, back): (Int64, Int64) = (220_000, 80_000)
            return [
                westZero + Self.west(moment), eastZero + moment + there,
                eastZero + moment + there + 10_000,
                westZero + Self.west(moment + there + 10_000 + back),
            ]
        }
        return ([begin(eastClock, eastZero)], [begin(westClock, westZero), asked])
    }

    private func library() throws -> RecordingLibrary {
        try RecordingLibrary(
            ArchiveReference(places.map { ArchiveReference(directory: $0.path) })
        ) { _ in }
    }

    private struct Heard {
        var number: UInt64
        var dts: Int64
    }

    private func samples(_ session: RecordedSession) throws -> [Heard] {
        var reader = SampleReader(try #require(session.source("camera")))
        var samples: [Heard] = []
        while let sample = try reader.next() {
            samples.append(
                Heard(number: try #require(sample.sequence), dts: sample.dtsNanoseconds))
        }
        // Pictures and sound of two archives are read in an order of their own at the joint.
        return samples.sorted { $0.number < $1.number }
    }

    /// The first half is recorded by east, the second one by west, on its own timeline.
    private func record(segments: Int = 6, withClocks: Bool) throws -> WrittenSession {
        let (right, wrong) = (
            try WrittenSession(segments: segments) { _ in 0 },
            try WrittenSession(segments: segments) { Self.error($0) }
        )
        let last = UInt64(segments * 350 / 2)
        let layouts = places.map { ArchiveLayout(root: $0.path) }
        try SplitRecording(collector: "east", term: 1).copy(
            Self.session, from: right.layout, to: layouts[0]
        ) { $1 <= last }
        try SplitRecording(collector: "west", term: 2).copy(
            Self.session, from: wrong.layout, to: layouts[1]
        ) { $1 > last }
        guard withClocks else { return right }
        let lines = Self.lines(from: -20 * Self.second, to: 90 * Self.second)
        for (layout, lines) in zip(layouts, [lines.east, lines.west]) {
            try FileSystem.replace(
                layout.clocks(Self.session), with: lines.flatMap(Ledger.line))
        }
        return right
    }

    @Test func `every sample is on the first collector's clock, within the summed bounds`() throws {
        let right = try record(withClocks: true)
        let whole = try samples(RecordedSession(Self.session, in: right.layout))
        let library = try library()
        let merged = try samples(library.recording(Self.session))
        #expect(merged.map(\.number) == whole.map(\.number))
        let errors = zip(merged, whole).map { ($0.dts - $1.dts).magnitude }
        // Half of the round trip's asymmetry, and a tick.
        #expect(errors.max() ?? .max < 160_000 + 21_000, "\(errors.max() ?? 0)")
        let report = try library.verification(of: Self.session)
        let parts = try #require(report.archives)
        #expect(parts.map(\.name) == ["east", "west"])
        #expect(parts.map(\.isMeasured) == [true, true])
        #expect(parts[0].boundNanoseconds == 0 && parts[0].skewPartsPerBillion == nil)
        #expect((160_000...260_000).contains(parts[1].boundNanoseconds))
        #expect(abs(try #require(parts[1].skewPartsPerBillion) + 400_000) < 20_000)
        #expect(UInt64(errors.max() ?? .max) <= parts[1].boundNanoseconds + 21_000)
        // The bounds of west's files are sums: those of its agents' clocks, and of its own.
        let bounds = report.sources.flatMap(\.files).map { $0.clockBoundMilliseconds.max() ?? 0 }
        #expect(bounds.prefix(3).allSatisfy { $0 == 5 }, "\(bounds)")
        #expect(bounds.suffix(3).allSatisfy { $0 > 5.15 && $0 < 5.27 }, "\(bounds)")
    }

    @Test func `without exchanges between them, they are not called synchronous`() throws {
        _ = try record(withClocks: false)
        let report = try library().verification(of: Self.session)
        #expect(report.archives?.map(\.isMeasured) == [true, false])
        #expect(try library().copies(of: Self.session)?.map(\.shift.isMeasured) == [true, false])
    }

    @Test func `readers of bytes get the same times and bounds`() throws {
        _ = try record(segments: 14, withClocks: true)
        let files = try #require(try library().recording(Self.session).source("camera")).files
        let opened = try files.map { try $0.opened() }
        // West's fragments near the joint are in merged files, with bounds of their own; its other files are moved as they are read.
        #expect(opened.first?.retiming == nil && opened.last?.retiming != nil)
        for file in opened {
            var cursor = try FileCursor(file)
            while let fragment = try cursor.next() {
                let time = fragment.samples.map(\.dtsNanoseconds).min() ?? 0
                let bound = try #require(fragment.record).clock.boundNanoseconds
                if file.retiming != nil || time < 35 * Self.second {
                    #expect(bound == 5_000_000)
                } else {
                    #expect((5_150_000...5_270_000).contains(bound), "\(time) \(bound)")
                }
            }
        }
        let retiming = try #require(opened.last?.retiming)
        #expect(retiming.addsBounds)
        #expect(retiming.tracks.count == 2)
        // Five seconds at 400 millionths.
        let knots = try #require(retiming.track(.video)?.knots)
        let (first, next) = (knots[0], knots[1])
        let seconds = Double(next.ticks - first.ticks) / 90_000
        let rise = Double(next.shiftNanoseconds - first.shiftNanoseconds) / 1e9
        let slope = rise / seconds
        #expect(abs(slope + 4e-4) < 2e-5, "\(slope)")
        // A reader that enters a file by its index gets the same times.
        let file = try #require(opened.last)
        var (whole, entered) = (try FileCursor(file), try FileCursor(file))
        entered.skip(to: 68 * Self.second, margin: 0)
        var times: [UInt64: Int64] = [:]
        while let fragment = try whole.next() {
            for sample in fragment.samples { times[sample.sequence ?? 0] = sample.dtsNanoseconds }
        }
        var count = 0
        while let fragment = try entered.next() {
            for sample in fragment.samples {
                count += 1
                let apart = (times[sample.sequence ?? 0] ?? 0) - sample.dtsNanoseconds
                #expect(apart.magnitude <= 50_000)
            }
        }
        #expect(count > 50 && count < times.count)
    }

    @Test func `a retimed file is moved from its retimed times`() throws {
        let correction = TimeCorrection(
            SessionShift(
                try #require(
                    SiteClocks(Self.lines(from: 0, to: 60 * Self.second).east).course(
                        of: SiteClocks(Self.lines(from: 0, to: 60 * Self.second).west)))),
            from: 10 * Self.second, length: 20 * Self.second)
        let movie = try WrittenSession(segments: 1) { _ in 0 }
        let file = try RecordedFile(opening: try #require(movie.paths.first))
        let own = RetimingRecord(
            before: try #require(.init([5])), after: try #require(.init([5])),
            tracks: [
                RetimingRecord.Track(
                    kind: .video, startTicks: 90,
                    knots: [.init(ticks: 0, shiftNanoseconds: 1_000_000, boundNanoseconds: 7)])
            ])
        let both = correction.retiming(
            after: own, file.layout.initialMovie, origin: 10 * Self.second)
        let alone = correction.retiming(
            after: nil, file.layout.initialMovie, origin: 10 * Self.second)
        #expect(!both.addsBounds && alone.addsBounds)
        for ticks in stride(from: Int64(0), to: 20 * 90_000, by: 45_000) {
            let sum = try #require(both.track(.video)).shiftNanoseconds(at: ticks)
            let part = try #require(alone.track(.video)).shiftNanoseconds(at: ticks)
            #expect(abs(sum - part - 1_000_000) < 2_000)
            let bounds = [both, alone].map { $0.track(.video)?.boundNanoseconds(at: ticks) ?? 0 }
            #expect(bounds[0] >= bounds[1] + 7)
        }
        // Sound was not retimed.
        #expect(both.track(.audio)?.startTicks == RetimingRecord.Track.startsByMapping)
    }

    @Test func `the path through a third collector adds both errors`() throws {
        let third = EpochID(high: 3, low: 3).description
        let lines = Self.lines(from: 0, to: 60 * Self.second)
        var asked = try #require(lines.west.last)
        // The same exchanges, with a third clock.
        asked.peerEpoch = Self.westClock
        asked.epoch = third
        asked.collectorZeroNanoseconds = Self.westZero + 600_000_000_000
        asked.exchanges = asked.exchanges?.map {
            [
                $0[0] + 600_000_000_000, $0[1] + Self.westZero - Self.eastZero,
                $0[2] + Self.westZero - Self.eastZero, $0[3] + 600_000_000_000,
            ]
        }
        let sites = [SiteClocks(lines.east), SiteClocks(lines.west), SiteClocks([asked])]
        let manifests = ["a", "b", "c"].map { _ in
            SessionManifest(
                session: "s", zero: UTCTime(nanoseconds: 0), zeroMonotonicNanoseconds: 0,
                startAt: .firstSample, startWindowNanoseconds: 0,
                segmentNanoseconds: Self.second, software: "")
        }
        let clocks = manifests.map { _ in SessionClocks() }
        let shifts = SessionShift.all(manifests, clocks, sites)
        let (near, far) = (try #require(shifts[1]), try #require(shifts[2]))
        let moment = 30 * Self.second
        #expect(abs(near.at(Self.west(moment)).nanoseconds + Self.error(moment)) < 160_000)
        let twice = Self.west(Self.west(moment))
        #expect(abs(far.at(twice).nanoseconds + twice - moment) < 320_000)
        #expect(far.at(twice).boundNanoseconds > near.at(moment).boundNanoseconds * 3 / 2)
        #expect(far.isMeasured && far.isByCollectors)
        #expect(
            SessionShift.all(manifests, clocks, [sites[0], sites[2], sites[2]])[1]?.isMeasured
                == false)
    }

    @Test func `clock lines of another archive with extreme values do not trap`() throws {
        var line = LedgerEntry(kind: .exchanges, at: UTCTime(nanoseconds: 0))
        line.epoch = Self.westClock
        line.peerEpoch = Self.eastClock
        line.collectorZeroNanoseconds = .min
        line.exchanges = [[.max, .min, .max, .min], [1, 2], [], [.min, .max, .max, .max]]
        let course = SiteClocks(Self.lines(from: 0, to: 1).east).course(of: SiteClocks([line]))
        #expect(course == nil)
        line.exchanges?.append([0, 1 << 60, 1 << 60, 5])
        let shift = SiteClocks(Self.lines(from: 0, to: 1).east).course(of: SiteClocks([line]))
            .map(SessionShift.init)
        for time in [Int64.min, -1, 0, 1, .max] { _ = shift?.at(time) }
        _ = shift.map { TimeCorrection($0, from: .max, length: 1) }
        _ = shift.map { TimeCorrection($0, from: .min, length: .max) }
    }
}
