import Media

@testable import Wire

/// Durable records, set by a test.
struct DurableMap: DurabilityLookup {
    /// For sources not set.
    var otherwise = ArchivedRecords()
    private var records: [String: [SpoolID: ArchivedRecords]] = [:]
    /// The store's sequence for every source and spool; nil: agents do not wait for a store.
    var stored: UInt64?

    init(otherwise: ArchivedRecords = ArchivedRecords()) { self.otherwise = otherwise }

    mutating func persist(_ source: String, _ spool: SpoolID, through sequence: UInt64) {
        records[source, default: [:]][spool, default: otherwise].persisted = sequence
    }

    func released(source: String, spool: SpoolID, keptFrom: UInt64) -> UInt64? {
        stored.map { max($0, keptFrom - 1) }
    }

    func archived(source: String, spool: SpoolID) -> ArchivedRecords {
        records[source]?[spool] ?? otherwise
    }
}
