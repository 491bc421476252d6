import Archive
import Media
import Synchronization
import Uploading

/// The records in the object store. The uploading threads add them and the receiving thread fetches them; the receiving
/// thread returns the watermark of each spool, for the next proofs.
///
/// A set, not a queue of events: nothing is lost however seldom it is fetched, and it has at most one range per segment
/// stored out of order. Ledgers are read on uploading threads, as far as the store has them.
final class StoredRecords: StoredRecordsObserver {
    /// Records of one spool.
    struct Addition: Sendable {
        var source: String
        var spool: SpoolID
        var sequences: SequenceSet
    }

    /// The number up to which the store has every record of a spool.
    struct Watermark: Hashable, Sendable {
        var source: String
        var spool: SpoolID
        var through: UInt64
    }

    private struct Key: Hashable {
        var source: String
        var spool: SpoolID
    }

    private struct State {
        var news: [Key: SequenceSet] = [:]
        /// By source, the latest last.
        var through: [String: [(spool: SpoolID, number: UInt64)]] = [:]
        /// Bytes of a ledger read so far.
        var read: [SourceKey: Int] = [:]
        /// Maximum recent time from the end of a segment to its proof, seconds, with decay.
        var lagSeconds = 0.0
    }

    /// Watermarks kept per source: as many as ``DurableRecords`` has.
    private static let spoolsPerSource = DurableRecords.maximumUnreleasedSpools
    /// Ledgers whose read position is kept. Others are read again from the start.
    private static let ledgers = 4_096
    /// Decay of the maximum lag per proof.
    private static let fading = 0.95

    private let layout: ArchiveLayout
    private let state = Mutex(State())
    private let now: @Sendable () -> Int64
    /// Reports a ledger that cannot be read.
    private let complain: @Sendable (String) -> Void

    /// - Parameter now: nanoseconds since 1970 (UTC).
    init(
        _ layout: ArchiveLayout, now: @escaping @Sendable () -> Int64,
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.layout = layout
        self.now = now
        self.complain = complain
    }

    // MARK: From the uploading threads

    func proven(_ proof: SegmentProof, isNew: Bool) {
        let lag = isNew ? max(0, Double(now() - proof.modifiedNanoseconds) / 1e9) : nil
        state.withLock { state in
            if let lag { state.lagSeconds = max(lag, state.lagSeconds * Self.fading) }
            for (spool, ranges) in proof.ranges {
                let key = Key(source: proof.source, spool: spool)
                for range in ranges where range.lowerBound > 0 {
                    state.news[key, default: SequenceSet()].insert(range)
                }
            }
            for (spool, number) in Self.storedThrough(proof) {
                let key = Key(source: proof.source, spool: spool)
                state.news[key, default: SequenceSet()].insert(1...number)
            }
        }
    }

    /// The earlier records that a proof lists. It may come from a bucket that others write to, so it counts up to the
    /// highest number of its own records only: later records have other proofs.
    private static func storedThrough(
        _ proof: SegmentProof
    ) -> [(spool: SpoolID, number: UInt64)] {
        guard let storedThrough = proof.storedThrough else { return [] }
        return proof.ranges.compactMap { spool, ranges in
            let number = min(
                storedThrough[spool.description] ?? 0, ranges.map(\.upperBound).max() ?? 0)
            return number > 0 ? (spool, number) : nil
        }
    }

    func stored(ledger source: SourceKey, sizeBytes: Int64) {
        let size = Int(clamping: sizeBytes)
        let known = state.withLock { $0.read[source] ?? 0 }
        guard size > known else { return }
        let bytes: [UInt8]
        do throws(ArchiveError) {
            bytes = try FileSystem.read(layout.ledger(source), limit: Ledger.maximumBytes)
        } catch {
            return complain("which records the store has of \(source) is not known: \(error)")
        }
        let part = bytes.prefix(size).dropFirst(known)
        // An incomplete last line comes with the next part.
        guard let end = part.lastIndex(of: UInt8(ascii: "\n")) else { return }
        let lines = Ledger.parse(Array(part[...end])).entries
            // This ledger does not say where an earlier session has them.
            .filter { $0.kind != .earlier }.flatMap(\.replacedRecords)
        state.withLock { state in
            if state.read.count >= Self.ledgers { state.read.removeAll() }
            state.read[source] = end + 1
            for line in lines {
                let key = Key(source: source.source, spool: line.spool)
                state.news[key, default: SequenceSet()].insert(line.sequences)
            }
        }
    }

    func storedThrough(_ source: String, _ spool: SpoolID) -> UInt64 {
        state.withLock { $0.through[source]?.first { $0.spool == spool }?.number ?? 0 }
    }

    // MARK: From the receiving thread

    /// The records that were stored since the last call.
    func take() -> [Addition] {
        state.withLock { state in
            guard !state.news.isEmpty else { return [] }
            defer { state.news.removeAll() }
            return state.news.map {
                Addition(source: $0.key.source, spool: $0.key.spool, sequences: $0.value)
            }
        }
    }

    /// Sets the watermarks, for the next proofs.
    func set(_ watermarks: [Watermark]) {
        guard !watermarks.isEmpty else { return }
        state.withLock { state in
            for watermark in watermarks {
                var own = state.through[watermark.source] ?? []
                own.removeAll { $0.spool == watermark.spool }
                own.append((watermark.spool, watermark.through))
                state.through[watermark.source] = Array(own.suffix(Self.spoolsPerSource))
            }
        }
    }

    /// Maximum recent time from the end of a segment to its proof, seconds.
    var lagSeconds: Double { state.withLock { $0.lagSeconds } }
}
