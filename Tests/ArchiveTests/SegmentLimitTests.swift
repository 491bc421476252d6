import Archive
import Foundation
import Media
import MP4
import TestRecordings
import Testing

/// Writes a segmenter's plans into files.
private final class Recorder {
    let archive = SmallArchive()
    let session = "2026-09-21T12-26-40.000Z"
    private var segmenter: Segmenter
    private var writers: [Int: SegmentWriter] = [:]
    private(set) var fragments: [FragmentPlan] = []
    private(set) var plans: [SegmentPlan] = []
    private var sequence: UInt64 = 1
    private var now: Int64 = 0

    static let video = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    static let audio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
    private static let context = FragmentContext(
        spool: SmallArchive.spool, epoch: EpochID(high: 1, low: 1),
        clock: .init(offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
        collectorZeroNanoseconds: 0)

    init(
        segmentSeconds: Int64, formats: [TrackFormat],
        resuming: Segmenter.Resumption? = nil
    ) throws {
        let settings = SegmenterSettings(segmentNanoseconds: segmentSeconds * 1_000_000_000)
        segmenter =
            resuming.map { Segmenter(settings: settings, formats: formats, resuming: $0) }
            ?? Segmenter(settings: settings, formats: formats)
        try archive.addSession(session, segments: 0)
        try archive.append([], session: session)
    }

    /// One message: pictures and packets that begin at these ticks of their tracks.
    func add(
        pictures: [Int64] = [], packets: [Int64] = [], keyframes: Bool = true, at now: Int64? = nil
    ) throws {
        self.now = now ?? self.now + 1_000_000
        var runs: [PlannedRun] = []
        for (track, ticks) in [(TrackKind.video, pictures), (.audio, packets)] where !ticks.isEmpty
        {
            runs.append(
                PlannedRun(
                    track: track, firstSequence: sequence,
                    samples: ticks.enumerated().map { index, dts in
                        PlannedSample(
                            sizeBytes: track == .video ? 6 : 4, dts: dts, pts: dts,
                            duration: track == .video ? 3_000 : 1_024,
                            flags: track == .audio || keyframes && index == 0 ? .keyframe : [],
                            agentDTSNanoseconds: dts, appliedOffsetNanoseconds: 0)
                    }))
            sequence += UInt64(ticks.count)
        }
        let bytes =
            pictures.flatMap { _ in [0, 0, 0, 2, 0x65, 0x88] as [UInt8] }
            + packets.flatMap { _ in [0x21, 1, 2, 3] as [UInt8] }
        let piece = PlannedPiece(
            payload: ArrayPayload(bytes), range: 0..<bytes.count, digest: Digest(of: bytes),
            runs: runs)
        try apply(segmenter.tick(now: self.now))
        try apply(segmenter.add(piece, context: Self.context, now: self.now))
    }

    func end() throws { try apply(segmenter.end()) }

    private func apply(_ actions: [Segmenter.Action]) throws {
        for action in actions {
            switch action {
            case .open(let number, let plan):
                plans.append(plan)
                let origin = SmallArchive.zero.nanoseconds + plan.originNanoseconds
                writers[number] = try SegmentWriter(
                    path: archive.layout.segment(
                        session, "camera", origin: UTCTime(nanoseconds: origin)),
                    plan: plan, sessionZero: SmallArchive.zero)
            case .append(let number, let fragment):
                fragments.append(fragment)
                try writers[number]?.append(fragment)
            case .finish(let number): try writers[number]?.finish()
            }
        }
    }

    /// Checks that every file is final, that all samples are in them once, and that FFmpeg reads them where it is installed.
    func expectEverything() throws {
        let report = try SessionVerifier.verify(session, in: archive.layout)
        #expect(report.allFindings.filter { $0.severity == .damage } == [])
        #expect(report.sources.first?.recordedSamples == sequence - 1)
        for file in report.sources.flatMap(\.files) {
            #expect(file.state == .finished, "\(file.path)")
            // The timecode track has one more.
            if let packets = try packets(file.path).map({ $0 - 1 }) {
                #expect(packets == file.tracks.reduce(0) { $0 + $1.samples }, "\(file.path)")
            }
        }
    }

    /// Packets that FFmpeg finds in a file; nil where it is not installed.
    private func packets(_ path: String) throws -> Int? {
        let program = "/usr/bin/ffprobe"
        guard FileManager.default.isExecutableFile(atPath: program) else { return nil }
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "-v", "quiet", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of",
            "csv=p=0", path,
        ]
        let output = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return 0 }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
            .reduce(0) { $0 + (Int($1) ?? 0) }
    }
}

@Suite struct SegmentLimitTests {
    /// Ticks of fourteen hours.
    private static let away: (video: Int64, audio: Int64) = (
        14 * 3_600 * 90_000, 14 * 3_600 * 48_000
    )

    @Test func `a pause longer than the largest duration begins a file`() throws {
        let recorder = try Recorder(segmentSeconds: 86_400, formats: [Recorder.video])
        try recorder.add(pictures: [0, 3_000])
        try recorder.add(pictures: [6_000, 9_000])
        try recorder.add(pictures: [9_000 + Self.away.video, 12_000 + Self.away.video])
        try recorder.add(pictures: [15_000 + Self.away.video])
        try recorder.end()
        #expect(recorder.plans.count == 2)
        try recorder.expectEverything()
    }

