import Testing

@testable import RTSP

/// Cameras whose clocks are wrong, in every way that cameras have.
@Suite struct StatedClockTests {
    /// 2026-11-26T20:00:00Z.
    private static let start: Int64 = 1_795_723_200_000_000_000
    private static let interval: Int64 = 5_000_000_000

    /// Reports every five seconds that take 2 to 12 ms; `ahead` says by how much the camera's clock is, after so long.
    private func findings(
        hours: Int64 = 1, ahead: (Int64) -> Int64
    ) -> [StatedClock.Finding] {
        var clock = StatedClock()
        var findings: [StatedClock.Finding] = []
        for index in 0..<(hours * 720) {
            let passed = index * Self.interval
            let sent = Self.start + passed
            let delay = 2_000_000 + (index * 7 % 11) * 1_000_000
            findings += clock.note(
                SenderReport(source: 1, ntp: ntp(sent + ahead(passed)), timestamp: 0),
                arrivalUTCNanoseconds: sent + delay)
        }
        return findings
    }

    private func ntp(_ utc: Int64) -> UInt64 {
        let seconds = UInt64(utc / 1_000_000_000 + 2_208_988_800)
        let fraction = UInt64(utc % 1_000_000_000) << 32 / 1_000_000_000
        return seconds << 32 | fraction
    }

    @Test func `a report's time is read`() {
        let read = StatedClock.utcNanoseconds(ntp: ntp(Self.start + 250_000_000))
        #expect((read - Self.start - 250_000_000).magnitude <= 1)
        #expect(StatedClock.utcNanoseconds(ntp: 0) == -2_208_988_800_000_000_000)
        _ = StatedClock.utcNanoseconds(ntp: .max)
    }

    @Test func `a correct clock has no findings`() {
        #expect(findings { _ in 0 } == [])
        #expect(findings { _ in -500_000_000 } == [])
    }

    @Test func `a clock that is an hour ahead is reported once, as a lower bound`() {
        let hour: Int64 = 3_600_000_000_000
        let own = findings { _ in hour }
        #expect(own.count == 1)
        guard case .ahead(let time)? = own.first else {
            Issue.record("\(own)")
            return
        }
        #expect(time <= hour && time >= hour - 12_000_001)
    }

    @Test func `a clock that is an hour behind is reported once, as an upper bound`() {
        let hour: Int64 = 3_600_000_000_000
        let own = findings { _ in -hour }
        #expect(own.count == 1)
        guard case .behind(let time)? = own.first else {
            Issue.record("\(own)")
            return
        }
        #expect(time >= hour && time <= hour + 12_000_001)
    }

    @Test func `a camera's clock that is set later has two findings`() {
        let own = findings { $0 < 1_800_000_000_000 ? -Self.start : 0 }
        #expect(own == [.neverSet, .right])
        var clock = StatedClock()
        let report = SenderReport(source: 1, ntp: 0, timestamp: 0)
        #expect(clock.note(report, arrivalUTCNanoseconds: Self.start) == [.neverSet])
    }

    @Test func `a drift of 200 ppm is reported`() {
        for ppm: Int64 in [200, -200] {
            let own = findings { $0 / 1_000_000 * ppm }
            let drifts = own.compactMap { if case .drift(let ppm) = $0 { ppm } else { nil } }
            #expect(drifts.count == 1)
            #expect((drifts.first ?? 0) - ppm >= -25 && (drifts.first ?? 0) - ppm <= 25)
        }
        #expect(findings { $0 / 1_000_000 * 10 } == [])
    }

    @Test func `a clock that is set back by ten seconds is reported`() {
        let own = findings { $0 < 1_800_000_000_000 ? 0 : -10_000_000_000 }
        guard own.count == 2, case .stepped(let step) = own[0], case .behind = own[1] else {
            Issue.record("\(own)")
            return
        }
        #expect((step + 10_000_000_000).magnitude < 20_000_000)
    }

    @Test func `a report with a delay of a second or two has no findings`() {
        #expect(findings { $0 / Self.interval % 7 == 0 ? -1_700_000_000 : 0 } == [])
        #expect(findings { $0 / Self.interval % 7 < 2 ? -700_000_000 : 0 } == [])
    }

    @Test func `findings complete a sentence about the camera's clock`() {
        #expect(
            StatedClock.Finding.ahead(nanoseconds: 3_600_000_000_000).description
                == "is ahead by at least 3600 s")
        #expect(
            StatedClock.Finding.stepped(nanoseconds: -1_500_000_000).description
                == "was set back by 1500 ms")
    }
}
