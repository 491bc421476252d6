import Archive
import Catalog
import Glibc
import Synchronization
import TestSpools

/// An archive's catalog in memory. By seed, it is locked by other programs or damaged.
final class SimulatedCatalog: CatalogLocation, CatalogStore {
    private struct State {
        var random: SeededGenerator
        var catalog: SQLiteCatalog?
        /// Attempts for which it stays locked.
        var locked = 0
        var isPeaceful = false
        var refusals = 0
        /// Its server is away.
        var isAway = false
        /// It lacks changes that it has confirmed. The program that wrote them notices that with its next change, and a later
        /// program does not.
        var hasLost = false
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

    let name = "catalog"

    /// Number of failed writes and opens.
    var refusals: Int { state.withLock { $0.refusals } }

    func makePeace() { state.withLock { $0.isPeaceful = true } }

    /// Its server is away, or back.
    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    /// Its server has lost changes that it had confirmed: those of some sessions.
    func lose(isNoticed: Bool) throws(ArchiveError) {
        guard let catalog = state.withLock({ $0.catalog }) else { return }
        for session in try catalog.indexedSessionNames().sorted() {
            if state.withLock({ Bool.random(using: &$0.random) }) {
                try catalog.apply([.sessionRemoved(session)])
            }
        }
        state.withLock { $0.hasLost = isNoticed }
    }

    private func trouble() throws(ArchiveError) {
        if state.withLock({ $0.isAway }) {
            state.withLock { $0.refusals += 1 }
            throw .system(operation: "use the catalog", path: name, errno: EBUSY)
        }
        let code = state.withLock { state -> Int32? in
            guard !state.isPeaceful else { return nil }
            if state.locked == 0, Int.random(in: 0..<8, using: &state.random) == 0 {
                state.locked = Int.random(in: 1...12, using: &state.random)
            }
            if state.locked > 0 {
                state.locked -= 1
                state.refusals += 1
                return EBUSY
            }
            guard Int.random(in: 0..<24, using: &state.random) == 0 else { return nil }
            state.refusals += 1
            return Bool.random(using: &state.random) ? EIO : ENOSPC
        }
        if let code { throw .system(operation: "use the catalog", path: name, errno: code) }
    }

    private func catalog() throws(ArchiveError) -> SQLiteCatalog {
        if let catalog = state.withLock({ $0.catalog }) { return catalog }
        throw .system(operation: "use the catalog", path: name, errno: EBADF)
    }

    func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?) {
        try trouble()
        state.withLock { $0.hasLost = false }
        if state.withLock({ $0.catalog == nil }) {
            let fresh = try SQLiteCatalog.inMemory()
            state.withLock { $0.catalog = fresh }
        }
        return (self, nil)
    }

    func remove() { state.withLock { $0.catalog = nil } }

    /// All rows.
    func dump() throws(ArchiveError) -> [String] { try catalog().dump() }

    func apply(_ changes: [CatalogChange]) throws(ArchiveError) {
        try trouble()
        if state.withLock({ $0.hasLost }) {
            throw .system(operation: "use the catalog", path: name, errno: EIO)
        }
        try catalog().apply(changes)
    }

    func sessions(from: Int64?, until: Int64?) throws(ArchiveError) -> [CatalogListing] {
        try catalog().sessions(from: from, until: until)
    }

    func segments(
        of session: String?, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogSegment] {
        try catalog().segments(of: session, from: from, until: until)
    }

    func growingSegments(of session: String) throws(ArchiveError) -> [CatalogSegment] {
        try catalog().growingSegments(of: session)
    }

    func sessionNames() throws(ArchiveError) -> [String] { try catalog().sessionNames() }

    func indexedSessionNames() throws(ArchiveError) -> Set<String> {
        try catalog().indexedSessionNames()
    }

    func files(of session: String) throws(ArchiveError) -> Set<String> {
        try catalog().files(of: session)
    }
}
