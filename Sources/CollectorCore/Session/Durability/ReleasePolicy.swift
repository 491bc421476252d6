/// When an agent may delete a record.
package enum ReleasePolicy: String, CaseIterable, Hashable, Sendable {
    /// When it is durable on the collector's disk.
    case local
    /// When it is durable on the disks of two collectors: then nothing is lost with one of them.
    case mirrored
    /// When it is in the object store as well: then nothing is lost with the collector's disk.
    case stored

    /// Whether a record counts when the object store has it.
    package var waitsForStore: Bool {
        switch self {
        case .stored: true
        case .local, .mirrored: false
        }
    }

    /// Whether a record counts when two collectors have it.
    package var needsTwoCollectors: Bool {
        switch self {
        case .mirrored: true
        case .local, .stored: false
        }
    }
}
