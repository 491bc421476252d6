import Archive
import Foundation
import Media
import Testing
import Wire

@testable import CollectorCore

/// A small seeded generator (SplitMix64), so that a failure can be run again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Uniform in 0 ..< 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

/// A box with a camera and a microphone, whose clock drifts, steps and restarts. Times are seconds of the collector's
/// clock, the reference, unless named.
struct SimulatedBox {
    let name: String
    var skewPPM = 0.0
    var wanderPPM = 0.0
    var wanderPeriod = 7_200.0
    /// Outages: its messages are delayed, and it makes no exchanges.
    var outages: [ClosedRange<Double>] = []
    /// The box reboots: another clock, with another zero.
    var reboot: Double?
    /// The clock steps by this much at this time.
    var jump: (at: Double, seconds: Double)?
    /// Minimum delay each way.
    var there = 0.000_2
    var back = 0.000_2
    /// Sound's actual duration over its nominal one: the sound card's crystal error.
    var soundPPM = 0.0

    private(set) var epochs: [Epoch] = [Epoch(number: 1, identity: .random())]
    let spool = SpoolID.random()
    private(set) var sequence: UInt64 = 1
    /// Capture time of each record, by sequence less one.
    private(set) var captured: [Double] = []

    init(_ name: String) { self.name = name }

    /// The box's clock, nanoseconds.
    func clock(_ time: Double) -> Int64 {
        let turn = 2 * Double.pi / wanderPeriod
        var ahead = skewPPM * 1e-6 * time + wanderPPM * 1e-6 / turn * (1 - cos(turn * time))
        if let jump, time >= jump.at { ahead += jump.seconds }
        let base = reboot.map { time >= $0 ? -$0 : 90_000 } ?? 90_000
        return Int64((time + ahead + base) * 1e9)
    }

    /// The number of the epoch at a time.
    func epoch(_ time: Double) -> UInt32 { reboot.map { time >= $0 } == true ? 2 : 1 }

    func isOffline(_ time: Double) -> Bool { outages.contains { $0.contains(time) } }

    mutating func bootAgain() {
        epochs.append(Epoch(number: 2, identity: .random()))
    }

    func exchange(_ time: Double, _ random: inout SeededGenerator) -> ReportedExchange {
        func queue() -> Double { min(0.02, 50e-6 * pow(1 - random.unit(), -1 / 0.8)) }
        let taken = time + there + queue()
        let answered = taken + 10e-6
        let received = answered + back + queue() * 3
        return ReportedExchange(
            t1: clock(time), t2: Int64(taken * 1e9), t3: Int64(answered * 1e9), t4: clock(received),
            epoch: epoch(time))
    }

    /// A picture at a time, and two packets of sound that begin with it.
    mutating func message(_ time: Double, stampAhead: Int64 = 0) -> Samples {
        let packet = 1_024.0 / 48_000 * (1 + soundPPM * 1e-6)
        let times = [time, time, time + packet]
        captured += times
        defer { sequence += UInt64(times.count) }
        return Samples(
            source: 0, firstSequence: sequence, epoch: epoch(time),
            payloadDigest: [UInt8](repeating: 0, count: 32),
            runs: [
                SampleRun(
                    track: .video, sizes: [0], dtsNanoseconds: [clock(time) + stampAhead],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [40_000_000],
                    flags: [.keyframe]),
                SampleRun(
                    track: .audio, sizes: [0, 0], dtsNanoseconds: times.dropFirst().map(clock),
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [21_333_333, 21_333_333],
                    flags: [.keyframe, .keyframe]),
            ])
    }

    var introduction: SourceIntroduction {
        SourceIntroduction(
            name: name, agent: name, address: "here", spool: spool, epochs: epochs,
            tracks: [
                .video(
                    .h264(
                        sequenceParameterSets: [[0x67]], pictureParameterSets: [[0x68]], width: 16,
                        height: 16)),
                .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
            ])
    }
}

/// A day of a site: boxes that send to one collector, whose wall clock steps meanwhile.
struct SimulatedSite {
    var boxes: [SimulatedBox]
    var hours = 24.0
    var step = 30.0
    /// The collector's wall clock steps by these seconds at these times.
    var wallSteps: [(at: Double, seconds: Double)] = []
    /// Pictures with wrong stamps: their period in steps and their error, nanoseconds.
    var lie: (every: Int, nanoseconds: Int64)?

    /// Results over all written samples.
    struct Outcome {
        var samples = 0
        var outsideBound: [String] = []
        var backwards: [String] = []
        var twice = 0
        var missing = 0
        var outsideSegment: [String] = []
        var greatestAudioSkew = 0.0
        var comparedPackets = 0
        var zeroUTC: UTCTime?
        var manifestZero: Int64?
        var ledgers: [String: [LedgerEntry]] = [:]
    }

