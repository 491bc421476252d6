package import Media

// For an owner that stores records on a disk: access to the records that are only in memory, to write them too.
extension AgentLink {
    /// A source's records that are in memory, oldest first and without a hole. Without a ``RecordWindow``, these are all that are
    /// kept.
    package func recordsInMemory(of source: Int) -> [KeptRecord<Payload>] {
        outboxes[source].records
    }

    /// Formats in force at the oldest of a source's records.
    package func oldestFormats(of source: Int) -> [TrackFormat] { outboxes[source].oldestFormats }

    /// The highest number of a source that this link has sent, or that the collector reported to have: if a collector has a
    /// higher one, it received it from another agent.
    package func highestSent(of source: Int) -> UInt64 {
        max(
            outboxes[source].fixedUpTo, outboxes[source].persisted, outboxes[source].mostReceived)
    }
}
