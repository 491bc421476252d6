package import Media

/// Access to the durable records, for the link.
package protocol DurabilityLookup {
    /// The archived records of a source, in a spool's numbering.
    func archived(source: String, spool: SpoolID) -> ArchivedRecords
    /// The number up to which no record has to be kept by its agent; nil: that of the durable records.
    /// - Parameter keptFrom: the agent has no record before this one.
    func released(source: String, spool: SpoolID, keptFrom: UInt64) -> UInt64?
}

extension DurabilityLookup {
    /// The number up to which every record of a source is durable; 0: none.
    func persisted(_ source: String, _ spool: SpoolID) -> UInt64 {
        archived(source: source, spool: spool).persisted
    }

    package func released(source: String, spool: SpoolID, keptFrom: UInt64) -> UInt64? { nil }
}

/// The archived records of a source, in one spool's numbering.
package struct ArchivedRecords: Hashable, Sendable {
    /// Every record up to this one is durable; 0: none.
    package var persisted: UInt64
    /// The number of the source's goodbye, if it is among them.
    package var goodbye: UInt64?
    /// The highest term under which the spool was sent; 0: none.
    package var term: UInt64

    package init(persisted: UInt64 = 0, goodbye: UInt64? = nil, term: UInt64 = 0) {
        self.term = term
        self.persisted = persisted
        self.goodbye = goodbye
    }
}
