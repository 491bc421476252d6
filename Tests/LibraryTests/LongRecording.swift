import Archive
import Library
import Media
import MP4
import Recordings
import TestRecordings

/// A finished session of one source in one file: a large picture every second, each in its own fragment.
struct LongRecording {
    static let session = "long"
    static let pictureBytes = 60_000

    let directory = TemporaryDirectory()
    var layout: ArchiveLayout { ArchiveLayout(root: directory.path) }

    /// - Parameters:
    ///   - seconds: pictures.
    ///   - keyframeEvery: pictures from one keyframe to the next.
    ///   - beginsWithSound: whether its first fragment has a packet of sound alone.
    init(seconds: Int, keyframeEvery: Int = 1, beginsWithSound: Bool = false) throws {
        try FileSystem.makeDirectories(layout.source(Self.session, "camera"))
        var manifest = SessionManifest(
            session: Self.session, zero: SmallArchive.zero, zeroMonotonicNanoseconds: 0,
            startAt: .firstSample, startWindowNanoseconds: 0,
            segmentNanoseconds: Int64(seconds) * 1_000_000_000, software: "test")
        manifest.state = .finished
        try FileSystem.replace(layout.manifest(Self.session), with: manifest.encoded())
        let format = VideoFormat.h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16)
        var tracks: [SegmentPlan.Track] = [
            .init(format: .video(format), originTicks: 0, shiftTicks: 0)
        ]
        if beginsWithSound {
            let format = AudioFormat.aac(
                configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)
            tracks.append(.init(format: .audio(format), originTicks: 0, shiftTicks: 0))
        }
        let writer = try SegmentWriter(
            path: layout.segment(Self.session, "camera", origin: SmallArchive.zero),
            plan: SegmentPlan(
                originNanoseconds: 0, tracks: tracks), sessionZero: SmallArchive.zero)
        if beginsWithSound {
            let packet = PlannedSample(
                sizeBytes: 4, dts: 0, pts: 0, duration: 1_024, flags: .keyframe,
                agentDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
            try writer.append(Self.fragment(of: .audio, [1, 2, 3, 4], packet, sequence: 1))
        }
        for second in 0..<seconds {
            try writer.append(
                Self.fragment(
                    second, isKeyframe: second % keyframeEvery == 0,
                    sequence: UInt64(second + (beginsWithSound ? 2 : 1))))
        }
        try writer.finish()
    }

    private static func fragment(
        _ second: Int, isKeyframe: Bool, sequence: UInt64
    ) -> FragmentPlan {
        let length = UInt32(pictureBytes - 4)
        let bytes =
            (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }
            + [isKeyframe ? 0x65 : 0x41]
            + [UInt8](repeating: UInt8(truncatingIfNeeded: second), count: Int(length) - 1)
        let sample = PlannedSample(
            sizeBytes: UInt32(pictureBytes), dts: Int64(second) * 90_000,
            pts: Int64(second) * 90_000,
            duration: 90_000, flags: isKeyframe ? .keyframe : [],
            agentDTSNanoseconds: Int64(second) * 1_000_000_000, appliedOffsetNanoseconds: 0)
        return fragment(of: .video, bytes, sample, sequence: sequence)
    }

    private static func fragment(
        of track: TrackKind, _ bytes: [UInt8], _ sample: PlannedSample, sequence: UInt64
    ) -> FragmentPlan {
        FragmentPlan(
            context: FragmentContext(
                spool: SmallArchive.spool, epoch: EpochID(high: 2, low: 2),
                clock: FragmentRecord.Clock(
                    offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
                collectorZeroNanoseconds: 0),
            pieces: [
                PlannedPiece(
                    payload: ArrayPayload(bytes), range: 0..<bytes.count, digest: Digest(of: bytes),
                    runs: [
                        PlannedRun(
                            track: track, firstSequence: sequence, samples: [sample])
                    ])
            ])
    }
}
