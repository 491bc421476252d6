import Archive
import Foundation
import Media

/// The sequences of a source's records, from all of an archive's files and ledgers.
struct Numbers {
    private var bySpool: [String: SequenceSet] = [:]

    init(of source: String, on stage: Stage) throws {
        let layout = ArchiveLayout(root: stage.archive)
        for session in try layout.sessionNames() {
            for path in try layout.segmentPaths(session, source) {
                for (spool, ranges) in FileVerifier.verify(path).sequences {
                    for range in ranges { add(range, spool: spool.description) }
                }
            }
            for entry in try Ledger.read(layout.ledger(session, source)).entries {
                guard let first = entry.firstSequence, let last = entry.lastSequence,
                    let spool = entry.spool
                else { continue }
                add(first...last, spool: spool)
            }
        }
    }

    private mutating func add(_ range: ClosedRange<UInt64>, spool: String) {
        bySpool[spool, default: SequenceSet()].insert(range)
    }

    /// Number of spools that the records came from.
    var spools: Int { bySpool.count }

    /// Missing sequences between 1 and the last.
    var missing: [ClosedRange<UInt64>] { bySpool.values.flatMap(\.holes) }
}
