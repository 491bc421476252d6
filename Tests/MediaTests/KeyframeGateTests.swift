import Testing

@testable import Media

@Suite struct KeyframeGateTests {
    /// The samples that pass.
    private func passing(_ gate: inout KeyframeGate, _ beginsDecodable: [Bool]) -> [Bool] {
        var passed: [Bool] = []
        for begins in beginsDecodable { passed.append(gate.admits(beginsDecodable: begins)) }
        return passed
    }

    @Test func `everything passes until something is dropped`() {
        var gate = KeyframeGate()
        let passed = passing(&gate, [false, true, false])
        #expect(passed == [true, true, true])
        #expect(!gate.isSkipping)
    }

    @Test func `after a drop, samples pass from the next keyframe on`() {
        var gate = KeyframeGate()
        gate.skip()
        #expect(gate.isSkipping)
        let passed = passing(&gate, [false, false, true, false])
        #expect(passed == [false, false, true, true])
        #expect(!gate.isSkipping)
    }

    @Test func `a queue that starts within a group of pictures starts with the next keyframe`() {
        var gate = KeyframeGate(isSkipping: true)
        let passed = passing(&gate, [false, true])
        #expect(passed == [false, true])
    }

    @Test func `several drops before a keyframe are counted as one`() {
        var gate = KeyframeGate()
        var news = [gate.skip(), gate.skip()]
        _ = gate.admits(beginsDecodable: true)
        news.append(gate.skip())
        #expect(news == [true, false, true])
    }

    @Test func `sound without pictures passes after a drop`() {
        var gate = KeyframeGate()
        gate.skip()
        let passed = passing(&gate, [DecodingStart.isPossible(at: nil, hasVideo: false)])
        #expect(passed == [true])
    }
}