    @Test func `a pause of pictures alone begins a file, too`() throws {
        let recorder = try Recorder(
            segmentSeconds: 86_400, formats: [Recorder.video, Recorder.audio])
        try recorder.add(pictures: [0, 3_000], packets: [0, 1_024])
        // Sound continues, with an hour between two packets.
        for hour in 1..<14 as Range<Int64> {
            let start = hour * 3_600 * 48_000
            try recorder.add(packets: [start, start + 1_024])
        }
        try recorder.add(
            pictures: [Self.away.video, Self.away.video + 3_000],
            packets: [Self.away.audio, Self.away.audio + 1_024])
        try recorder.end()
        try recorder.expectEverything()
    }

    @Test func `sound that was away waits for a picture from which decoding can start`() throws {
        let recorder = try Recorder(
            segmentSeconds: 86_400 * 2, formats: [Recorder.video, Recorder.audio])
        try recorder.add(pictures: [0, 3_000], packets: [0, 1_024])
        // Pictures continue, and 25 hours of sound are missing.
        for hour in 1..<25 as Range<Int64> {
            try recorder.add(pictures: [hour * 3_600 * 90_000])
        }
        let (video, audio) = (25 * 3_600 * 90_000 as Int64, 25 * 3_600 * 48_000 as Int64)
        try recorder.add(pictures: [video, video + 3_000])
        try recorder.add(
            pictures: [video + 6_000], packets: [audio, audio + 1_024], keyframes: false)
        try recorder.add(pictures: [video + 9_000], packets: [audio + 2_048])
        try recorder.end()
        #expect(recorder.plans.map(\.originNanoseconds) == [0, 90_000_000_000_000])
        try recorder.expectEverything()
    }

    @Test func `a pause within one message begins a file`() throws {
        let recorder = try Recorder(segmentSeconds: 86_400 * 9, formats: [Recorder.video])
        try recorder.add(pictures: (0..<8).map { $0 * Self.away.video }, keyframes: false)
        try recorder.end()
        #expect(recorder.plans.count == 8)
        try recorder.expectEverything()
    }

    @Test func `a file that was resumed is not continued after a long pause`() throws {
        let track = SegmentPlan.Track(format: Recorder.video, originTicks: 0, shiftTicks: 0)
        let recorder = try Recorder(
            segmentSeconds: 86_400, formats: [Recorder.video],
            resuming: .init(
                usedOrigins: [0],
                open: SegmentPlan(originNanoseconds: 0, tracks: [track]),
                ends: [.video: TrackEnd(dtsTicks: 9_000, durationTicks: 3_000)]))
        try recorder.add(pictures: [9_000 + Self.away.video, 12_000 + Self.away.video])
        try recorder.end()
        #expect(recorder.plans.map(\.originNanoseconds) == [50_400_100_000_000])
        try recorder.expectEverything()
    }

    @Test func `tracks that are a session's maximum apart are recorded in valid files`() throws {
        let fast = TrackFormat.audio(
            .aac(configuration: [0x11, 0x90], sampleRate: 768_000, channels: 2))
        let recorder = try Recorder(segmentSeconds: 600, formats: [Recorder.video, fast])
        let reach: Int64 = (1 << 30) - 1
        try recorder.add(pictures: [reach * 90_000], packets: [-reach * 768_000])
        try recorder.add(pictures: [reach * 90_000 + 3_000], packets: [-reach * 768_000 + 1_024])
        try recorder.end()
        let report = try SessionVerifier.verify(recorder.session, in: recorder.archive.layout)
        #expect(report.allFindings.filter { $0.severity == .damage } == [])
        #expect(report.sources.first?.recordedSamples == 4)
    }

    @Test func `a fragment has no more samples than readers take`() throws {
        // Sound of so fine a timescale that a second of it is longer than a fragment may be.
        let fast = TrackFormat.audio(
            .aac(configuration: [0x11, 0x90], sampleRate: 768_000, channels: 2))
        let recorder = try Recorder(segmentSeconds: 600, formats: [fast])
        let each = 4_096
        // One message more than a fragment holds.
        for message in 0..<65 {
            let first = Int64(message * each)
            try recorder.add(packets: (0..<each).map { first + Int64($0) }, at: 0)
        }
        try recorder.end()
        let counts = recorder.fragments.map { $0.sequences.map(\.count).reduce(0, +) }
        #expect(counts.reduce(0, +) == 65 * each)
        #expect(counts.allSatisfy { $0 <= 1 << 18 }, "\(counts)")
        let report = try SessionVerifier.verify(recorder.session, in: recorder.archive.layout)
        #expect(report.sources.first?.files.map(\.state) == [.finished])
        #expect(report.sources.first?.recordedSamples == UInt64(65 * each))
    }

    @Test func `a fragment has no more messages than its record can count`() throws {
        let recorder = try Recorder(segmentSeconds: 600, formats: [Recorder.video])
        for message in 0..<70_000 {
            try recorder.add(pictures: [Int64(message)], keyframes: message == 0, at: 0)
        }
        try recorder.end()
        #expect(recorder.fragments.allSatisfy { $0.pieces.count <= 65_535 })
        let report = try SessionVerifier.verify(recorder.session, in: recorder.archive.layout)
        #expect(report.sources.first?.recordedSamples == 70_000)
        #expect(report.sources.first?.files.map(\.state) == [.finished])
    }
}
