import Spooling
import TestSpools

/// A fault injected on purpose into agents with several collectors, or into the reading of their archives.
enum GroupSabotage: String, CaseIterable {
    /// Every collector gets the same term.
    case keepsTerm
    /// A higher term is sent before it is durable.
    case skipsNoteSynchronization
    /// Records that a second collector has only received count as on its disk.
    case forgetsWhatIsReceived
    /// Readers take each copy of a record for a record.
    case countsCopies
    /// Collectors keep a session that their site's database does not know.
    case neverDenied
    /// The site's database does not notice that it has lost commits.
    case forgetsLosses

    /// Whether the fault is in what the collectors of a site share.
    var isOnSite: Bool {
        switch self {
        case .keepsTerm, .skipsNoteSynchronization, .forgetsWhatIsReceived, .countsCopies: false
        case .neverDenied, .forgetsLosses: true
        }
    }
}

/// A box's disk that does not make the note of the collectors durable.
struct UnsyncedNotes: SpoolStorage {
    private let disk: SimulatedDisk

    init(_ disk: SimulatedDisk) { self.disk = disk }

    var path: String { disk.path }
    func names() throws(SpoolError) -> [String] { try disk.names() }
    func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError) { try disk.append(pieces, to: name, at: offset) }
    func read(_ name: String, at offset: Int, limit: Int) throws(SpoolError) -> [UInt8] {
        try disk.read(name, at: offset, limit: limit)
    }
    func sizeBytes(of name: String) throws(SpoolError) -> Int { try disk.sizeBytes(of: name) }
    func rename(_ name: String, to other: String) throws(SpoolError) {
        try disk.rename(name, to: other)
    }
    func delete(_ name: String) throws(SpoolError) { try disk.delete(name) }
    func synchronize(_ names: [String]) throws(SpoolError) {
        if names.isEmpty || names.contains(where: { $0.hasPrefix("collectors.note") }) { return }
        try disk.synchronize(names)
    }
}
