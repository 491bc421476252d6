import Archive
import Catalog
import Glibc
import Synchronization

/// An archive's catalog with injectable faults.
final class FaultyCatalog: CatalogLocation, CatalogStore {
    private struct State {
        var fault: ArchiveError?
        var catalog: (any CatalogStore)?
        var attempts = 0
        var removals = 0
    }

    private let place: SQLiteCatalogLocation
    private let state = Mutex(State())

    init(_ layout: ArchiveLayout) { place = SQLiteCatalogLocation(layout) }

    let name = "catalog"

    /// Number of attempted writes.
    var attempts: Int { state.withLock { $0.attempts } }

    /// The error of opening and writing; nil: they succeed.
    func setFault(_ code: Int32?) {
        state.withLock {
            $0.fault = code.map {
                .system(operation: "use the catalog", path: "catalog", errno: $0)
            }
        }
    }

    /// Makes its server unavailable.
    func setAway() {
        state.withLock { $0.fault = .unavailable(place: "catalog", reason: "no answer") }
    }

    private func check() throws(ArchiveError) {
        if let fault = state.withLock({ $0.fault }) { throw fault }
    }

    private func catalog() throws(ArchiveError) -> any CatalogStore {
        if let catalog = state.withLock({ $0.catalog }) { return catalog }
        throw .system(operation: "use the catalog", path: "catalog", errno: EBADF)
    }

    func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?) {
        try check()
        let (catalog, complaint) = try place.open()
        state.withLock { $0.catalog = catalog }
        return (self, complaint)
    }

    /// How often it was removed as untrusted.
    var removals: Int { state.withLock { $0.removals } }

    func remove() throws(ArchiveError) {
        state.withLock { $0.removals += 1 }
        try place.remove()
    }

    func apply(_ changes: [CatalogChange]) throws(ArchiveError) {
        state.withLock { $0.attempts += 1 }
        try check()
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

    func dump() throws(ArchiveError) -> [String] { try catalog().dump() }
}