    func run(seed: UInt64) -> Outcome {
        var random = SeededGenerator(seed: seed)
        var boxes = boxes
        var session = Observation(segmentNanoseconds: 3_600_000_000_000)
        var backlog: [[Samples]] = boxes.map { _ in [] }
        var check = SampleCheck(boxes: boxes)
        var wallSteps = wallSteps[...]
        var time = 1.0
        for index in boxes.indices { open(boxes[index], at: time, &session, &random) }
        var count = 0
        while time < hours * 3_600 {
            count += 1
            while let next = wallSteps.first, next.at <= time {
                session.wallNanoseconds += Int64(next.seconds * 1e9)
                wallSteps = wallSteps.dropFirst()
            }
            for index in boxes.indices {
                if let reboot = boxes[index].reboot, time >= reboot, boxes[index].epochs.count == 1
                {
                    boxes[index].bootAgain()
                    open(boxes[index], at: time, &session, &random)
                }
                let lies = index == 0 && lie.map { count % $0.every == 0 } == true
                backlog[index].append(
                    boxes[index].message(time, stampAhead: lies ? lie?.nanoseconds ?? 0 : 0))
                guard !boxes[index].isOffline(time) else { continue }
                let exchange = boxes[index].exchange(time + 0.1, &random)
                if let epoch = boxes[index].epochs.last, exchange.epoch == epoch.number {
                    session.recorder.exchanges(
                        [exchange], by: ClockOwner(owner: "", spool: boxes[index].spool),
                        epoch: epoch.identity)
                }
                for samples in backlog[index] {
                    session.samples(
                        samples, of: boxes[index].name, at: Int64((time + 0.3) * 1e9))
                }
                backlog[index] = []
            }
            session.tick(Int64((time + 2) * 1e9))
            check.zero = session.recorder.sessionZero
            check.take(session, boxes)
            session.forgetFragments()
            time += step * (0.75 + random.unit() / 2)
        }
        session.end(Int64((time + 5) * 1e9))
        check.take(session, boxes)
        check.finish(boxes)
        check.outcome.zeroUTC = session.zeroUTC
        check.outcome.ledgers = session.ledgers
        return check.outcome
    }

    /// A box connects or reconnects; its exchanges follow its greeting.
    private func open(
        _ box: SimulatedBox, at time: Double, _ session: inout Observation,
        _ random: inout SeededGenerator
    ) {
        let burst = (0..<8).map { box.exchange(time - 0.5 + Double($0) * 0.02, &random) }
            .filter { $0.epoch == box.epochs.count }
        if let epoch = box.epochs.last {
            session.recorder.exchanges(
                burst, by: ClockOwner(owner: "", spool: box.spool), epoch: epoch.identity)
        }
        session.apply(
            session.recorder.open(
                box.introduction, received: box.sequence - 1,
                at: session.instant(Int64(time * 1e9))))
    }
}

/// Compares written times with capture times.
private struct SampleCheck {
    var outcome = SimulatedSite.Outcome()
    var zero: Int64?
    private var seen: [String: [Bool]]
    private var last: [String: Int64] = [:]
    private var origins: [String: Int64] = [:]
    /// Errors of pictures and packets of sound, by source and capture time: a packet is compared with the picture of
    /// the same time, since the previous one is half a minute earlier.
    private var errors: [TrackKind: [String: [Double: Double]]] = [:]

    init(boxes: [SimulatedBox]) {
        seen = Dictionary(uniqueKeysWithValues: boxes.map { ($0.name, []) })
    }

    mutating func take(_ session: Observation, _ boxes: [SimulatedBox]) {
        for file in session.opened {
            origins["\(file.source)#\(file.segment)"] = file.plan.originNanoseconds
        }
        for fragment in session.fragments {
            guard let box = boxes.first(where: { $0.name == fragment.source }) else { continue }
            for run in fragment.plan.pieces.flatMap({ $0.runs }) {
                for (index, sample) in run.samples.enumerated() {
                    check(sample, run.firstSequence + UInt64(index), run.track, fragment, box)
                }
            }
        }
    }

    private mutating func check(
        _ sample: PlannedSample, _ sequence: UInt64, _ track: TrackKind,
        _ fragment: Observation.Fragment, _ box: SimulatedBox
    ) {
        outcome.samples += 1
        let number = Int(sequence) - 1
        let grow = number + 1 - (seen[box.name]?.count ?? 0)
        if grow > 0 { seen[box.name]? += repeatElement(false, count: grow) }
        if seen[box.name]?[number] == true { outcome.twice += 1 }
        seen[box.name]?[number] = true

        let key = "\(box.name) \(track)"
        if let before = last[key], sample.dts <= before {
            outcome.backwards.append("\(key) \(sequence): \(sample.dts) after \(before)")
        }
        last[key] = sample.dts
        let scale = track == .video ? 90_000.0 : 48_000.0
        let placed = Double(sample.pts) / scale
        let origin = origins["\(box.name)#\(fragment.segment)"].map { Double($0) * 1e-9 }
        if placed < (origin ?? .infinity) - 0.002 {
            outcome.outsideSegment.append(
                "\(key) \(sequence) at \(placed), file from \(origin ?? -1)")
        }
        guard let zero else { return }
        let time = box.captured[number]
        // Between a step and the fourth exchange after it, the clock is unknown.
        if let jump = box.jump, time >= jump.at, time < jump.at + 200 { return }
        let error = placed - (time - Double(zero) * 1e-9)
        let ticks = (track == .video ? 1.0 : 3.0) / scale
        let bound = Double(fragment.plan.context.clock.boundNanoseconds) * 1e-9
        if abs(error) > bound + ticks {
            outcome.outsideBound.append("\(key) at \(time): \(error) > \(bound)")
        }
        errors[track, default: [:]][box.name, default: [:]][time] = error
    }

    mutating func finish(_ boxes: [SimulatedBox]) {
        for box in boxes {
            let written = seen[box.name, default: []].count { $0 }
            outcome.missing += box.captured.count - written
            let pictures = errors[.video]?[box.name] ?? [:]
            for (time, error) in errors[.audio]?[box.name] ?? [:] {
                guard let picture = pictures[time] else { continue }
                outcome.comparedPackets += 1
                outcome.greatestAudioSkew = max(outcome.greatestAudioSkew, abs(error - picture))
            }
        }
    }
}
