import Foundation
import Testing

@testable import SyncCheck

@Suite struct BeepFinderTests {
    /// A second of sound with a beep at a time that need not be a frame's.
    private func sound(rate: Int, beepAtSeconds start: Double, hertz: Double = 1000) -> [Double] {
        (0..<rate).map { frame in
            let time = Double(frame) / Double(rate) - start
            return (0..<0.02).contains(time) ? 0.5 * sin(2 * .pi * hertz * time) : 0
        }
    }

    private func beeps(_ sound: [Double], rate: Int) -> [Double] {
        var finder = BeepFinder(sampleRate: rate)
        return sound.compactMap { finder.add($0) }
    }

    @Test(arguments: [8_000, 16_000, 22_050, 44_100, 48_000, 96_000])
    func `a beep is found to a hundredth of a sample at any rate`(rate: Int) throws {
        for part in [0.0, 0.25, 0.5, 0.93] {
            let frame = Double(rate / 3) + part
            let found = beeps(sound(rate: rate, beepAtSeconds: frame / Double(rate)), rate: rate)
            try #require(found.count == 1)
            // A window of 44.1 kHz and its like holds twenty periods to within a frame.
            #expect(abs(found[0] - frame) < 0.05, "frame \(frame), found \(found[0])")
        }
    }

    @Test func `noise and a smeared beginning move a beep by less than a frame`() throws {
        var random = SystemRandomNumberGenerator()
        let clean = sound(rate: 48_000, beepAtSeconds: 0.4)
        // A codec's echo before the attack, and noise at −40 dBFS.
        let dirty = clean.indices.map { index in
            let echo = index + 200 < clean.count ? clean[index + 200] * 0.1 : 0
            return clean[index] + echo + Double.random(in: -0.01...0.01, using: &random)
        }
        let found = beeps(dirty, rate: 48_000)
        try #require(found.count == 1)
        #expect(abs(found[0] - 19_200) < 1)
    }

    @Test func `a long tone, another tone and noise are not beeps`() {
        let long = (0..<48_000).map { 0.5 * sin(2 * .pi * 1000 * Double($0) / 48_000) }
        #expect(beeps(long + [Double](repeating: 0, count: 48_000), rate: 48_000).isEmpty)
        let other = sound(rate: 48_000, beepAtSeconds: 0.5, hertz: 3_000)
        #expect(beeps(other, rate: 48_000).isEmpty)
        var random = SystemRandomNumberGenerator()
        let noise = (0..<96_000).map { _ in Double.random(in: -1...1, using: &random) }
        #expect(beeps(noise, rate: 48_000).isEmpty)
    }
}
