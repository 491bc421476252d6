import Foundation
import Testing

@testable import Wire

/// Agents and collectors of different minor versions, as while servers and boxes are upgraded one after the other.
@Suite struct MixedVersionTests {
    static let history: ProtocolHistory? = {
        let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        do {
            return ProtocolHistory(
                try ["tributary", "command"].map {
                    try String(
                        contentsOf: root.appending(path: "proto/tributary/v1/\($0).proto"),
                        encoding: .utf8)
                })
        } catch {
            return nil
        }
    }()

    @Test func `the definition states the version of each field`() throws {
        let history = try #require(Self.history)
        #expect(history.version(of: 4, in: "Hello") == 0)
        #expect(history.version(of: 11, in: "Hello") == 9)
        #expect(history.version(of: 6, in: "SourceState") == 6)
        #expect(history.version(of: 3, in: "Ack") == 7)
        #expect(history.version(of: 33, in: "Envelope") != nil)
        #expect(history.version(of: 99, in: "Hello") == nil)
        #expect(history.versions.max() == WireLimits.minor)
    }

    @Test func `fields that an earlier version lacks are removed, also nested ones`() throws {
        let history = try #require(Self.history)
        var hello = Fixtures.hello()
        hello.statement.term = 7
        hello.statement.hasOthers = true
        hello.sources[0].firstSequence = 30
        hello.sources[0].held = [HeldRange(collector: "west", sequences: 1...29)]
        let bytes = WireMessage.hello(hello).encoded()
        #expect(
            try WireMessage(decoding: history.message(bytes, in: WireLimits.minor)) == .hello(hello)
        )
        var earlier = hello
        earlier.statement.term = 0
        earlier.statement.hasOthers = false
        earlier.sources[0].held = []
        #expect(try WireMessage(decoding: history.message(bytes, in: 8)) == .hello(earlier))
    }

    /// Each side of the step before, and of all earlier ones since records were gathered.
    @Test(arguments: [true, false], 5...WireLimits.minor - 1)
    func `agents and collectors of different versions lose nothing`(
        isAgentOlder: Bool, minor: UInt32
    ) throws {
        let history = try #require(Self.history)
        for seed in 1...(minor + 1 == WireLimits.minor ? 4 : 1) as ClosedRange<UInt64> {
            var simulation = LinkSimulation(seed: seed, gathers: seed.isMultiple(of: 2))
            simulation.older = .init(minor: minor, isAgent: isAgentOlder, history: history)
            simulation.run()
            #expect(simulation.isFinished, "seed \(seed)")
            #expect(simulation.breaks > 0, "seed \(seed)")
        }
    }
}
