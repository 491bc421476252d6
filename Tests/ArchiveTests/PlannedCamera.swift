import Archive
import Media
import TestRecordings
import Testing

/// A camera at 10 pictures a second with a keyframe every `keyframeEvery` pictures, and 48 kHz sound, in batches of 100 ms.
struct PlannedCamera {
    static let formats: [TrackFormat] = [
        .video(
            .h264(
                sequenceParameterSets: [[0x67]], pictureParameterSets: [[0x68]], width: 16,
                height: 16)),
        .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
    ]
    static let otherPicture = TrackFormat.video(
        .h264(
            sequenceParameterSets: [[0x67, 9]], pictureParameterSets: [[0x68]], width: 32,
            height: 32))
    static let otherAudio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x88], sampleRate: 48_000, channels: 1))
    static let context = FragmentContext(
        spool: SpoolID(high: 1, low: 1), epoch: EpochID(high: UInt64(2), low: 0),
        clock: FragmentRecord.Clock(
            offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
        collectorZeroNanoseconds: 0)

    var keyframeEvery = 10
    /// Delay of sound in batches of 100 ms (negative: pictures are late).
    var soundLagMilliseconds: Int64 = 0
    /// Bytes of a packet; distinguishes sound in the other format.
    var soundBytes: UInt32 = 4
    private(set) var sequence: UInt64 = 1
    private var nextAudioPacket: Int64?

    init(
        keyframeEvery: Int = 10, soundLagMilliseconds: Int64 = 0, firstAudioPacket: Int64? = nil
    ) {
        self.keyframeEvery = keyframeEvery
        nextAudioPacket = firstAudioPacket
        self.soundLagMilliseconds = soundLagMilliseconds
    }

    /// Sound continues with the packet at this time.
    mutating func skip(untilMilliseconds time: Int64) { nextAudioPacket = time * 48 / 1024 }

    /// Batch number `index`: one picture at index × 100 ms, and the sound that has arrived until then.
    mutating func batch(_ index: Int) -> PlannedPiece {
        let pictureTime = Int64(index) * 9_000
        let picture = PlannedSample(
            sizeBytes: 10, dts: pictureTime, pts: pictureTime, duration: 9_000,
            flags: index % keyframeEvery == 0 ? .keyframe : [],
            agentDTSNanoseconds: Int64(index) * 100_000_000, appliedOffsetNanoseconds: 0)
        var runs = [PlannedRun(track: .video, firstSequence: sequence, samples: [picture])]
        sequence += 1
        var soundPackets = nextAudioPacket ?? Int64(index) * 4_800 / 1024
        let until = (Int64(index + 1) * 100 - soundLagMilliseconds) * 48
        var packets: [PlannedSample] = []
        while (soundPackets + 1) * 1024 <= until {
            packets.append(
                PlannedSample(
                    sizeBytes: soundBytes, dts: soundPackets * 1024, pts: soundPackets * 1024,
                    duration: 1024, flags: soundPackets < 0 ? .priming : .keyframe,
                    agentDTSNanoseconds: 0,
                    appliedOffsetNanoseconds: 0))
            soundPackets += 1
        }
        nextAudioPacket = soundPackets
        if !packets.isEmpty {
            runs.append(PlannedRun(track: .audio, firstSequence: sequence, samples: packets))
            sequence += UInt64(packets.count)
        }
        return PlannedPiece(runs)
    }
}

extension PlannedPiece {
    /// A message for each track, sound first.
    var byTrack: [PlannedPiece] {
        runs.sorted { $0.track == .audio && $1.track != .audio }.map { PlannedPiece([$0]) }
    }

    /// A message of zeros.
    init(_ runs: [PlannedRun]) {
        let size = runs.reduce(0) { $0 + $1.sizeBytes }
        self.init(
            payload: ArrayPayload([UInt8](repeating: 0, count: size)), range: 0..<size,
            digest: .zero, runs: runs)
    }
}

/// A segmenter's plans, by file.
struct PlannedFiles {
    var plans: [Int: SegmentPlan] = [:]
    var fragments: [Int: [FragmentPlan]] = [:]
    var finished: [Int] = []

    mutating func apply(_ actions: [Segmenter.Action]) {
        for action in actions {
            switch action {
            case .open(let segment, let plan):
                #expect(plans[segment] == nil, "a file is opened once")
                plans[segment] = plan
            case .append(let segment, let fragment):
                #expect(plans[segment] != nil, "a file is opened before it is written")
                #expect(!finished.contains(segment), "nothing comes after the end")
                for run in fragment.pieces.flatMap(\.runs) {
                    let track = plans[segment]?.tracks.first { $0.format.kind == run.track }
                    let start = track.map { $0.originTicks - $0.shiftTicks } ?? .max
                    #expect(
                        run.samples.allSatisfy { $0.dts >= start }, "no decoding time is negative")
                    // A run stores its first decoding time and the differences of the others.
                    #expect(
                        zip(run.samples, run.samples.dropFirst()).allSatisfy {
                            $0.duration == $1.dts - $0.dts
                        }, "each lasts until the next one")
                }
                fragments[segment, default: []].append(fragment)
            case .finish(let segment):
                #expect(!finished.contains(segment))
                finished.append(segment)
            }
        }
    }

    func samples(_ segment: Int, _ track: TrackKind) -> [PlannedSample] {
        (fragments[segment] ?? []).flatMap(\.pieces).flatMap(\.runs)
            .filter { $0.track == track }.flatMap(\.samples)
    }

    /// An edit list hides only samples needed for decoding, and a file describes one format.
    func expectNothingHidden() {
        for (segment, plan) in plans {
            for track in plan.tracks {
                let samples = samples(segment, track.format.kind)
                let early = samples.filter {
                    $0.pts < track.originTicks && !$0.flags.contains(.priming)
                }
                #expect(early.isEmpty, "file \(segment) hides \(track.format.kind)")
                if track.format.kind == .audio {
                    let sizeBytes = UInt32(track.format == PlannedCamera.otherAudio ? 5 : 4)
                    #expect(
                        samples.allSatisfy { $0.sizeBytes == sizeBytes },
                        "file \(segment) has sound in another format")
                }
            }
        }
    }

    var sequences: [UInt64] {
        fragments.values.joined().flatMap(\.sequences).flatMap(Array.init).sorted()
    }
}
