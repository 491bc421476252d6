/// When an agent may delete a record.
package enum ReleasePolicy: String, CaseIterable, Hashable, Sendable {
    /// When it is durable on the collector's disk.
    case local
    /// When it is durable on the disks of two collectors: then nothing is lost with one of them.
    case mirrored
    /// When it is in the object store as well: then nothing is lost with the collector's disk.
    case stored
}
