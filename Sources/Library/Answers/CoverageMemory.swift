import Archive
import Recordings
import Synchronization

/// Cache for repeated coverage queries. Any thread may use it.
///
/// A source's entry is valid while the state of its folder is unchanged (``SegmentStore/state(of:)``), so that recording,
/// removal, retiming and recovery invalidate it. Of a growing source, only changed files are read again. The same applies to
/// a lane that is not final (``SourceLane/isFinal``).
package final class CoverageMemory: Sendable {
    /// Files and gaps of all lanes together: some tens of megabytes.
    private let capacity: Int

    private struct Entry {
        var state: UInt64
        var lane: SourceLane
        var used: UInt64

        /// An empty lane has a cost, too.
        var parts: Int {
            let copies = lane.copies?.reduce(0) { $0 + 1 + $1.spans.count } ?? 0
            return 1 + lane.files.count + lane.gaps.count + copies
        }
    }

    private struct State {
        var entries: [SourceKey: Entry] = [:]
        var parts = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    package init(capacity: Int = 300_000) { self.capacity = capacity }

    /// A source's lane; if the cached one may be outdated, `read` gets it and returns a new one.
    ///
    /// Two requests at once may both read.
    func lane(
        of source: SourceKey, in store: any SegmentStore,
        read: (SourceLane?) throws(ArchiveError) -> SourceLane
    ) throws(ArchiveError) -> SourceLane {
        // Before the files are read, so that later changes are detected.
        guard let now = try store.state(of: .source(source)) else { return try read(nil) }
        let kept = state.withLock { state -> Entry? in
            state.clock += 1
            state.entries[source]?.used = state.clock
            return state.entries[source]
        }
        if let kept, kept.state == now, kept.lane.isFinal { return kept.lane }
        let lane = try read(kept?.lane)
        state.withLock { keep(lane, of: source, now, in: &$0) }
        return lane
    }

    private func keep(
        _ lane: SourceLane, of source: SourceKey, _ now: UInt64, in state: inout State
    ) {
        if let old = state.entries.removeValue(forKey: source) { state.parts -= old.parts }
        let entry = Entry(state: now, lane: lane, used: state.clock)
        guard entry.parts <= capacity else { return }
        state.entries[source] = entry
        state.parts += entry.parts
        while state.parts > capacity,
            let oldest = state.entries.min(by: { $0.value.used < $1.value.used })
        {
            state.entries.removeValue(forKey: oldest.key)
            state.parts -= oldest.value.parts
        }
    }
}
