import Testing

@testable import ViewerCore

/// Under which name a clip is saved.
@Suite struct ClipNameTests {
    private func name(_ from: Double?, _ until: Double?) -> String {
        "\(ClipName(session: "s", what: "door", fromNanoseconds: from.map { Int64($0 * 1e9) }, untilNanoseconds: until.map { Int64($0 * 1e9) }))"
    }

    @Test func `clips of different ranges have different names, without colons`() {
        #expect(name(nil, nil) == "s_door.mp4")
        #expect(name(83.5, 90) == "s_door_1m23.500s-1m30.000s.mp4")
        #expect(name(3_723, nil) == "s_door_1h02m03.000s-end.mp4")
        #expect(name(nil, 2) == "s_door_begin-0m02.000s.mp4")
    }

    @Test func `names of clips with the time, and of archives, differ`() {
        let clip = ClipName(
            session: "s", what: ClipName.names(of: ["door", "hall"]), fromNanoseconds: nil,
            untilNanoseconds: nil, showsTime: true, ending: "zip")
        #expect("\(clip)" == "s_door+hall_time.zip")
        #expect(ClipName.names(of: ["a", "b", "c", "d", "e"]) == "5-sources")
        #expect(
            ClipName.names(of: [String(repeating: "x", count: 64), "y", "z", "yard-at-the-end"])
                == "4-sources")
    }
}
