// The bound on what is kept.
extension AgentLink {
    /// What the log has said of dropped records.
    struct DropMention: Hashable, Sendable {
        var samples = 0
        var bytes = 0
        var next = Int64.min
    }

    /// Drops what does not fit, oldest first, from the source that keeps the most.
    mutating func makeRoom(now: Int64) -> [Action] {
        while keptBytes > settings.memoryLimitBytes {
            let greediestFirst = outboxes.indices.sorted {
                outboxes[$0].keptPayloadBytes > outboxes[$1].keptPayloadBytes
            }
            let hasDropped = greediestFirst.contains { outboxes[$0].dropOldestGroup() }
            guard !hasDropped else { continue }
            // Nothing but gaps, or what is in flight, which the collector's credit bounds.
            for index in outboxes.indices { outboxes[index].joinGaps() }
            break
        }
        return mentionDrops(now: now)
    }

    private mutating func mentionDrops(now: Int64) -> [Action] {
        let samples = outboxes.reduce(0) { $0 + $1.droppedSamples }
        guard samples > drops.samples, now >= drops.next else { return [] }
        let bytes = outboxes.reduce(0) { $0 + $1.droppedBytes }
        let line =
            "the memory of \(megabytes(settings.memoryLimitBytes)) is full and the collector at "
            + "\(settings.endpoint) has not persisted it: dropped \(samples - drops.samples) "
            + "samples (\(megabytes(bytes - drops.bytes))), the oldest first, noted as a gap"
        drops = DropMention(
            samples: samples, bytes: bytes, next: now + AgentLinkPace.dropMention)
        return [.log(LinkLog(.error, line))]
    }
}
