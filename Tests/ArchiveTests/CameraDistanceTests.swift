import Media
import Testing

@testable import Archive

/// Distances of times, compared with those of stamps.
@Suite struct CameraDistanceTests {
    static let second: Int64 = 1_000_000_000

    @Test func `a distance between the agent's and the camera's is within the tolerance`() {
        let agent: Int64 = 500_000_000
        for camera in [460_000_000, 500_000_000, 540_000_000] as [Int64] {
            for times in stride(
                from: min(agent, camera), through: max(agent, camera), by: 5_000_000)
            {
                #expect(StampDistances.excess(times, agent: agent, camera: camera) == nil)
            }
            // 2 ms, and 1.05 ‰ of the distance, on both sides.
            let least = min(agent, camera)
            let greatest = max(agent, camera)
            let below = 2_000_000 + least / 1_000_000 * 1_050
            let above = 2_000_000 + greatest / 1_000_000 * 1_050
            #expect(StampDistances.excess(least - below, agent: agent, camera: camera) == nil)
            #expect(
                StampDistances.excess(least - below - 1, agent: agent, camera: camera) == -below - 1
            )
            #expect(StampDistances.excess(greatest + above, agent: agent, camera: camera) == nil)
            #expect(
                StampDistances.excess(greatest + above + 1, agent: agent, camera: camera)
                    == above + 1)
        }
    }

    @Test func `without a camera's distance, only the agent's is compared`() {
        for times in [480_000_000, 497_000_000, 500_000_000, 503_000_000] as [Int64] {
            #expect(
                StampDistances.excess(times, agent: 500_000_000, camera: nil)
                    == StampDistances.excess(500_000_000, times))
        }
        #expect(StampDistances.excess(540_000_000, agent: 500_000_000, camera: nil) == 40_000_000)
    }

    @Test(arguments: [-40_000_000, 0, 1_540_000_001, 3 * CameraDistanceTests.second, .min, .max])
    func `an implausible camera distance does not widen the tolerance`(camera: Int64) {
        #expect(
            StampDistances.excess(520_000_000, agent: 500_000_000, camera: camera) == 20_000_000)
    }

    @Test func `a delayed file start widens the tolerance on both sides`() {
        #expect(
            StampDistances.excess(
                460_000_000, agent: 500_000_000, camera: 480_000_000, delay: 18_000_000) == nil)
        #expect(
            StampDistances.excess(
                450_000_000, agent: 500_000_000, camera: 480_000_000, delay: 18_000_000)
                == -30_000_000)
    }

    @Test
    func `a record has the shift by a camera's timestamps, and then version 2`() throws {
        var track = RetimingRecord.Track(
            kind: .video, startTicks: 5,
            knots: [RetimingRecord.Knot(ticks: 5, shiftNanoseconds: -7, boundNanoseconds: 9)])
        let bounds = try #require(RetimingRecord.Bounds([9]))
        func record() -> RetimingRecord {
            RetimingRecord(before: bounds, after: bounds, tracks: [track])
        }
        #expect(record().encoded()[0] == 1)
        #expect(try RetimingRecord(parsing: record().encoded()) == record())
        track.camera = RetimingRecord.CameraUse(shifts: [3, 8_000_000, 1])
        #expect(track.camera?.medianNanoseconds == 3)
        #expect(record().encoded()[0] == 2)
        #expect(try RetimingRecord(parsing: record().encoded()) == record())
        #expect(RetimingRecord.CameraUse(shifts: [0, 0]) == nil)
    }

    @Test func `no size traps`() {
        let sizes: [Int64] = [
            .min, .min + 1, -1 << 62, -1, 0, 1, 1_000, Self.second, 86_400 * Self.second, 1 << 62,
            .max - 1, .max,
        ]
        for agent in sizes {
            for camera in sizes {
                for times in sizes {
                    for delay in sizes {
                        let excess = StampDistances.excess(
                            times, agent: agent, camera: camera, delay: delay)
                        if agent <= 0 { #expect(excess == nil) }
                    }
                }
            }
        }
    }
}
