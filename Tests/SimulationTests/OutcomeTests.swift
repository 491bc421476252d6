import Archive
import Foundation
import Testing

/// Detects unintended changes: for each seed in `Outcomes.txt`, compares the recordings, ledgers, descriptions and each
/// agent's received messages byte for byte.
///
/// After an intended change, `SIMULATION_OUTCOMES=write swift test --filter OutcomeTests` rewrites the file.
@Suite struct OutcomeTests {
    private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Outcomes.txt").path

    private func outcome(of seed: UInt64) throws -> String {
        try SimulationRun.inDirectory { root in
            var simulation = try SystemSimulation(
                seed: seed, trouble: SystemSimulation.trouble(of: seed), root: root)
            let violations = try simulation.run()
            #expect(violations == [], "seed \(seed)")
            return try simulation.digest().description
        }
    }

    @Test func `a seed has the recorded outcome`() throws {
        if ProcessInfo.processInfo.environment["SIMULATION_OUTCOMES"] == "write" {
            let lines = try SimulationRun.seeds(usually: 32).map { "\($0) \(try outcome(of: $0))" }
            try FileSystem.replace(
                Self.path, with: Array((lines.joined(separator: "\n") + "\n").utf8))
        }
        let text = String(
            decoding: try FileSystem.read(Self.path, limit: 1 << 20), as: UTF8.self)
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines.count >= 32)
        for line in lines {
            let seed = try #require(line.first.flatMap { UInt64($0) })
            let outcome = try outcome(of: seed)
            #expect(outcome == String(line[1]), "seed \(seed)")
        }
    }
}
