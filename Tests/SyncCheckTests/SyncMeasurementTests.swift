import SyncCheck
import Testing

@Suite struct SyncMeasurementTests {
    private static let second: Int64 = 1_000_000_000

    /// Ten seconds of 25 pictures per second, captured from `start` of the source's clock on.
    ///
    /// - Parameter presented: session time of a picture that was captured so long after the first.
    private func source(
        _ name: String, start: Int64, clock: ReferenceClock = .itself, beeps: [Int64] = [],
        presented: (Int64) -> Int64 = { $0 }
    ) -> ObservedSource {
        var observations = Observations()
        for picture in Int64(0)..<250 {
            observations.pictures.append(
                Observations.Picture(
                    presentationNanoseconds: presented(picture * 40_000_000),
                    codedNanoseconds: start + picture * 40_000_000))
        }
        observations.beeps = beeps
        return ObservedSource(name: name, files: [], observations: observations, clock: clock)
    }

    @Test func `sources that are perfectly placed have no error`() throws {
        let start = 1_000 * Self.second
        let report = SyncMeasurement.measure([source("a", start: start), source("b", start: start)])
        #expect(report.isAccepted)
        #expect(report.worstNanoseconds == 0)
        #expect(try #require(report.pairs.first).alignment.count == 250)
        #expect(report.sources.map(\.clock) == [1, 1])
    }

    @Test func `a source that is presented late is that much later than the other`() throws {
        let report = SyncMeasurement.measure([
            source("a", start: 0) { $0 + 300_000 },
            // Its pictures fall between those of the other one.
            source("b", start: 13_000_000) { $0 + 13_000_000 },
        ])
        let pair = try #require(report.pairs.first)
        #expect(pair.alignment.medianNanoseconds == 300_000)
        #expect(pair.alignment.p99Nanoseconds == 300_000)
        // Relative to their mean, each is half of the difference off.
        let errors = report.sources.compactMap(\.error?.medianNanoseconds)
        try #require(errors.count == 2)
        #expect(abs(errors[0] - 150_000) < 100 && abs(errors[1] + 150_000) < 100)
    }

    @Test(arguments: [(Int64(100_000), 250), (200_000, 0)])
    func `pictures further apart than both recordings allow are a failure`(
        _ bound: Int64, _ beyond: Int
    ) throws {
        var late = source("a", start: 0) { $0 + 300_000 }
        var prompt = source("b", start: 0)
        late.bounds = RecordedBounds(boundNanoseconds: bound)
        prompt.bounds = RecordedBounds(boundNanoseconds: bound)
        let report = SyncMeasurement.measure([late, prompt])
        let pair = try #require(report.pairs.first)
        #expect(pair.recordedBoundNanoseconds == 2 * bound)
        #expect(pair.picturesBeyondBound == beyond)
        #expect(report.isAccepted == (beyond == 0))
    }

    /// A file's first picture may be presented late, with a larger bound (`MovedPicture`).
    @Test(arguments: [(Int64(450_000), 0), (100_000, 1)])
    func `a time between two pictures has the larger one of their bounds`(
        _ bound: Int64, _ beyond: Int
    ) throws {
        let instant = 4 * Self.second
        var late = source("b", start: 0) { $0 == instant ? $0 + 327_000 : $0 }
        late.bounds = RecordedBounds(
            samples: late.observations.pictures.map {
                ($0.presentationNanoseconds, $0.codedNanoseconds == instant ? bound : 100_000)
            })
        // 10 ms before the late picture, it has one of its own.
        var prompt = source("a", start: 30_000_000) { $0 + 30_000_000 }
        prompt.bounds = RecordedBounds(boundNanoseconds: 100_000)
        let report = SyncMeasurement.measure([prompt, late])
        let pair = try #require(report.pairs.first)
        #expect(pair.recordedBoundNanoseconds == bound + 100_000)
        #expect(pair.picturesBeyondBound == beyond)
    }

    @Test func `a picture has its own bound`() {
        let bounds = RecordedBounds(samples: [(100, 150), (0, 450), (200, 150), (300, 90)])
        #expect([-5, 0, 100, 200, 300, 400].map(bounds.bound) == [450, 450, 150, 150, 90, 90])
        #expect(bounds.range == 90...450)
    }

    @Test func `clocks with other zeros and rates are compared on the reference clock`() throws {
        // 200 ppm fast: its 40 ms are 8 µs shorter.
        let clock = ReferenceClock(offsetNanoseconds: 500 * Self.second, skewPPB: 200_000)
        let start: Int64 = 100 * Self.second
        let zero = clock.nanoseconds(at: start)
        let fast = source("fast", start: start, clock: clock) {
            clock.nanoseconds(at: start + $0) - zero + 70_000
        }
        let report = SyncMeasurement.measure([fast, source("true", start: zero)])
        let pair = try #require(report.pairs.first)
        #expect((69_990...70_010).contains(pair.alignment.medianNanoseconds))
        #expect(abs(pair.driftPPM) < 0.01)
        #expect(abs(try #require(report.sources[0].pictureDrift).driftPPM + 199.96) < 0.01)
    }

    @Test func `a drift between two sources is measured in ppm`() throws {
        let report = SyncMeasurement.measure([
            source("a", start: 0) { $0 + $0 / 20_000 }, source("b", start: 0),
        ])
        #expect(abs(try #require(report.pairs.first).driftPPM - 50) < 0.01)
    }

