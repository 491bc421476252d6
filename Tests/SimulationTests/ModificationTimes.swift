import Foundation

/// Modification times of an archive's files, which a simulation must not leave to the wall clock.
enum ModificationTimes {
    /// Gives all files one time. Recovery does not read a file that was last written a minute before others: on a busy machine a
    /// simulated second may take that long, and the outcome of a seed would depend on it.
    static func level(_ root: String) throws {
        guard let names = FileManager.default.enumerator(atPath: root) else { return }
        let time = Date(timeIntervalSince1970: 1_800_000_000)
        for case let name as String in names {
            try FileManager.default.setAttributes(
                [.modificationDate: time], ofItemAtPath: "\(root)/\(name)")
        }
    }
}
