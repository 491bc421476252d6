import Archive
import Foundation
import MP4
import Media
import TestRecordings
import Timing

@testable import RTSP

/// A finished session of one network camera, received as an agent does. Capture times and arrivals are known.
///
/// Times of the plan are true session times, in nanoseconds. The agent's clock runs 80 ppm fast. Pictures only, 25 a second.
final class CameraRecording {
    /// Behaviour of the camera and the network from a given time on.
    enum Event: Hashable, Sendable {
        /// The timestamps begin anew, with a new connection.
        case reset
        /// The camera's clock is set by this much.
        case step(Int64)
        /// The network delivers nothing for this long, and everything then.
        case stall(Int64)
        /// The camera pauses for this long, and its timestamps do not advance.
        case pause(Int64)
        /// The shortest delay grows by this much.
        case slower(Int64)
        /// One arrival is stored as earlier by this much.
        case wrongArrival(Int64)
    }

    struct Plan: Sendable {
        var seed: UInt64
        var seconds = 60
        /// Timestamps of the camera run at this rate, ppm more than stated.
        var ratePPM: Int64 = 0
        /// Packets of a thousand that are lost.
        var lossPerMille: UInt64 = 0
        /// The first timestamp.
        var firstStamp: UInt32 = 4_000
        var events: [Int: Event] = [:]
        /// The least delay of a packet.
        var leastDelay: Int64 = 20_000_000
        /// Maximum additional delay.
        var jitter: Int64 = 30_000_000
        /// Ticks of 1/90000 s by which a timestamp is counted for each tick of the clock, in thousandths.
        var countPerMille: Int64 = 1_000
        /// The agent's option `--delay`.
        var subtracted: Int64 = 0
        /// The recorded error of the agent's clock, and its bound.
        var clockError: Int64 = 300_000
        var clockBound: UInt64 = 1_000_000
        var sound = Sound.none
    }

    enum Sound: Sendable {
        case none
        /// AAC of the camera, with its timestamps.
        case stamped
        /// Encoded by the agent.
        case encoded
    }

    /// A recorded picture, or a packet of sound.
    struct Sample {
        var captured: Int64
        /// The network's least delay until then.
        var leastDelay: Int64
        var arrival: Int64
        /// By the agent's clock.
        var agent: Int64
        var stamp: CameraStamp
        var isKeyframe: Bool
        /// Recorded session time, ticks of its track.
        var ticks: Int64 = 0
    }

