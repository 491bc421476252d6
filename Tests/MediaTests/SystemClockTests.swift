import Testing

@testable import Media

@Suite struct SystemClockTests {
    @Test(arguments: [
        ("monotonic           0         0\nboottime            0         0\n", "0 0"),
        ("monotonic        -500 250000000\nboottime            7         0\n", "-500 250000000"),
        ("boottime            7         0\nmonotonic          12         0\n", "12 0"),
    ])
    func `a time namespace's monotonic clock is named by its offset`(text: String, zero: String) {
        #expect(SystemClock.monotonicZero(inOffsets: text) == zero)
    }

    @Test(arguments: ["", "boottime 7 0\n", "monotonic\n", "monotonic 1 2 3\n"])
    func `offsets without a monotonic clock name none`(text: String) {
        #expect(SystemClock.monotonicZero(inOffsets: text) == nil)
    }

    @Test func `the identity is stable, and is one line`() throws {
        let first = try #require(SystemClock.monotonicIdentity())
        #expect(first == SystemClock.monotonicIdentity())
        #expect(!first.contains("\n"))
    }
}
