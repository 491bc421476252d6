import Testing

@testable import Media

@Suite struct KeyframeGateTests {
    @Test func `everything passes until something is dropped`() {
        var gate = KeyframeGate()
        #expect(gate.admits(beginsDecodable: false))
        #expect(gate.admits(beginsDecodable: true))
        #expect(!gate.isSkipping)
    }

    @Test func `after a drop, samples pass from the next keyframe on`() {
        var gate = KeyframeGate()
        gate.skip()
        #expect(gate.isSkipping)
        #expect(
            [false, false, true, false].map { gate.admits(beginsDecodable: $0) } == [
                false, false, true, true,
            ])
        #expect(!gate.isSkipping)
    }

    @Test func `who joins in the middle of a group begins with the next keyframe`() {
        var gate = KeyframeGate(isSkipping: true)
        #expect(!gate.admits(beginsDecodable: false))
        #expect(gate.admits(beginsDecodable: true))
    }

    @Test func `several drops before a keyframe are one`() {
        var gate = KeyframeGate()
        #expect([gate.skip(), gate.skip()] == [true, false])
        #expect(gate.admits(beginsDecodable: true))
        let isNews = gate.skip()
        #expect(isNews)
    }

    @Test func `of sound alone, decoding can begin anywhere`() {
        var gate = KeyframeGate()
        gate.skip()
        #expect(gate.admits(beginsDecodable: DecodingStart.isPossible(at: nil, hasVideo: false)))
    }
}
