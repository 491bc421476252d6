import Media

@testable import Wire

/// Reproducible random numbers from a seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Values with valid fields.
enum Fixtures {
    static let second: Int64 = 1_000_000_000

    /// 1280×720, High, level 3.1.
    static let video = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [
                    0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00,
                    0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
                ]
            ],
            pictureParameterSets: [[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0]], width: 1280,
            height: 720))
    /// AAC-LC, 48 kHz, stereo.
    static let audio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
    /// AAC-LC, 44.1 kHz, stereo.
    static let otherAudio = TrackFormat.audio(
        .aac(configuration: [0x12, 0x10], sampleRate: 44_100, channels: 2))

    static func identity<ID: RandomIdentity>(_ number: UInt8) -> ID {
        ID([UInt8](repeating: number, count: 16)) ?? .random()
    }

    static let epoch = Epoch(number: 1, identity: identity(0xE0))
    /// The owner of clocks in ``hello(spool:agent:sources:firstSequence:)`` from the harness' first peer, without keys.
    static let clockOwner = ClockOwner(owner: "10.0.0.1", spool: identity(1))

    static func hello(
        spool: UInt8 = 1, agent: String = "box7", sources: [String] = ["camera1"],
        firstSequence: UInt64 = 1, tracks: [TrackFormat] = [video, audio]
    ) -> Hello {
        Hello(
            software: "tributary-agent 1.0", agent: agent, spool: identity(spool),
            epochs: [epoch],
            sources: sources.map {
                SourceOffer(name: $0, tracks: tracks, firstSequence: firstSequence)
            })
    }

    /// A run of samples 33 ms apart.
    static func run(
        _ track: TrackKind = .video, sizes: [UInt32] = [5_000, 700, 800], isKeyframe: Bool = true,
        dts: Int64 = 10 * second
    ) -> SampleRun {
        let others = [SampleFlags](repeating: track == .audio ? .keyframe : [], count: sizes.count)
        return SampleRun(
            track: track, sizes: sizes,
            dtsNanoseconds: sizes.indices.map { dts + Int64($0) * 33_333_333 },
            ptsOffsetsNanoseconds: [], durationsNanoseconds: [33_333_333],
            flags: isKeyframe ? [.keyframe] + others.dropFirst() : others)
    }

    /// A run of a network camera, whose timestamps and sequence numbers wrap.
    static var cameraRun: SampleRun {
        var run = run()
        run.camera = CameraStamps(
            clockRate: 90_000,
            stamps: run.dtsNanoseconds.enumerated().map { place, dts -> CameraStamp in
                let index = Int64(place)
                return CameraStamp(
                    timestamp: (UInt32.max - 1_000) &+ UInt32(place) * 3_000,
                    arrivalNanoseconds: dts + 5_000_000 - index,
                    arrivalSpanNanoseconds: index * 1_000, firstPacket: 65_530 + index * 7,
                    packets: UInt32(place) + 1)
            },
            reports: [
                CameraReport(
                    source: .max, ntp: .max, timestamp: .max, arrivalNanoseconds: second),
                CameraReport(source: 0, ntp: 0, timestamp: 0, arrivalNanoseconds: 0),
            ])
        return run
    }

    static func samples(
        first: UInt64 = 1, source: Int = 0, runs: [SampleRun] = [run()]
    ) -> Samples {
        Samples(
            source: source, firstSequence: first, epoch: 1,
            payloadDigest: [UInt8](repeating: 0xAB, count: 32), runs: runs)
    }

    static func gap(
        _ sequences: ClosedRange<UInt64> = 4...6, cause: GapCause = .driverDrop
    ) -> GapRecord {
        GapRecord(
            source: 0, sequences: sequences, track: .video, cause: cause, epoch: 1,
            startNanoseconds: 11 * second, durationNanoseconds: second / 10, samples: 3,
            text: "the camera dropped 3 pictures")
    }

    static func exchange(_ number: Int64 = 0) -> ReportedExchange {
        ReportedExchange(
            t1: number * second, t2: number * second + 500, t3: number * second + 600,
            t4: number * second + 900, epoch: 1)
    }
}
