import Archive
import Recordings
import Synchronization

/// What was read for coverage, for a program that is asked for it again and again. Any thread may use it.
///
/// A source's lane is taken from here while its folder is as it was (``SegmentStore/state(of:)``), so that what was recorded, removed,
/// retimed or repaired since is seen. Of a source that grows, only the files that have changed are read again.
package final class CoverageMemory: Sendable {
    /// Files and gaps of all lanes together: some tens of megabytes.
    private let capacity: Int

    private struct Entry {
        var state: UInt64
        var lane: SourceLane
        var used: UInt64

        /// Also of an empty lane something is kept.
        var parts: Int { 1 + lane.files.count + lane.gaps.count }
    }

    private struct State {
        var entries: [SourceKey: Entry] = [:]
        var parts = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    package init(capacity: Int = 300_000) { self.capacity = capacity }

    /// A source's lane; made with `read`, which gets the one that was kept last, when it may not be true any more.
    ///
    /// Two requests at once may both read.
    func lane(
        of source: SourceKey, in store: any SegmentStore,
        read: (SourceLane?) throws(ArchiveError) -> SourceLane
    ) throws(ArchiveError) -> SourceLane {
        // Before the files are read: what changes meanwhile is read again the next time.
        guard let now = try store.state(of: .source(source)) else { return try read(nil) }
        let kept = state.withLock { state -> Entry? in
            state.clock += 1
            state.entries[source]?.used = state.clock
            return state.entries[source]
        }
        if let kept, kept.state == now { return kept.lane }
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
