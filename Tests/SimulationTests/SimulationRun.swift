import Foundation
import Glibc
import Testing

/// The seeds to run, and the directory of a simulation's files.
enum SimulationRun {
    /// `count` seeds from 0. `SIMULATION_SEEDS=10000` runs thousands; `SIMULATION_FIRST=N` begins with another one.
    static func seeds(usually count: UInt64) -> Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["SIMULATION_FIRST"].flatMap(UInt64.init) ?? 0
        return first..<first + (environment["SIMULATION_SEEDS"].flatMap(UInt64.init) ?? count)
    }

    /// Whether the history of a failed run has the messages of the protocol (`SIMULATION_TRACE=1`).
    static let isTraced = ProcessInfo.processInfo.environment["SIMULATION_TRACE"] != nil

    /// Calls `body` with a temporary directory, in memory where possible, and removes it.
    static func inDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
        let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
        let root = "\(base)/tributary-\(getpid())-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(atPath: root)
            } catch {
                Issue.record("\(error)")
            }
        }
        return try body(root)
    }
}
