import Testing
import Wire

@testable import CollectorCore

struct `An intake's guard` {
    private static let mebibyte = 1 << 20

    /// One connection and the process's memory, as they change between checks.
    private struct Scene {
        var intake = IntakeGuard()
        var reading: IntakeGuard.Reading
        var residentBytes = 30 << 20
        var drains = 0

        init(sources: Int) {
            reading = IntakeGuard.Reading(
                readBytes: 0, segments: 0, takenBytes: 0, sources: sources)
        }

        /// The next check, after these bytes were read, consumed and allocated.
        mutating func look(
            read: Int = 0, taken: Int = 0, grown: Int = 0, isDrained: Bool = true
        ) -> IntakeGuard.Excess? {
            reading.readBytes += read
            reading.takenBytes += taken
            // In Ethernet's segments.
            reading.segments += (read + 1_447) / 1_448
            residentBytes += grown
            drains += isDrained ? 1 : 0
            return intake.look(at: [7: reading], residentBytes: residentBytes, drains: drains)[7]
        }
    }

    @Test func `allows an unwelcomed connection the largest Hello, and no more`() {
        var scene = Scene(sources: 0)
        #expect(scene.look(read: 600) == nil)
        #expect(scene.look(read: WireLimits.headerBytes) == nil)
        #expect(scene.look(read: IntakeGuard.strangerBytes) != nil)
    }

    @Test func `also counts segments of an unwelcomed connection, each may keep a buffer alive`() {
        var scene = Scene(sources: 0)
        for _ in 0..<IntakeGuard.strangerSegments { #expect(scene.look(read: 36) == nil) }
        #expect(scene.look(read: 36) == .beforeWelcome(36 * 1_025))
    }

    @Test func `allows clock probes without a limit, with the transport's heartbeats`() {
        var scene = Scene(sources: 0)
        #expect(scene.look(read: 300) == nil)
        for _ in 0..<20_000 { #expect(scene.look(read: 50 + 11, taken: 50) == nil) }
    }

    @Test func `limits unfinished bytes also if heartbeats are in between`() {
        var scene = Scene(sources: 0)
        var excess: IntakeGuard.Excess?
        // A message is finished now and then, and much more is begun: the most that is ever unfinished is bounded.
        for _ in 0..<2_000 where excess == nil {
            excess = scene.look(read: 4_000 + 50, taken: 50)
        }
        #expect(excess == nil, "what was absorbed is not more than a look allows")
        let most = scene.reading.readBytes - scene.reading.takenBytes
        #expect(scene.look(taken: most) == nil)
        #expect(scene.look(read: IntakeGuard.strangerBytes + 1) != nil)
    }

    @Test func `allows an agent its credit while the collector is suspended`() {
        var scene = Scene(sources: 2)
        let credit = 2 * Int(WireLimits.creditWindowBytes)
        #expect(scene.look(read: credit, grown: credit, isDrained: false) == nil)
        #expect(scene.look(read: 1_000, isDrained: false) == nil)
        #expect(scene.look(taken: credit, isDrained: false) == nil)
        #expect(
            scene.look(read: credit + IntakeGuard.spareBytes + 1, isDrained: false) != nil)
    }

    @Test func `ends an agent whose message is not finished while memory grows`() {
        var scene = Scene(sources: 1)
        #expect(scene.look(read: 300) == nil)
        #expect(scene.look(read: 50_000, taken: 50_000) == nil)
        // Empty parts: two bytes of the wire, 64 of memory.
        #expect(scene.look(read: Self.mebibyte, grown: 32 << 20, isDrained: false) == nil)
        #expect(scene.intake.isSuspicious)
        // Only an empty socket proves that its bytes are part of an incomplete message; one just found empty may have
        // been counted late.
        #expect(scene.look(isDrained: false) == nil)
        #expect(scene.look() == nil)
        #expect(scene.look() == .unfinished(Self.mebibyte))
    }

    @Test
    func `allows a slow long message while memory grows for others`() {
        var scene = Scene(sources: 1)
        // A second of pictures over a one-megabit uplink cannot account for the memory's growth.
        for _ in 0..<50 { #expect(scene.look(read: 10_000, grown: 1 << 20) == nil) }
        #expect(scene.look(read: 8 << 20, grown: 16 << 20) == nil)
        let excesses = (0..<3).compactMap { _ in scene.look() }
        #expect(!excesses.isEmpty, "by now it can be")
    }

    @Test func `allows an agent with complete messages while memory grows for others`() {
        var scene = Scene(sources: 1)
        for _ in 0..<100 {
            #expect(scene.look(read: 400_000, taken: 0, grown: 10 << 20) == nil)
            #expect(scene.look(taken: 400_000, grown: 10 << 20) == nil)
        }
    }

    @Test func `ends the largest of the unwelcomed connections if all together have too much`() {
        var intake = IntakeGuard()
        var readings: [Int32: IntakeGuard.Reading] = [:]
        for descriptor in Int32(0)..<100 {
            readings[descriptor] = IntakeGuard.Reading(
                readBytes: descriptor < 40 ? 400_000 : 2_000, segments: 1, takenBytes: 0,
                sources: 0)
        }
        let excesses = intake.look(at: readings, residentBytes: 0, drains: 0)
        #expect(excesses.keys.allSatisfy { $0 < 40 })
        #expect(40 * 400_000 + 60 * 2_000 - excesses.count * 400_000 <= IntakeGuard.strangersBytes)
        #expect(excesses.count < 40)
    }
}
