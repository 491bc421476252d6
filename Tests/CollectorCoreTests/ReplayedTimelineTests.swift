@testable import Archive
import Media
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// Recordings replayed into a session.
@Suite struct ReplayedTimelineTests {
    /// Long before the harness's present.
    private static let zero: Int64 = 1_700_000_000_123_456_789

    @Test func `replayed samples keep their times at any speed`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        camera.zeroUTCNanoseconds = Self.zero
        harness.open(camera, at: 10 * second)
        // Stamps count from zero: an hour of pictures arrives within a second, and late.
        for minute in 0..<60 {
            harness.picture(
                &camera, capturedAt: Int64(minute) * 60 * second + 500_000_000,
                arriving: 10 * second + Int64(minute) * 10_000_000)
            harness.tick(10 * second + Int64(minute) * 10_000_000)
        }
        harness.goodbye(&camera, at: 11 * second)
        #expect(harness.started == ["2023-11-14T22-13-20.123Z"])
        let times = harness.fragments("camera").flatMap(\.pieces).flatMap(\.runs)
            .flatMap(\.samples).map(\.dts)
        let expected: [Int64] = (0..<60).map { Int64($0) * 5_400_000 + 45_000 }
        #expect(times == expected)
        let manifest = try #require(harness.lastManifest)
        #expect(manifest.zeroUTCNanoseconds == Self.zero)
        #expect(harness.fragments("camera").allSatisfy { $0.context.clock.boundNanoseconds == 0 })
    }

    @Test func `a session with the zero of an earlier one gets a numbered name`() throws {
        var harness = SessionHarness()
        for round in 0..<3 {
            var camera = SteadyCamera("camera")
            camera.zeroUTCNanoseconds = Self.zero
            let start = Int64(round) * 100 * second
            harness.open(camera, at: start)
            harness.picture(&camera, capturedAt: 0, arriving: start)
            harness.tick(start + second)
            harness.goodbye(&camera, at: start + 2 * second)
        }
        #expect(
            harness.started == [
                "2023-11-14T22-13-20.123Z", "2023-11-14T22-13-20.123Z-2",
                "2023-11-14T22-13-20.123Z-3",
            ])
        let named = try #require(UTCTime(sessionName: harness.started[2]))
        let milliseconds: Int64 = Self.zero / 1_000_000
        #expect(named.nanoseconds == milliseconds * 1_000_000)
    }

    @Test func `beside live sources, a replayed source is placed by UTC`() throws {
        var harness = SessionHarness()
        var live = SteadyCamera("live", clockNanoseconds: 7 * second)
        var again = SteadyCamera("again")
        // The harness's wall clock shows this at the monotonic clock's zero.
        again.zeroUTCNanoseconds = 1_790_000_000_000_000_000 + 12 * second
        harness.open(live, at: 10 * second)
        harness.open(again, at: 10 * second)
        harness.picture(&again, capturedAt: 0, arriving: 10 * second)
        harness.picture(&live, capturedAt: 10 * second, arriving: 10 * second + 1)
        harness.tick(11 * second)
        harness.goodbye(&live, at: 12 * second)
        harness.goodbye(&again, at: 12 * second)
        let start = try #require(harness.starts("live").first)
        let place = try #require(harness.starts("again").first)
        #expect((-1...1).contains(start))
        #expect((179_999...180_001).contains(place))
    }

    @Test func `a replayed source continues at its times after a reconnection`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        camera.zeroUTCNanoseconds = Self.zero
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 0)
        harness.tick(second)
        harness.apply(harness.recorder.disconnected("camera", at: SessionHarness.instant(second)))
        harness.open(camera, at: 2 * second)
        harness.picture(&camera, capturedAt: 50 * second, arriving: 2 * second)
        harness.goodbye(&camera, at: 3 * second)
        let last = try #require(harness.starts("camera").last)
        #expect(last == 4_500_000)
    }
}
