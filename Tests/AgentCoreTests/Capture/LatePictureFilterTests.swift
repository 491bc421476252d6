import Media
import Testing

@testable import AgentCore

@Suite struct LateGateTests {
    private static let interval: Int64 = 33_333_333

    /// An encoder that needs `cost` for a picture, behind a camera of 30 pictures a second that never waits.
    private func run(
        _ policy: LatePolicy, costNanoseconds cost: Int64, pictures: Int64
    ) -> (encoded: [Int64], losses: [CaptureLoss], latest: Int64) {
        var gate = LatePictureFilter(policy)
        var losses: [CaptureLoss] = []
        var encoded: [Int64] = []
        var now: Int64 = 0
        var latest: Int64 = 0
        for number in 0..<pictures {
            let captured = number * Self.interval
            now = max(now, captured)
            let isAdmitted = gate.admits(
                captureNanoseconds: captured, durationNanoseconds: Self.interval,
                nowNanoseconds: now
            ) { losses.append($0) }
            guard isAdmitted else { continue }
            latest = max(latest, now - captured)
            encoded.append(number)
            now += cost
        }
        gate.flush { losses.append($0) }
        return (encoded, losses, latest)
    }

    @Test(arguments: LatePolicy.allCases)
    func `an encoder that is fast enough loses no picture`(policy: LatePolicy) {
        let result = run(policy, costNanoseconds: 30_000_000, pictures: 300)
        #expect(result.encoded.count == 300)
        #expect(result.losses.isEmpty)
    }

    @Test(arguments: LatePolicy.allCases)
    func `a slow encoder gets the pictures that it can encode, and the others are counted`(
        policy: LatePolicy
    ) {
        // Half the necessary rate, for a minute.
        let result = run(policy, costNanoseconds: 2 * Self.interval, pictures: 1_800)
        let lost = result.losses.reduce(0) { $0 + $1.samples }
        #expect(result.encoded.count + lost == 1_800)
        #expect(lost > 700)
        #expect(result.losses.allSatisfy { $0.cause == .encoderOverload && $0.track == .video })
        #expect(result.latest <= policy.patienceNanoseconds)
        for loss in result.losses {
            let end = loss.startNanoseconds + loss.durationNanoseconds
            #expect(loss.durationNanoseconds == Int64(loss.samples) * Self.interval)
            #expect(
                !result.encoded.contains {
                    (loss.startNanoseconds..<end).contains($0 * Self.interval)
                })
        }
    }

    @Test func `an encoder stall loses pictures only if late ones are dropped`() {
        func lost(_ policy: LatePolicy) -> Int {
            var gate = LatePictureFilter(policy)
            var lost = 0
            var now: Int64 = 0
            for number in 0..<300 as Range<Int64> {
                let captured = number * Self.interval
                // For two seconds nothing at all is encoded.
                now = max(now, captured)
                if number == 30 { now += 2_000_000_000 }
                let isAdmitted = gate.admits(
                    captureNanoseconds: captured, durationNanoseconds: Self.interval,
                    nowNanoseconds: now
                ) { lost += $0.samples }
                if isAdmitted { now += 10_000_000 }
            }
            gate.flush { lost += $0.samples }
            return lost
        }
        #expect(lost(.keep) == 0)
        #expect((30...60).contains(lost(.drop)))
    }
}
