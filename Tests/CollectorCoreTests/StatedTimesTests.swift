import Archive
import Media
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000
private let millisecond: Int64 = 1_000_000

/// SplitMix64.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A network camera's stated times, compared with the recorded ones.
@Suite struct StatedTimesTests {
    /// A camera with 25 pictures a second. Its pictures arrive 80 ms after their capture, and are recorded as of then.
    private struct Camera {
        /// Its clock less ours.
        var aheadNanoseconds: Int64
        var sendsReports = true
        private var number: UInt32 = 0
        private var timestampShift: UInt32 = 0
        private var packetShift: Int64 = 0
        /// The timestamps wrap after two seconds.
        private let firstTimestamp = UInt32.max - 180_000

        init(ahead: Int64, sendsReports: Bool = true) {
            aheadNanoseconds = ahead
            self.sendsReports = sendsReports
        }

        /// The picture that is captured next: session time is UTC since `zero`, agent time is session time plus 7 s.
        mutating func picture(zero: Int64) -> SampleRun {
            let captured = Int64(number) * 40 * millisecond
            let timestamp = firstTimestamp &+ timestampShift &+ number * 3_600
            let arrival = captured + 80 * millisecond + 7 * second
            var reports: [CameraReport] = []
            if sendsReports, number % 125 == 0 {
                let stated = zero + captured + aheadNanoseconds
                reports = [
                    CameraReport(
                        source: 1, ntp: Self.ntp(stated), timestamp: timestamp,
                        arrivalNanoseconds: arrival)
                ]
            }
            number += 1
            return SampleRun(
                track: .video, sizes: [10], dtsNanoseconds: [arrival - 20 * millisecond],
                ptsOffsetsNanoseconds: [20 * millisecond],
                durationsNanoseconds: [40 * millisecond], flags: [.keyframe],
                camera: CameraStamps(
                    clockRate: 90_000,
                    stamps: [
                        CameraStamp(
                            timestamp: timestamp, arrivalNanoseconds: arrival,
                            arrivalSpanNanoseconds: 0, firstPacket: Int64(number) + packetShift,
                            packets: 1)
                    ], reports: reports))
        }

        /// Timestamps and sequence numbers restart.
        mutating func reconnect(timestampShift: UInt32, packetShift: Int64) {
            self.timestampShift &+= timestampShift
            self.packetShift += packetShift
        }

        static func ntp(_ utc: Int64) -> UInt64 {
            let seconds = UInt64(utc / second + 2_208_988_800)
            // Rounded up, so that a whole number of milliseconds stays one.
            let fraction = (UInt64(utc % second) << 32) / UInt64(second) + 1
            return seconds << 32 | fraction
        }
    }

    private static let zero: Int64 = 1_790_000_000 * second

    /// Findings of a number of pictures.
    private func findings(
        _ camera: inout Camera, pictures: Int, in times: inout StatedTimes
    ) -> [StatedTimes.Finding] {
        var found: [StatedTimes.Finding] = []
        for _ in 0..<pictures {
            if let finding = times.note(
                camera.picture(zero: Self.zero), zeroUTC: Self.zero,
                session: { $0 - 7 * second })
            {
                found.append(finding)
            }
        }
        return found
    }

    @Test func `the times of a correct clock precede the recorded ones by the delay`() throws {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        let found = findings(&camera, pictures: 1_000, in: &times)
        try #require(found.count == 1)
        // Recorded is the arrival, 80 ms after the capture.
        #expect(abs(found[0].medianNanoseconds + 80 * millisecond) < 2_000)
        #expect(found[0].greatestNanoseconds - found[0].leastNanoseconds < 2_000)
        #expect(abs(found[0].aheadNanoseconds + 80 * millisecond) < 2_000)
        #expect(!found[0].isImpossible && found[0].startNanoseconds == 80 * millisecond)
    }

    /// A camera that is connected again counts from another timestamp, and sends its first report later.
    @Test(arguments: [true, false])
    func `a report does not apply to timestamps of another connection`(
        isCountLower: Bool
    ) throws {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        var found = findings(&camera, pictures: 1_000, in: &times)
        try #require(found.count == 1)
        camera.reconnect(timestampShift: 1_000_000_000, packetShift: isCountLower ? -500 : 500)
        camera.sendsReports = false
        found = findings(&camera, pictures: 500, in: &times)
        #expect(found.isEmpty)
        camera.sendsReports = true
        found = findings(&camera, pictures: 500, in: &times)
        // Nothing has changed.
        #expect(found.isEmpty)
        camera.reconnect(timestampShift: 5_000, packetShift: -1_900)
        camera.sendsReports = false
        #expect(findings(&camera, pictures: 500, in: &times).isEmpty)
    }

