import Archive
import Foundation
import MP4
import Media
import TestRecordings
import Timing

/// A finished session whose server rebooted while agents kept recording: each boot has another collector clock, placed
/// on the timeline with a known error. Pictures only, ten a second, in segments of ten seconds.
final class RebootedRecording {
    static let name = "2026-11-20T22-40-00.000Z"
    static let second: Int64 = 1_000_000_000
    static let zero = UTCTime(nanoseconds: 1_795_214_400_000_000_000)

    /// A box.
    struct Box {
        var name: String
        /// The boots in which the box's clock restarts.
        var restarts: Set<Int> = []
    }

    private static let format = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))

    let temporary = TemporaryDirectory()
    var layout: ArchiveLayout { ArchiveLayout(root: temporary.path) }
    private let boxes: [Box]
    /// The delay of the recorded times, by boot.
    private let errors: [Int64]
    /// The bound of the error, as recorded.
    private let boundNanoseconds: [UInt64]

    /// - Parameters:
    ///   - errors: the delay of the recorded times in each boot.
    ///   - steps: whether times step by each error in the middle of a file, as in early versions.
    init(
        _ boxes: [Box], errors: [Int64], bounds: [UInt64], steps: Bool = false
    ) throws {
        self.boxes = boxes
        self.errors = errors
        boundNanoseconds = bounds
        var manifest = SessionManifest(
            session: Self.name, zero: Self.zero,
            zeroMonotonicNanoseconds: Self.collectorZero(errors.count - 1), startAt: .firstSample,
            startWindowNanoseconds: 0, segmentNanoseconds: 10 * Self.second, software: "test")
        manifest.state = .finished
        for box in boxes {
            try FileManager.default.createDirectory(
                atPath: layout.source(Self.name, box.name), withIntermediateDirectories: true)
            for boot in errors.indices { try write(box, boot, steps: steps) }
        }
        try FileSystem.replace(layout.manifest(Self.name), with: manifest.encoded())
    }

    /// The true session zero on a boot's clock.
    private static func collectorZero(_ boot: Int) -> Int64 {
        boot == 0 ? 7_000 * second : -Int64(boot) * 20 * second
    }

    /// A boot of the server lasts ten seconds, and ten more pass until the next.
    static func begin(_ boot: Int) -> Int64 { Int64(boot) * 20 * second }

    /// The agent's clock: 80 ppm off.
    static func stamp(_ session: Int64, restarts: Int) -> Int64 {
        session - session / 12_500 + (restarts == 0 ? 90_000 * second : 100 * second)
    }

    private static func exchange(_ session: Int64, _ boot: Int, restarts: Int) -> ClockExchange {
        let collector = session + collectorZero(boot)
        return ClockExchange(
            t1Nanoseconds: stamp(session - 30_000, restarts: restarts), t2Nanoseconds: collector,
            t3Nanoseconds: collector + 5_000,
            t4Nanoseconds: stamp(session + 35_000, restarts: restarts))
    }

    static func epoch(_ box: Box, _ boot: Int) -> (EpochID, restarts: Int) {
        let restarts = box.restarts.count { $0 <= boot }
        let byte = UInt8(truncatingIfNeeded: box.name.utf8.reduce(0) { $0 &+ Int($1) })
        return (EpochID(high: UInt64(byte), low: UInt64(restarts)), restarts)
    }

    private func write(_ box: Box, _ boot: Int, steps: Bool) throws {
        let begin = Self.begin(boot)
        // The file begins where the pictures were placed: on the grid, or later.
        let origin = begin + (steps ? 0 : errors[boot])
        let format = Self.format
        let writer = try SegmentWriter(
            path: layout.segment(
                Self.name, box.name, origin: UTCTime(nanoseconds: Self.zero.nanoseconds + origin)),
            plan: SegmentPlan(
                originNanoseconds: origin,
                tracks: [
                    .init(format: format, originTicks: origin / 100_000 * 9, shiftTicks: 0)
                ]), sessionZero: Self.zero)
        let (epoch, restarts) = Self.epoch(box, boot)
        // The zero that identifies the clock is the assumed one.
        let collectorZero = Self.collectorZero(boot) - (boot == 0 ? 0 : errors[boot])
        for index in 0..<10 as Range<Int64> {
            var samples: [PlannedSample] = []
            var bytes: [UInt8] = []
            for picture in index * 10..<(index + 1) * 10 {
                let session = begin + picture * Self.second / 10
                let stamp = Self.stamp(session, restarts: restarts)
                let placed = session + (steps && picture < 50 ? 0 : errors[boot])
                let ticks = placed / 100_000 * 9
                bytes += [0, 0, 0, 3, picture % 10 == 0 ? 0x65 : 0x41, UInt8(picture), 7]
                samples.append(
                    PlannedSample(
                        sizeBytes: 7, dts: ticks, pts: ticks, duration: 9_000,
                        flags: picture % 10 == 0 ? .keyframe : [], agentDTSNanoseconds: stamp,
                        appliedOffsetNanoseconds: placed - stamp + collectorZero))
            }
            var context = FragmentContext(
                spool: SpoolID(high: 1, low: UInt64(restarts)), epoch: epoch,
                clock: FragmentRecord.Clock(
                    offsetNanoseconds: samples[0].appliedOffsetNanoseconds,
                    boundNanoseconds: boundNanoseconds[boot], skewPartsPerBillion: 80_000),
                collectorZeroNanoseconds: collectorZero)
            let second = begin + index * Self.second
            for part in 0..<4 as Range<Int64> {
                context.exchanges.append(
                    Self.exchange(second + part * Self.second / 4, boot, restarts: restarts))
            }
            let number = UInt64(boot * 100) + UInt64(index) * 10 + 1
            let payload = ArrayPayload(bytes)
            var pieces: [PlannedPiece] = []
            for (place, sample) in samples.enumerated() {
                let range = place * 7..<place * 7 + 7
                let run = PlannedRun(
                    track: .video, firstSequence: number + UInt64(place), samples: [sample])
                pieces.append(
                    PlannedPiece(
                        payload: payload, range: range, digest: Digest(of: Array(bytes[range])),
                        runs: [run]))
            }
            try writer.append(FragmentPlan(context: context, pieces: pieces))
        }
        try writer.finish()
    }

    func paths(_ source: String) throws -> [String] {
        try layout.segmentPaths(Self.name, source)
    }

    func bytes(_ source: String) throws -> [[UInt8]] {
        try paths(source).map { try FileSystem.read($0, limit: 1 << 24) }
    }

    /// Session times of a source's pictures by their files' indices, by boot.
    func times(_ source: String) throws -> [[Int64]] {
        try paths(source).map { path in
            let bytes = try FileSystem.read(path, limit: 1 << 24)
            let origin = try DescriptorSource.withFile(path) { source in
                var scanner = try FragmentScanner(source)
                let box = try scanner.next()?.userBoxes.first
                return try FragmentRecord(parsing: box?.payload ?? []).segmentOriginNanoseconds
            }
            return try WrittenSession.times(bytes, .video).map { $0 + origin }
        }
    }

    /// Capture times of a boot's pictures, session time.
    static func truth(_ boot: Int) -> [Int64] {
        (0..<100).map { begin(boot) + $0 * second / 10 }
    }
}
