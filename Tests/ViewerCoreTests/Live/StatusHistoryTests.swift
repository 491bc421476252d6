import Testing

@testable import ViewerCore

/// The history of the last hour.
@Suite struct StatusHistoryTests {
    private static let step = StatusHistory.stepSeconds * 1_000_000_000
    private static let second: Int64 = 1_000_000_000

    private let history = StatusHistory()

    private struct Source {
        var name = "door"
        var lag: Double? = 0.2
        var bits = 1_000_000.0
        var lost = 0.0
        var gaps: [(cause: String, count: Int)] = []

        var json: String {
            let causes = gaps.map { #"{"cause":"\#($0.cause)","count":\#($0.count),"samples":1}"# }
            let lag = lag.map { #""lagSeconds":\#($0),"# } ?? ""
            return #"{"name":"\#(name)","agent":"box","isConnected":true,"isRecorded":true,"#
                + #""isStopped":false,"picturesPerSecond":15,"bitsPerSecond":\#(bits),\#(lag)"#
                + #""spoolBytes":1234,"clockBoundSeconds":0.000123456,"persistedAgeSeconds":1,"#
                + #""lostSamples":\#(lost),"gaps":[\#(causes.joined(separator: ","))]}"#
        }
    }

    private func tell(_ sources: [Source], at now: Int64) {
        let disk =
            #"{"removesOldSegments":false,"filesWithoutRoom":0,"stuckFiles":0,"busySeconds":0}"#
        let json =
            #"{"version":"1","isReady":true,"refusedConnections":0,"disk":\#(disk),"#
            + #""sources":[\#(sources.map(\.json).joined(separator: ","))],"omittedSources":0}"#
        history.take(status: Array(json.utf8), now: now)
    }

    private func answer(_ now: Int64, to name: String? = nil) -> StatusHistory.Answer {
        history.answer(now: now) { name == nil || $0 == name }
    }

    @Test func `there are no figures before the first status`() {
        #expect(answer(Self.step).sources.isEmpty)
    }

    @Test func `a step has its highest lag and its last bit rate`() throws {
        let start = 100 * Self.step
        tell([Source(lag: 0.2, bits: 1e6)], at: start)
        tell([Source(lag: 3.5, bits: 2e6)], at: start + 5 * Self.second)
        tell([Source(lag: 0.3, bits: 3e6, lost: 7)], at: start + 10 * Self.second)
        let answer = answer(start + 12 * Self.second)
        let door = try #require(answer.sources.first)
        #expect(
            door.figures[.lagSeconds] == [3.5] && door.figures[.bitsPerSecond] == [3e6]
                && door.figures[.lostSamples] == [7])
        #expect(answer.lastStepAgeSeconds == 12 && answer.stepSeconds == 15)
        #expect(
            door.figures[.clockBoundSeconds] == [0.000123] && door.figures[.spoolBytes] == [1230])
    }

    @Test func `an unknown name is distinguished from a source without figures`() {
        #expect(history.knows("door") == nil)
        tell([Source()], at: 100 * Self.step)
        #expect(history.knows("door") == true && history.knows("yard") == false)
    }

    @Test func `a status is read every five seconds`() throws {
        let start = 100 * Self.step
        tell([Source(lag: 0.2)], at: start)
        for ago in 1...4 { tell([Source(lag: 9)], at: start + Int64(ago) * Self.second) }
        #expect(try #require(answer(start).sources.first).figures[.lagSeconds] == [0.2])
    }

    @Test func `one hour of steps is kept`() throws {
        for step in 0..<300 { tell([Source(lag: Double(step))], at: Int64(step) * Self.step) }
        let door = try #require(answer(299 * Self.step).sources.first)
        #expect(door.figures[.lagSeconds] == (60..<300).map { Double($0) })
    }

    @Test func `steps without figures are null`() throws {
        tell([Source(), Source(name: "stage")], at: 10 * Self.step)
        tell([Source(lag: nil), Source(name: "stage")], at: 11 * Self.step)
        tell([Source(name: "stage")], at: 12 * Self.step)
        tell([Source(), Source(name: "stage")], at: 14 * Self.step)
        let door = try #require(answer(14 * Self.step).sources.first)
        #expect(door.figures[.lagSeconds] == [0.2, nil, nil, nil, 0.2])
        // After an hour of silence from the collector, it starts empty.
        tell([Source()], at: 400 * Self.step)
        #expect(
            try #require(answer(400 * Self.step).sources.first).figures[.lagSeconds]?.last == 0.2)
        #expect(answer(400 * Self.step).sources.map(\.name) == ["door"])
    }

    @Test func `an old source leaves the history`() {
        tell([Source()], at: 10 * Self.step)
        #expect(answer(249 * Self.step).sources.first?.figures[.lagSeconds]?.count == 1)
        #expect(answer(250 * Self.step).sources.isEmpty)
    }

    @Test func `stops by command are not counted as gaps`() throws {
        tell([Source(gaps: [("command", 3), ("restart", 2), ("overrun", 1)])], at: Self.step)
        #expect(try #require(answer(Self.step).sources.first).figures[.gaps] == [3])
    }

    @Test func `a viewer gets figures of the sources that it may read`() {
        tell([Source(), Source(name: "stage")], at: Self.step)
        #expect(answer(Self.step, to: "stage").sources.map(\.name) == ["stage"])
    }

    @Test func `at most as many sources are kept as a status can have`() {
        tell((0..<600).map { Source(name: "source\($0)") }, at: Self.step)
        #expect(answer(Self.step).sources.count == StatusHistory.maximumSources)
    }

    @Test func `an invalid status changes nothing`() {
        history.take(status: Array("{}".utf8), now: Self.step)
        history.take(status: [0xFF, 0x00], now: 2 * Self.step)
        #expect(answer(2 * Self.step).sources.isEmpty)
    }
}
