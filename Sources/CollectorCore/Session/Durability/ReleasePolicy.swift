/// When an agent may forget a record.
package enum ReleasePolicy: String, CaseIterable, Hashable, Sendable {
    /// When it is durable on the collector's disk.
    case local
    /// When it is in the object store as well: then even the loss of the collector with its disk loses nothing.
    case stored
}
