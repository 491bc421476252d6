import Testing

@testable import AgentCore

struct `The doctor's clock measurement` {
    @Test(arguments: [(81_700, "0.082 ms"), (1_000_000, "1.000 ms"), (12_345_499, "12.345 ms")])
    func `a duration has three decimals`(_ nanoseconds: Int64, _ text: String) {
        #expect(CollectorCheck.milliseconds(nanoseconds) == text)
    }
}
