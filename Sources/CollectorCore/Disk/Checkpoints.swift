import Archive

/// Checkpoints of sources, from which a restarted collector continues (``SourceCheckpoint``).
///
/// A checkpoint states what was durable at the previous one; the times of newer records, which agents may partly send again, are
/// read from the file.
struct Checkpoints {
    /// Fragments of a file between two checkpoints: about 16 seconds. Audio follows its pictures within ten.
    var interval: UInt32 = 16
    private var sources: [SourceKey: SourceCheckpoint] = [:]
    /// Summaries of open files, for the next checkpoint.
    private var summaries: [SegmentKey: SegmentSummary] = [:]

    /// A file is resumed.
    mutating func goOn(from checkpoint: SourceCheckpoint, of source: SourceKey) {
        sources[source] = checkpoint
    }

    /// All of a file is durable. Writes a checkpoint if it has ``interval`` more fragments than at the last one.
    mutating func isDurable(
        _ id: SegmentKey, _ summary: SegmentSummary?, in layout: ArchiveLayout
    ) {
        let known = summaries[id]
        guard let summary, summary.fragments >= (known?.fragments ?? 0) + interval else { return }
        summaries[id] = summary
        if let known { sources[id.owner, default: SourceCheckpoint()].keep(known, of: id.fileName) }
        sources[id.owner]?.write(layout.checkpoint(id.owner), on: layout.disk)
    }

    /// A file is final.
    mutating func finished(_ id: SegmentKey, _ summary: SegmentSummary?) {
        summaries[id] = nil
        guard let summary else { return }
        sources[id.owner, default: SourceCheckpoint()].keep(
            summary.withoutExchanges(), of: id.fileName)
    }

    /// A session's files are final.
    mutating func remove(_ manifest: SessionManifest, in layout: ArchiveLayout) {
        sources = sources.filter { $0.key.session != manifest.session }
        summaries = summaries.filter { $0.key.session != manifest.session }
        for source in manifest.sources {
            // A remaining one is never read: the session has ended.
            let key = SourceKey(session: manifest.session, source: source.name)
            _ = layout.disk.unlink(layout.checkpoint(key))
        }
    }
}
