import Foundation
import Glibc
import Testing

/// Which seeds are tried, and where a simulation keeps its files.
enum SimulationRun {
    /// So many from 0 on, unless the environment says otherwise: `SIMULATION_SEEDS=10000` tries thousands, `SIMULATION_FIRST=N` begins
    /// with another one.
    static func seeds(usually count: UInt64) -> Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["SIMULATION_FIRST"].flatMap(UInt64.init) ?? 0
        return first..<first + (environment["SIMULATION_SEEDS"].flatMap(UInt64.init) ?? count)
    }

    /// Gives `body` a directory of its own, in memory where there is such a disk, and removes it.
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
