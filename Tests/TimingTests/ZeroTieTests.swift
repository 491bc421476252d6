import Testing
import Timing

@Suite("A session's zero on another clock")
struct ZeroTieTests {
    private static let second: Int64 = 1_000_000_000
    private static let millisecond: Int64 = 1_000_000

    /// A clock whose offset is constant.
    private func model(_ offset: Int64, bound: Int64, growth: Int64 = 0) -> ClockModel {
        ClockModel(
            referenceAgentNanoseconds: 0, offsetNanoseconds: offset, skewPPB: 0,
            boundNanoseconds: bound, boundGrowthPPB: growth, validFromAgentNanoseconds: 0)
    }

    /// A tie whose wall clock shows 30 s, to within 16 s.
    private var tie: ZeroTie<String> {
        ZeroTie(.init(nanoseconds: 30 * Self.second, errorNanoseconds: 16 * Self.second))
    }

    /// Adds a clock that places zero at `zero`, to within twice `bound`.
    private func observe(
        _ tie: inout ZeroTie<String>, _ clock: String, zero: Int64, bound: Int64
    ) -> Bool {
        tie.observe(
            clock, placed: model(-7 * Self.second, bound: bound),
            measured: model(zero - 7 * Self.second, bound: bound), at: 0)
    }

    @Test func `without an agent's clock, the wall clock gives zero`() {
        #expect(!tie.isTied)
        #expect(
            tie.zero == .init(nanoseconds: 30 * Self.second, errorNanoseconds: 16 * Self.second))
    }

    @Test func `an agent's clock gives zero, whatever the wall clock shows`() {
        var tie = tie
        #expect(observe(&tie, "one", zero: 90 * Self.second, bound: Self.millisecond))
        #expect(tie.isTied)
        #expect(abs(tie.zero.nanoseconds - 90 * Self.second) <= 1)
        #expect(abs(tie.zero.errorNanoseconds - 2 * Self.millisecond) < 100)
    }

    @Test func `a clock beyond the limit does not move zero, and keeps its own place`() {
        let wall = ZeroTie<String>.Zero(
            nanoseconds: 30 * Self.second, errorNanoseconds: Self.second)
        var tie = ZeroTie<String>(wall, limit: 27 * Self.second...33 * Self.second)
        #expect(!observe(&tie, "lying", zero: 90 * Self.second, bound: 100))
        #expect(!tie.isTied && tie.zero == wall)
        #expect(abs(tie.zero(of: "lying").nanoseconds - 90 * Self.second) < 300)
        #expect(observe(&tie, "one", zero: 32 * Self.second, bound: Self.millisecond))
        #expect(tie.isTied)
        #expect(abs(tie.zero.nanoseconds - 32 * Self.second) <= 1)
    }

    @Test func `ranges of several clocks are intersected`() {
        var tie = tie
        _ = observe(&tie, "one", zero: 90 * Self.second, bound: Self.millisecond)
        _ = observe(&tie, "two", zero: 90 * Self.second + 3_600_000, bound: Self.millisecond)
        #expect(abs(tie.zero.nanoseconds - (90 * Self.second + 1_800_000)) <= 10)
        #expect(abs(tie.zero.errorNanoseconds - 200_000) < 100)
    }

    @Test func `a clock that contradicts two others is outvoted, and keeps its own place`() {
        var tie = tie
        _ = observe(&tie, "wrong", zero: 80 * Self.second, bound: 100)
        _ = observe(&tie, "one", zero: 90 * Self.second, bound: Self.millisecond)
        _ = observe(&tie, "two", zero: 90 * Self.second, bound: Self.millisecond)
        #expect(abs(tie.zero.nanoseconds - 90 * Self.second) <= 1)
        #expect(abs(tie.zero(of: "wrong").nanoseconds - 80 * Self.second) < 300)
        #expect(tie.zero(of: "one") == tie.zero)
    }

    @Test func `measured clocks outvote those that the wall clock placed`() {
        var tie = tie
        _ = observe(&tie, "by wall", zero: 30 * Self.second, bound: 16 * Self.second)
        _ = observe(&tie, "by wall, too", zero: 30 * Self.second, bound: 16 * Self.second)
        #expect(!tie.isTied)
        _ = observe(&tie, "measured", zero: 90 * Self.second, bound: Self.millisecond)
        #expect(tie.isTied)
        #expect(abs(tie.zero.nanoseconds - 90 * Self.second) <= 1)
    }

    @Test func `zero moves only if its error is halved or its value is excluded`() {
        var tie = tie
        _ = observe(&tie, "one", zero: 90 * Self.second, bound: Self.millisecond)
        let before = tie.zero.nanoseconds
        _ = observe(&tie, "one", zero: 90 * Self.second + 200_000, bound: Self.millisecond)
        #expect(tie.zero.nanoseconds == before)
        _ = observe(&tie, "one", zero: 90 * Self.second + 200_000, bound: 50_000)
        #expect(abs(tie.zero.nanoseconds - (90 * Self.second + 200_000)) <= 10)
        #expect(tie.zero.errorNanoseconds <= 100_100)
    }

    @Test func `extreme clocks do not trap`() {
        var tie = tie
        for offset in [Int64.min, .max, 0] {
            _ = tie.observe(
                "one", placed: model(offset, bound: .max), measured: model(.max, bound: 0), at: .min
            )
            _ = tie.observe(
                "two", placed: model(.max, bound: 0), measured: model(offset, bound: 0), at: .max)
        }
    }
}