    @Test func `sources of unknown clocks are not compared, and fail a limit`() {
        let sources = [source("a", start: 0), source("b", start: 400 * Self.second)]
        let open = SyncMeasurement.measure(sources)
        #expect(open.pairs.isEmpty && open.isAccepted)
        #expect(open.notes.contains { $0.contains("--clock") })
        let limited = SyncMeasurement.measure(sources, limitNanoseconds: Self.second)
        #expect(!limited.isAccepted)
    }

    @Test func `a limit is exceeded by one picture`() {
        let late = source("a", start: 0) { $0 == 4_000_000_000 ? $0 + 2_000_000 : $0 }
        let sources = [late, source("b", start: 0)]
        #expect(SyncMeasurement.measure(sources, limitNanoseconds: 2_000_000).isAccepted)
        #expect(!SyncMeasurement.measure(sources, limitNanoseconds: 1_999_999).isAccepted)
    }

    @Test func `a beep is compared with the picture of its second`() throws {
        // The clock shows 7.25 s at zero; whole seconds are presented at 0.75 s, 1.75 s …
        let beeps = (0..<9).map { $0 * Self.second + 750_000_000 + 3_000_000 }
        let report = SyncMeasurement.measure([
            source("a", start: 7_250_000_000, beeps: beeps)
        ])
        let skew = try #require(report.sources[0].soundSkew)
        #expect(skew.count == 9)
        #expect(skew.minNanoseconds == 3_000_000 && skew.maxNanoseconds == 3_000_000)
        #expect(report.worstNanoseconds == 3_000_000)
    }

    @Test(
        arguments: [
            // Without a bound, pictures may be on a grid: 40 ms and a packet.
            (nil, 64_000_000, true), (nil, 118_000_000, false), (nil, -398_000_000, false),
            (Int64(500_000), 25_000_000, true), (500_000, -27_000_000, false),
            (50_000_000, 118_000_000, true),
        ] as [(Int64?, Int64, Bool)])
    func `sound that is not with its pictures is a failure`(
        _ bound: Int64?, _ skew: Int64, _ isAccepted: Bool
    ) {
        let beeps = (1..<9).map { $0 * Self.second + skew }
        var source = source("a", start: 0, beeps: beeps)
        if let bound { source.bounds = RecordedBounds(boundNanoseconds: bound) }
        let report = SyncMeasurement.measure([source])
        #expect(report.isAccepted == isAccepted, "\(report.failures)")
        #expect(report.sources[0].beepsBeyondBound == (isAccepted ? 0 : 8))
    }

    @Test func `a picture far from its own timeline is a failure`() {
        var jumping = source("a", start: 0) { $0 == 4_000_000_000 ? $0 + 20_000_000 : $0 }
        #expect(SyncMeasurement.measure([jumping]).isAccepted)
        jumping.bounds = RecordedBounds(boundNanoseconds: 500_000)
        let report = SyncMeasurement.measure([jumping])
        #expect(report.sources[0].picturesBeyondBound == 1)
        #expect(report.failures.count == 1 && report.failures[0].contains("1 of 250 pictures"))
    }

    @Test func `a clock whose rate changes within its limits is accepted`() {
        // 200 ppm fast in the first half, as much slow in the second.
        var steered = source("a", start: 0) {
            $0 < 5_000_000_000 ? $0 + $0 / 5_000 : $0 + 1_000_000 - ($0 - 5_000_000_000) / 5_000
        }
        steered.bounds = RecordedBounds(boundNanoseconds: 100_000)
        #expect(SyncMeasurement.measure([steered]).isAccepted)
    }

    @Test func `the report counts the pictures that were measured`() {
        var half = source("a", start: 0)
        half.observations.unreadablePictures = 750
        let pictures = SyncMeasurement.measure([half]).pictures
        #expect(pictures.measured == 250 && pictures.all == 1_000)
    }

    @Test func `a clock that restarts is measured as a separate source`() {
        var rebooted = source("a", start: 900 * Self.second)
        let again = source("a", start: 3 * Self.second) { $0 + 20 * Self.second }
        rebooted.observations.pictures += again.observations.pictures
        let report = SyncMeasurement.measure([rebooted])
        #expect(report.sources.map(\.name) == ["a", "a#2"])
        #expect(report.sources.map(\.pictures) == [250, 250])
        #expect(report.worstNanoseconds == 0)
    }

    @Test func `a recording without any code is refused`() {
        let report = SyncMeasurement.measure([
            ObservedSource(name: "film", files: [], observations: Observations())
        ])
        #expect(report.failures.contains { $0.contains("film: no readable time codes") })
    }

    @Test func `a recording without any code is left out beside others that have one`() {
        let report = SyncMeasurement.measure([
            ObservedSource(name: "film", files: [], observations: Observations()),
            source("a", start: 900 * Self.second),
        ])
        #expect(report.isAccepted, "\(report.failures)")
        #expect(report.sources.map(\.name) == ["a"])
        #expect(report.skippedSources == ["film"])
        #expect(
            report.notes.contains { $0.contains("film is left out: it has no readable time codes") }
        )
        #expect(report.worstNanoseconds == 0)
    }
}
