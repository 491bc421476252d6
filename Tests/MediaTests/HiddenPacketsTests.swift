import Media
import Testing

@Suite struct HiddenPacketsTests {
    /// The needed part of a track: lowercase packets are hidden, K and k are keyframes.
    private func needed(_ track: String, keepsStart: Bool = true) -> String {
        selected(track, keepsStart: keepsStart).needed
    }

    private func selected(
        _ track: String, keepsStart: Bool
    ) -> (needed: String, left: Int) {
        var hidden = HiddenPackets<Character>(keepsStart: keepsStart)
        var result = ""
        for packet in track {
            for kept in hidden.add(
                packet, isHidden: packet.isLowercase, isKeyframe: packet.lowercased() == "k")
            {
                result.append(kept)
            }
        }
        return (result, hidden.left)
    }

    @Test func `packets that are not needed are counted`() {
        #expect(selected("kppkpPP", keepsStart: true).left == 0)
        #expect(selected("kppkpPP", keepsStart: false).left == 3)
        #expect(selected("kkkKKkk", keepsStart: false).left == 4)
        #expect(selected("KPPpkpPP", keepsStart: true).left == 1)
    }

    @Test func `hidden packets before the start are kept for decoding`() {
        #expect(needed("kppkpPP") == "kppkpPP")
        #expect(needed("kppkpPP", keepsStart: false) == "kpPP")
    }

    @Test func `hidden packets after the end are dropped unless shown ones refer to them`() {
        #expect(needed("KPPpp") == "KPP")
        #expect(needed("KPpBBpk") == "KPpBB")
        #expect(needed("KPpkpp") == "KP")
    }

    @Test func `a later part begins with its keyframe`() {
        #expect(needed("KPppkpPP") == "KPkpPP")
    }
}
