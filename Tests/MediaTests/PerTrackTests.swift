import Media
import Testing

struct `A value for each track` {
    @Test func `is found under its own track alone`() {
        var values: PerTrack<Int> = [.audio: 2]
        #expect(values[.video] == nil)
        #expect(values[.audio] == 2)
        values[.video] = 1
        values[.audio]? += 3
        #expect(values[.video] == 1)
        #expect(values.values == [1, 5])
    }

    @Test func `is removed when it is set to nil`() {
        var values: PerTrack<Int> = [.video: 1]
        #expect(!values.isEmpty)
        values[.video] = nil
        #expect(values.isEmpty)
        #expect(values == PerTrack())
    }

    @Test func `is made of pairs, video first`() {
        let pairs: [(TrackKind, String)] = [(.audio, "sound"), (.video, "pictures")]
        #expect(PerTrack(uniqueKeysWithValues: pairs).values == ["pictures", "sound"])
    }
}
