import Foundation
import Media
import Testing

@testable import Archive

/// Times by a camera's timestamps, in simulated recordings whose capture times are known.
@Suite struct CameraRetimingTests {
    private static let second = CameraRecording.second

    /// More with `RETIMING_SEEDS=1000`; a failure names its seed.
    static let seeds: ClosedRange<UInt64> =
        1...(ProcessInfo.processInfo.environment["RETIMING_SEEDS"].flatMap(UInt64.init) ?? 2)

    @discardableResult
    private func retime(_ recording: CameraRecording) throws -> RetimingReport {
        try SessionRetimer(CameraRecording.name, in: recording.layout).retime(isDryRun: false)
    }

    /// Damage; pictures that the agent placed too close together are in any recording of their camera.
    private func findings(_ recording: CameraRecording) throws -> [String] {
        try SessionVerifier.verify(CameraRecording.name, in: recording.layout)
            .allFindings.filter(\.severity.isDamage).map(\.text)
    }

    /// Checks what holds for every recording, whatever its camera does.
    private func check(
        _ recording: CameraRecording, _ kind: TrackKind = .video, isEven: Bool = true
    ) throws -> (report: RetimingReport, results: [CameraRecording.Result]) {
        let seed = recording.plan.seed
        let before = try recording.bytes()
        let recorded = try findings(recording)
        let report = try retime(recording)
        let results = try recording.times(kind)
        let samples = kind == .video ? recording.pictures : recording.packets
        #expect(results.count == samples.count, "seed \(seed)")
        // Of the recorded time and of the new one, half a tick each.
        // Packets of sound stay end to end within two more.
        let tick: Int64 = kind == .video ? 12_000 : 63_000
        var worst: [String] = []
        for (index, result) in results.enumerated() {
            let slack = Int64(result.bound) + tick
            if result.time > result.arrival + slack {
                worst.append("\(index) is \(result.time - result.arrival) ns after its arrival")
            }
            let earliest = isEven ? result.captured : min(result.captured, result.agent)
            if result.time < earliest - slack {
                worst.append("\(index) is \(earliest - result.time) ns before its capture")
            }
            if result.bound > recording.plan.clockBound {
                worst.append("\(index) has the bound \(result.bound)")
            }
        }
        #expect(worst.prefix(5) == [], "seed \(seed): \(worst.count)")
        let times = results.map(\.time)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
        // The shortest delay is unknown to a receiver: an error is the distance from what the quickest packets say.
        func median(_ times: [Int64]) -> Int64 {
            let errors = zip(times, results).map { time, result in
                abs(time - result.captured - result.leastDelay)
            }
            return errors.sorted()[errors.count / 2]
        }
        let old = median(results.map(\.agent))
        let new = median(results.map(\.time))
        let bound = results.map(\.bound).sorted()[results.count / 2]
        #expect(new <= old + tick + Int64(bound), "seed \(seed): \(old) -> \(new)")
        #expect(try findings(recording).prefix(5) == recorded.prefix(5), "seed \(seed)")
        let after = try recording.bytes()
        try retime(recording)
        #expect(try recording.bytes() == after, "seed \(seed)")
        _ = try SessionRetimer(CameraRecording.name, in: recording.layout).undo(isDryRun: false)
        #expect(try recording.bytes() == before, "seed \(seed)")
        return (report, results)
    }

    /// How much later than the quickest packets' time the latest picture is.
    private func spread(
        _ results: some Collection<CameraRecording.Result>, _ plan: CameraRecording.Plan
    ) -> Int64 {
        results.map { $0.time - $0.captured - plan.leastDelay }.max() ?? 0
    }

    @Test(arguments: seeds, [-200, 0, 200])
    func `pictures of an even clock are as late as the quickest packets`(
        seed: UInt64, ratePPM: Int
    ) throws {
        var plan = CameraRecording.Plan(seed: seed)
        plan.ratePPM = Int64(ratePPM)
        let recording = try CameraRecording(plan)
        let (report, results) = try check(recording)
        let uses = report.sources[0].files.compactMap(\.camera)
        #expect(uses.count == 3)
        #expect(uses.reduce(0) { $0 + $1.samples } > recording.pictures.count * 9 / 10)
        let late = spread(results.dropFirst(25 * 12), plan)
        #expect(late < 1_500_000, "seed \(seed)")
    }

    // MARK: Uneven clocks

    @Test(arguments: seeds)
    func `losses and a wrap of the timestamps do not matter`(seed: UInt64) throws {
        var plan = CameraRecording.Plan(seed: seed)
        plan.ratePPM = 120
        plan.lossPerMille = 40
        plan.firstStamp = .max - 90_000 * 31
        let recording = try CameraRecording(plan)
        let (report, results) = try check(recording)
        let uses = report.sources[0].files.compactMap(\.camera)
        #expect(uses.reduce(0) { $0 + $1.samples } > recording.pictures.count * 9 / 10)
        #expect(spread(results.dropFirst(25 * 12), plan) < 1_500_000, "seed \(seed)")
    }