    static let name = "2026-11-20T22-40-00.000Z"
    static let second: Int64 = 1_000_000_000
    static let segment = 20 * second
    private static let interval: Int64 = 40_000_000
    private static let zero = UTCTime(nanoseconds: 1_795_214_400_000_000_000)
    /// The agent's clock at the session's zero, and the collector's.
    private static let agentZero: Int64 = 90_000 * second
    private static let collectorZero: Int64 = 7_000 * second
    private static let format = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    private static let sound = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))

    let temporary = TemporaryDirectory()
    var layout: ArchiveLayout { ArchiveLayout(root: temporary.path) }
    let plan: Plan
    private(set) var pictures: [Sample] = []
    private(set) var packets: [Sample] = []
    /// The true session time of the recording's zero: the first picture's time.
    private var start: Int64 = 0
    private var sequence: UInt64 = 1
    private var soundWritten = 0

    init(_ plan: Plan) throws {
        self.plan = plan
        receive()
        if plan.sound != .none { receiveSound() }
        try write()
    }

    // MARK: Clocks

    /// The agent's clock at a true time.
    private static func agent(_ time: Int64) -> Int64 { agentZero + time + time / 12_500 }

    private static func time(agent: Int64) -> Int64 {
        let passed = agent - agentZero
        var time = passed
        for _ in 0..<4 { time = passed - time / 12_500 }
        return time
    }

    /// The recording's session time of the true time.
    private func session(_ time: Int64) -> Int64 { time - start }

    // MARK: The camera

    private func receive() {
        var random = Random(state: plan.seed)
        var times = UnitTimes(clockRate: 90_000, delayNanoseconds: plan.subtracted)
        var waiting: [Int64: (captured: Int64, least: Int64, arrival: Int64, isKeyframe: Bool)] =
            [:]
        var number: Int64 = 700
        var lastArrival = Int64.min
        // Captured so much later than the plan's regular interval.
        var pauses: Int64 = 0
        var offset: Int64 = 0
        var least = plan.leastDelay
        var blockedUntil = Int64.min
        var wrong: Int64 = 0
        func take(_ items: [UnitTimes.Item]) {
            for case .unit(let timed) in items {
                guard let known = waiting[timed.unit.firstNumber] else { continue }
                pictures.append(
                    Sample(
                        captured: known.captured, leastDelay: known.least,
                        arrival: known.arrival,
                        agent: timed.dtsNanoseconds,
                        stamp: CameraStamp(
                            timestamp: timed.unit.timestamp,
                            arrivalNanoseconds: timed.unit.firstArrivalNanoseconds,
                            arrivalSpanNanoseconds: 0, firstPacket: timed.unit.firstNumber,
                            packets: 2), isKeyframe: known.isKeyframe))
            }
        }
        for index in 0..<plan.seconds * 25 {
            var captured = 3 * Self.second + Int64(index) * Self.interval + pauses
            if index % 25 == 13, let event = plan.events[index / 25] {
                switch event {
                case .reset:
                    offset += 77_000 * Self.second
                    number = 40
                    take(times.flush())
                    times = UnitTimes(clockRate: 90_000, delayNanoseconds: plan.subtracted)
                case .step(let size): offset += size
                case .stall(let duration): blockedUntil = captured + duration
                case .pause(let duration):
                    pauses += duration
                    offset -= duration
                    captured += duration
                case .slower(let more): least += more
                case .wrongArrival(let size): wrong = size
                }
            }
            let media = captured + offset + captured / 1_000_000 * plan.ratePPM
            let counted = Int128(media) * 90_000 / 1_000_000_000 * Int128(plan.countPerMille)
            let stamp =
                plan.firstStamp &+ UInt32(truncatingIfNeeded: Int64(counted / 1_000))
            let unitNumber = number
            number += 2
            // An exponential distribution, roughly.
            let parts = (random.next() % 1_000, random.next() % 1_000)
            let delay = least + plan.jitter * Int64(parts.0 * parts.1) / 1_000_000
            let isLost = random.next() % 1_000 < plan.lossPerMille
            guard !isLost || index % 25 == 0 else { continue }
            let arrival = max(Self.agent(max(captured + delay, blockedUntil)), lastArrival)
            lastArrival = arrival
            defer { wrong = 0 }
            let unit = AccessUnit(
                timestamp: stamp, firstNumber: unitNumber, lastNumber: unitNumber + 1,
                firstArrivalNanoseconds: arrival - wrong, lastArrivalNanoseconds: arrival - wrong,
                data: [1])
            waiting[unitNumber] = (
                captured, min(least, plan.leastDelay), Self.time(agent: arrival), index % 25 == 0
            )
            take(times.add(.unit(unit), now: arrival))
        }
        take(times.flush())
    }

    /// Packets of 1024 samples at 48 kHz, each in a packet of the network.
    private func receiveSound() {
        var random = Random(state: plan.seed ^ 0xABCD)
        var times = UnitTimes(
            clockRate: 48_000, usualDuration: 21_333_333, delayNanoseconds: plan.subtracted)
        var captures: [Int64: Int64] = [:]
        var lastArrival = Int64.min
        func take(_ items: [UnitTimes.Item]) {
            for case .unit(let timed) in items {
                packets.append(
                    Sample(
                        captured: captures[timed.unit.firstNumber] ?? 0,
                        leastDelay: plan.leastDelay,
                        arrival: Self.time(agent: timed.unit.firstArrivalNanoseconds),
                        agent: timed.dtsNanoseconds,
                        stamp: CameraStamp(
                            timestamp: timed.unit.timestamp,
                            arrivalNanoseconds: timed.unit.firstArrivalNanoseconds,
                            arrivalSpanNanoseconds: 0, firstPacket: timed.unit.firstNumber,
                            packets: 1), isKeyframe: true))
            }
        }
        for index in 0..<Int64(plan.seconds) * 48_000 / 1_024 {
            // By the camera's clock, packets have equal lengths.
            let media = index * 1_024 * Self.second / 48_000
            let captured = 3 * Self.second + media - media / 1_000_000 * plan.ratePPM
            let parts = (random.next() % 1_000, random.next() % 1_000)
            let delay = plan.leastDelay + plan.jitter * Int64(parts.0 * parts.1) / 1_000_000
            let arrival = max(Self.agent(captured + delay), lastArrival)
            lastArrival = arrival
            captures[index] = captured
            let unit = AccessUnit(
                timestamp: 77 &+ UInt32(truncatingIfNeeded: index * 1_024), firstNumber: index,
                lastNumber: index, firstArrivalNanoseconds: arrival,
                lastArrivalNanoseconds: arrival, data: [1])
            take(times.add(.unit(unit), now: arrival))
        }
        take(times.flush())
    }

    // MARK: The recording

    private func write() throws {
        var manifest = SessionManifest(
            session: Self.name, zero: Self.zero, zeroMonotonicNanoseconds: Self.collectorZero,
            startAt: .firstSample, startWindowNanoseconds: 0, segmentNanoseconds: Self.segment,
            software: "test")
        manifest.state = .finished
        try FileManager.default.createDirectory(
            atPath: layout.source(Self.name, "door"), withIntermediateDirectories: true)
        pictures = Array(pictures.drop { !$0.isKeyframe })
        start = Self.time(agent: pictures[0].agent) + plan.clockError
        var clock = TrackClock(
            timescale: .video, continuity: .stamped, nominalDurationTicks: 3_600)
        for index in pictures.indices {
            let time = mapped(pictures[index].agent)
            let placed = clock.place(
                SampleStamps(
                    ptsNanoseconds: time, dtsNanoseconds: time, durationNanoseconds: Self.interval),
                nowNanoseconds: session(pictures[index].arrival) + Self.second)
            pictures[index].ticks = placed.dtsTicks
        }
        var soundClock = TrackClock(
            timescale: Timescale(48_000), continuity: .endToEnd(toleranceTicks: 2),
            nominalDurationTicks: 1_024)
        packets = Array(packets.drop { mapped($0.agent) < 0 })
        for index in packets.indices {
            let time = mapped(packets[index].agent)
            let placed = soundClock.place(
                SampleStamps(
                    ptsNanoseconds: time, dtsNanoseconds: time, durationNanoseconds: 21_333_333),
                nowNanoseconds: session(packets[index].arrival) + Self.second)
            packets[index].ticks = placed.dtsTicks
        }
        var first = 0
        while first < pictures.count {
            // Segments begin at the first keyframe of their twenty seconds.
            let origin = time(ticks: pictures[first].ticks) / Self.segment
            var end = first + 1
            while end < pictures.count,
                !pictures[end].isKeyframe
                    || time(ticks: pictures[end].ticks) / Self.segment <= origin
            { end += 1 }
            try write(first..<end, origin: origin * Self.segment)
            first = end
        }
        try FileSystem.replace(layout.manifest(Self.name), with: manifest.encoded())
    }

    private func time(ticks: Int64) -> Int64 {
        saturatingRescale(ticks, from: .video, to: .nanoseconds)
    }

    /// Session time as mapped while it was recorded: late by ``Plan/clockError``.
    private func mapped(_ agent: Int64) -> Int64 {
        session(Self.time(agent: agent)) + plan.clockError
    }

    private func write(_ range: Range<Int>, origin: Int64) throws {
        var tracks = [
            SegmentPlan.Track(format: Self.format, originTicks: origin / 100_000 * 9, shiftTicks: 0)
        ]
        if plan.sound != .none {
            tracks.append(
                .init(format: Self.sound, originTicks: origin / Self.second * 48_000, shiftTicks: 0)
            )
        }
        let writer = try SegmentWriter(
            path: layout.segment(
                Self.name, "door", origin: UTCTime(nanoseconds: Self.zero.nanoseconds + origin)),
            plan: SegmentPlan(originNanoseconds: origin, tracks: tracks), sessionZero: Self.zero)
        var next = range.lowerBound
        while next < range.upperBound {
            var end = next + 1
            while end < range.upperBound, !pictures[end].isKeyframe { end += 1 }
            try writer.append(fragment(next..<end))
            next = end
        }
        try writer.finish()
    }

    /// Messages of half a second.
    private func fragment(_ range: Range<Int>) -> FragmentPlan {
        let first = pictures[range.lowerBound]
        var context = FragmentContext(
            spool: SpoolID(high: 1, low: 1), epoch: EpochID(high: 5, low: 6),
            clock: FragmentRecord.Clock(
                offsetNanoseconds: applied(first.agent), boundNanoseconds: plan.clockBound,
                skewPartsPerBillion: -80_000), collectorZeroNanoseconds: Self.collectorZero)
        context.exchanges.append(exchange(first.arrival))
        let pieces = stride(from: range.lowerBound, to: range.upperBound, by: 12).map { start in
            piece(start..<min(start + 12, range.upperBound))
        }
        return FragmentPlan(context: context, pieces: pieces)
    }

    /// Collector − agent as applied to a stamp.
    private func applied(_ agent: Int64) -> Int64 {
        mapped(agent) - agent + Self.collectorZero
    }

    private func exchange(_ time: Int64) -> ClockExchange {
        let collector = session(time) + Self.collectorZero
        return ClockExchange(
            t1Nanoseconds: Self.agent(time - 30_000), t2Nanoseconds: collector,
            t3Nanoseconds: collector + 5_000, t4Nanoseconds: Self.agent(time + 35_000))
    }

    private func piece(_ range: Range<Int>) -> PlannedPiece {
        var bytes: [UInt8] = []
        let samples = range.map { index in
            let picture = pictures[index]
            bytes += [
                0, 0, 0, 3, picture.isKeyframe ? 0x65 : 0x41, UInt8(truncatingIfNeeded: index), 7,
            ]
            return PlannedSample(
                sizeBytes: 7, dts: picture.ticks, pts: picture.ticks, duration: duration(index),
                flags: picture.isKeyframe ? .keyframe : [], agentDTSNanoseconds: picture.agent,
                appliedOffsetNanoseconds: applied(picture.agent))
        }
        let stamps = CameraStamps(clockRate: 90_000, stamps: range.map { pictures[$0].stamp })
        var runs = [
            PlannedRun(
                track: .video, firstSequence: sequence, samples: samples,
                camera: stamps)
        ]
        sequence += UInt64(range.count)
        let own = sound(until: range.upperBound)
        if !own.isEmpty {
            bytes += [UInt8](repeating: 7, count: 3 * own.count)
            runs.append(
                PlannedRun(
                    track: .audio, firstSequence: sequence,
                    samples: own.map { index in
                        let packet = packets[index]
                        return PlannedSample(
                            sizeBytes: 3, dts: packet.ticks, pts: packet.ticks,
                            duration: index + 1 < packets.count
                                ? packets[index + 1].ticks - packet.ticks : 1_024,
                            flags: .keyframe, agentDTSNanoseconds: packet.agent,
                            appliedOffsetNanoseconds: applied(packet.agent))
                    },
                    camera: plan.sound == .stamped
                        ? CameraStamps(clockRate: 48_000, stamps: own.map { packets[$0].stamp })
                        : nil))
            sequence += UInt64(own.count)
        }
        return PlannedPiece(
            payload: ArrayPayload(bytes), range: 0..<bytes.count, digest: Digest(of: bytes),
            runs: runs)
    }

    /// The packets before a picture that are in no message yet.
    private func sound(until picture: Int) -> Range<Int> {
        let end = picture < pictures.count ? time(ticks: pictures[picture].ticks) : .max
        let first = soundWritten
        while soundWritten < packets.count,
            saturatingRescale(
                packets[soundWritten].ticks, from: Timescale(48_000), to: .nanoseconds) < end
        { soundWritten += 1 }
        return first..<soundWritten
    }

    /// Decoding times are authoritative, durations follow from them.
    private func duration(_ index: Int) -> Int64 {
        index + 1 < pictures.count ? pictures[index + 1].ticks - pictures[index].ticks : 3_600
    }

    // MARK: Reading

    var paths: [String] {
        get throws { try layout.segmentPaths(Self.name, "door") }
    }

    func bytes() throws -> [[UInt8]] {
        try paths.map { try FileSystem.read($0, limit: 1 << 24) }
    }

    /// Times in the files' indices, with the capture times, arrivals and bounds: session time.
    func times(_ kind: TrackKind = .video) throws -> [Result] {
        var index = 0
        let samples = kind == .video ? pictures : packets
        let scale = kind == .video ? Timescale.video : Timescale(48_000)
        return try paths.flatMap { path -> [Result] in
            let bytes = try FileSystem.read(path, limit: 1 << 24)
            let movie = try Movie.read(from: MemorySource(bytes))
            let record = try movie.userBoxes.first { $0.userType == RetimingRecord.userType }
                .map { try RetimingRecord(parsing: $0.payload) }
            let recorded = try WrittenSession.decodingTimes(bytes, kind)
            let origin = try DescriptorSource.withFile(path) { source in
                var scanner = try FragmentScanner(source)
                let box = try scanner.next()?.userBoxes.first
                return try FragmentRecord(parsing: box?.payload ?? []).segmentOriginNanoseconds
            }
            return try zip(WrittenSession.times(bytes, kind), recorded).map { time, ticks in
                defer { index += 1 }
                let picture = samples[index]
                return Result(
                    time: time + origin, captured: session(picture.captured),
                    leastDelay: picture.leastDelay,
                    arrival: session(picture.arrival),
                    recorded: saturatingRescale(
                        picture.ticks, from: scale, to: .nanoseconds),
                    agent: session(Self.time(agent: picture.agent)),
                    bound: record?.track(kind)?.boundNanoseconds(at: ticks) ?? plan.clockBound)
            }
        }
    }

    struct Result {
        var time: Int64
        var captured: Int64
        var leastDelay: Int64
        var arrival: Int64
        /// While it was recorded.
        var recorded: Int64
        /// The agent's time, without the error of its clock.
        var agent: Int64
        var bound: UInt64
    }
}

/// SplitMix64: the same numbers for the same seed.
private struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