    @Test func `a finding is described in one line`() {
        var finding = StatedTimes.Finding(
            startNanoseconds: 0, leastNanoseconds: -210 * millisecond,
            medianNanoseconds: -120 * millisecond, greatestNanoseconds: -85 * millisecond,
            aheadNanoseconds: -80 * millisecond)
        #expect(
            finding.text
                == "the camera states times 120 ms before the recorded ones (-210 to -85 ms)")
        finding.medianNanoseconds = 60 * millisecond
        finding.greatestNanoseconds = 139 * millisecond
        finding.aheadNanoseconds = 139 * millisecond
        #expect(
            finding.text
                == "the camera states times 60 ms after the recorded ones (-210 to 139 ms); "
                + "up to 139 ms after their arrival, which is impossible")
    }

    @Test(arguments: [3_600 * second, 219 * millisecond])
    func `stated times after the arrival are reported as impossible`(ahead: Int64) throws {
        var times = StatedTimes()
        var camera = Camera(ahead: ahead)
        let found = findings(&camera, pictures: 100, in: &times)
        try #require(found.count == 1)
        #expect(abs(found[0].aheadNanoseconds - (ahead - 80 * millisecond)) < 2_000)
        #expect(found[0].isImpossible && found[0].text.contains("impossible"))
    }

    @Test func `a clock an hour behind is reported, and not as impossible`() throws {
        var times = StatedTimes()
        var camera = Camera(ahead: -3_600 * second)
        let found = findings(&camera, pictures: 100, in: &times)
        try #require(found.count == 1)
        #expect(abs(found[0].medianNanoseconds + 3_600 * second + 80 * millisecond) < 2_000)
        #expect(!found[0].isImpossible)
    }

    @Test func `a clock that is set, or drifts, is reported again`() throws {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        #expect(findings(&camera, pictures: 500, in: &times).count == 1)
        camera.aheadNanoseconds = -2 * second
        let set = findings(&camera, pictures: 1_000, in: &times)
        #expect((1...2).contains(set.count))
        #expect(abs((set.last?.medianNanoseconds ?? 0) + 2_080 * millisecond) < 2_000)
        // 200 ppm: 50 ms in 250 s.
        var drifting: [StatedTimes.Finding] = []
        for _ in 0..<150 {
            camera.aheadNanoseconds += millisecond
            drifting += findings(&camera, pictures: 125, in: &times)
        }
        #expect((2...3).contains(drifting.count))
    }

    /// Findings are made every ten seconds: the session ends before the next one, or its median hides the step.
    @Test(arguments: [25, 125, 200])
    func `a clock that is set shortly before the end is found`(pictures: Int) throws {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        // The reports are 5 s apart: at picture 625 the clock is set.
        #expect(findings(&camera, pictures: 625, in: &times).count == 1)
        camera.aheadNanoseconds = 3 * second
        let set = findings(&camera, pictures: pictures, in: &times) + times.end().map(\.1)
        let last = try #require(set.last)
        #expect(abs(last.medianNanoseconds - 2_920 * millisecond) < 2_000 && last.isImpossible)
        #expect(times.end().isEmpty)
    }

    @Test func `a clock that is ahead for a short time is found`() throws {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        #expect(findings(&camera, pictures: 500, in: &times).count == 1)
        camera.aheadNanoseconds = second
        var found = findings(&camera, pictures: 125, in: &times)
        camera.aheadNanoseconds = 0
        found += findings(&camera, pictures: 625, in: &times)
        #expect(found.contains { abs($0.aheadNanoseconds - 920 * millisecond) < 2_000 })
    }

    @Test func `a clock that is right to the end has one finding`() {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        #expect(findings(&camera, pictures: 700, in: &times).count == 1)
        #expect(times.end().isEmpty)
    }

    @Test func `an old report does not apply`() {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        #expect(findings(&camera, pictures: 500, in: &times).count == 1)
        camera.sendsReports = false
        var late: [StatedTimes.Finding] = []
        // Two hours: after one the report is too old, and only the lines of every 15 minutes are due.
        for _ in 0..<180 { late += findings(&camera, pictures: 1_000, in: &times) }
        #expect((3...4).contains(late.count))
    }

    @Test func `without reports there is no finding`() {
        var times = StatedTimes()
        var camera = Camera(ahead: 0, sendsReports: false)
        #expect(findings(&camera, pictures: 200, in: &times).isEmpty)
        #expect(times.end().isEmpty)
    }

    @Test func `a short recording has its finding at its end`() throws {
        var times = StatedTimes()
        var camera = Camera(ahead: 0)
        #expect(findings(&camera, pictures: 10, in: &times).isEmpty)
        let end = times.end()
        try #require(end.count == 1)
        #expect(end[0].0 == .video)
        #expect(times.end().isEmpty)
    }

    /// Reports, stamps and offsets of a stranger, at the edges of their types.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `no stamp traps`(seed: UInt64) {
        var random = Numbers(state: seed)
        let edges: [Int64] = [.min, .max, 0, -1, 1 << 60, -(1 << 60)]
        func time() -> Int64 { edges.randomElement(using: &random) ?? 0 }
        var times = StatedTimes()
        for _ in 0..<20 {
            let run = SampleRun(
                track: .video, sizes: [1], dtsNanoseconds: [0], ptsOffsetsNanoseconds: [],
                durationsNanoseconds: [1], flags: [.keyframe],
                camera: CameraStamps(
                    clockRate: UInt32.random(in: 1 ... .max, using: &random),
                    stamps: [
                        CameraStamp(
                            timestamp: .random(in: 0 ... .max, using: &random),
                            arrivalNanoseconds: time(), arrivalSpanNanoseconds: 0,
                            firstPacket: time(), packets: 1)
                    ],
                    reports: [
                        CameraReport(
                            source: 1, ntp: .random(in: 0 ... .max, using: &random),
                            timestamp: .random(in: 0 ... .max, using: &random),
                            arrivalNanoseconds: time())
                    ]))
            let moment = time()
            _ = times.note(run, zeroUTC: time(), session: { _ in moment })
        }
        for (_, finding) in times.end() { #expect(!finding.text.isEmpty) }
    }
}
