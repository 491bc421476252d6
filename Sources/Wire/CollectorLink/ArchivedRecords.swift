/// What an archive has of a source, in one spool's numbering.
package struct ArchivedRecords: Hashable, Sendable {
    /// Every record up to this one is durable; 0: none.
    package var persisted: UInt64
    /// The number of the source's goodbye, when that is among them.
    package var goodbye: UInt64?

    package init(persisted: UInt64 = 0, goodbye: UInt64? = nil) {
        self.persisted = persisted
        self.goodbye = goodbye
    }
}
