package import Media

// What whoever keeps records on a disk has to know of those that are in memory alone: to write them there, too.
extension AgentLink {
    /// A source's records that are in memory and may not be durable at the collector, oldest first and without a hole; all there
    /// are, where the link has no ``RecordWindow``.
    package func recordsInMemory(of source: Int) -> [KeptRecord<Payload>] {
        outboxes[source].records
    }

    /// Formats in force at the oldest of a source's records.
    package func oldestFormats(of source: Int) -> [TrackFormat] { outboxes[source].baseFormats }

    /// The highest number of a source that this link has sent, or was told that the collector has: a collector that has a higher one
    /// had it from somebody else.
    package func highestSent(of source: Int) -> UInt64 {
        max(outboxes[source].fixedUpTo, outboxes[source].persisted)
    }
}