    /// The events, and whether the agent's times are never before the capture.
    static let events: [(event: CameraRecording.Event, isEven: Bool)] = [
        (.reset, true), (.step(300_000_000), true), (.step(1_000_000_000), true),
        (.step(3_600_000_000_000), true), (.step(-100_000_000), false),
        (.step(-500_000_000), false), (.step(-3_000_000_000), true), (.step(12_000_000), true),
        (.step(-12_000_000), false), (.stall(400_000_000), true), (.stall(5_000_000_000), true),
        (.pause(700_000_000), false), (.pause(10_000_000_000), false), (.slower(60_000_000), true),
        (.slower(-15_000_000), true),
        // The agent follows in one step after eight seconds, and the quickest packets do not.
        (.slower(4_500_000), true),
    ]

    @Test(arguments: seeds, events.indices)
    func `no time becomes worse at any event of a camera or network`(
        seed: UInt64, event: Int
    ) throws {
        let (event, isEven) = Self.events[event]
        var plan = CameraRecording.Plan(seed: seed)
        plan.ratePPM = seed % 2 == 0 ? -150 : 150
        plan.lossPerMille = seed % 3 == 0 ? 20 : 0
        plan.events = [30: event]
        let recording = try CameraRecording(plan)
        _ = try check(recording, isEven: isEven)
    }

    @Test(arguments: seeds)
    func `sound with timestamps is placed as pictures are`(seed: UInt64) throws {
        for kind in TrackKind.allCases {
            var plan = CameraRecording.Plan(seed: seed)
            plan.ratePPM = 100
            plan.sound = .stamped
            let recording = try CameraRecording(plan)
            let (report, results) = try check(recording, kind)
            #expect(report.problems == nil)
            #expect(spread(results.dropFirst(results.count / 4), plan) < 1_500_000, "seed \(seed)")
        }
    }

    // MARK: What is left

    /// - Returns: the only line of the report.
    private func unused(_ plan: CameraRecording.Plan) throws -> String {
        let recording = try CameraRecording(plan)
        let (report, results) = try check(recording)
        #expect(report.sources[0].files.allSatisfy { $0.camera == nil })
        for result in results {
            // By the exchanges alone.
            #expect(abs(result.time - result.agent) <= Int64(result.bound) + 12_000)
        }
        #expect(report.problems?.count == 1)
        return report.problems?.first ?? ""
    }

    @Test func `times from which a delay was subtracted stay, with a line`() throws {
        var plan = CameraRecording.Plan(seed: 3)
        plan.subtracted = 12_000_000
        plan.leastDelay = 40_000_000
        #expect(
            try unused(plan)
                == "door: the camera's timestamps are not used for 1500 samples that are placed before "
                + "all arrivals, as with --delay (video)")
    }

    @Test func `pictures stay with sound that has no timestamps, with a line`() throws {
        var plan = CameraRecording.Plan(seed: 3)
        plan.sound = .encoded
        #expect(
            try unused(plan)
                == "door: the camera's timestamps are not used: its audio has none")
    }

    @Test func `a short recording stays, with a line`() throws {
        var plan = CameraRecording.Plan(seed: 3)
        plan.seconds = 9
        #expect(
            try unused(plan)
                == "door: the camera's timestamps are not used for 225 samples in stretches of less "
                + "than 10 s (video)")
    }

    @Test func `short stretches between steps stay, with a line`() throws {
        var plan = CameraRecording.Plan(seed: 3)
        plan.seconds = 18
        plan.events = [9: .step(400_000_000)]
        let line = try unused(plan)
        #expect(
            line
                == "door: the camera's timestamps are not used for 450 samples in stretches of less "
                + "than 10 s (timestamps were set, or stood still: 1) (video)")
    }

    @Test func `timestamps at an untrue rate stay, with a line`() throws {
        var plan = CameraRecording.Plan(seed: 3)
        plan.countPerMille = 970
        let recording = try CameraRecording(plan)
        let (report, _) = try check(recording, isEven: false)
        let line = try #require(report.problems?.first)
        #expect(line.contains(" of 59 s, in which"), "\(line)")
    }

    @Test func `a dry run reports the same and changes nothing`() throws {
        let recording = try CameraRecording(CameraRecording.Plan(seed: 5))
        let before = try recording.bytes()
        let retimer = try SessionRetimer(CameraRecording.name, in: recording.layout)
        let dry = try retimer.retime(isDryRun: true)
        #expect(try recording.bytes() == before)
        let wet = try retimer.retime(isDryRun: false)
        #expect(dry.sources == wet.sources && dry.problems == wet.problems)
        for (path, file) in zip(try recording.paths, wet.sources[0].files) {
            let report = FileVerifier.verify(path).report
            #expect(report.retiming?.camera == file.camera && file.camera != nil)
        }
    }

    /// An agent that was interrupted while it read two clocks stored such arrivals.
    @Test(arguments: seeds, [60_000_000, 300_000_000])
    func `an arrival that is stored too early moves no picture`(seed: UInt64, early: Int) throws {
        var plan = CameraRecording.Plan(seed: seed)
        plan.events = [30: .wrongArrival(Int64(early))]
        let recording = try CameraRecording(plan)
        try retime(recording)
        let results = try recording.times()
        // The agent places pictures behind a wrong one on ticks, one after the other.
        let crowded: Int64 = 500_000
        let early = results.indices.filter {
            results[$0].time < min(results[$0].captured, results[$0].agent) - crowded
        }
        #expect(early == [], "seed \(seed)")
        // As without the wrong arrival, the network's jitter in eight seconds, and the drift.
        let moved = results.map { abs($0.time - $0.agent) }[600..<900].max() ?? 0
        #expect(moved < 3_000_000, "seed \(seed)")
    }
}
