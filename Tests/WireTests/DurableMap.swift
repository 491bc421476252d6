import Media

@testable import Wire

/// What is durable, as a test says it is.
struct DurableMap: DurabilityLookup {
    /// Of what was never spoken of.
    var otherwise = ArchivedRecords()
    private var records: [String: [SpoolID: ArchivedRecords]] = [:]

    init(otherwise: ArchivedRecords = ArchivedRecords()) { self.otherwise = otherwise }

    mutating func persist(_ source: String, _ spool: SpoolID, through sequence: UInt64) {
        records[source, default: [:]][spool, default: otherwise].persisted = sequence
    }

    func archived(source: String, spool: SpoolID) -> ArchivedRecords {
        records[source]?[spool] ?? otherwise
    }
}
