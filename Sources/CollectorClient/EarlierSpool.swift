package import Media
package import Spooling
import Wire

/// The data about a spool of an earlier run of the agent that is needed to continue it, or to send its content.
package struct EarlierSpool {
    package var generation: UInt32
    package var identity: SpoolID
    package var epoch: EpochID
    package var sequences: Range<UInt64>
    /// Formats in force at its first record.
    package var firstFormats: [TrackFormat]
    /// Formats in force after its last record.
    package var newestFormats: [TrackFormat]
    /// The end of its last sample, nanoseconds of its epoch's clock.
    package var endNanoseconds: Int64?
    package var saidGoodbye = false
    package var isTailCertain: Bool

    /// Reads the oldest file's header and the newest file; nil when the spool's content cannot be determined.
    package init?(_ spool: Spool, of shelf: SpoolSet) {
        let first = Self.read { () throws(SpoolError) in
            try shelf.firstPreamble(of: spool.generation)
        }
        let newest = Self.read { () throws(SpoolError) in
            try shelf.contents(of: spool.generation, at: spool.nextNumber - 1)
        }
        guard let identity = SpoolID(spool.identity), let epoch = EpochID(spool.origin),
            let formats = (first ?? newest?.preamble).flatMap(SpoolCoding.formats)
        else { return nil }
        generation = spool.generation
        self.identity = identity
        self.epoch = epoch
        sequences = spool.firstNumber..<spool.nextNumber
        firstFormats = formats
        newestFormats = formats
        isTailCertain = spool.isTailCertain
        guard let newest else {
            isTailCertain = false
            return
        }
        newestFormats = newest.preamble.flatMap(SpoolCoding.formats) ?? newestFormats
        for item in newest.items {
            guard case .record(_, _, let body) = item, let record = SpoolCoding.readable(body)
            else { continue }
            if let format = record.format { newestFormats = newestFormats.replacing(format) }
            if record.kind == .goodbye { saidGoodbye = true }
            for run in record.samples?.runs ?? [] {
                let last = run.count - 1
                let end = run.ptsNanoseconds(at: last) + run.durationNanoseconds(at: last)
                endNanoseconds = max(endNanoseconds ?? end, end)
            }
        }
    }

    /// An unreadable file provides no data: the spool's reader reports it when it reaches it.
    private static func read<Result>(
        _ body: () throws(SpoolError) -> Result?
    ) -> Result? {
        do throws(SpoolError) {
            return try body()
        } catch {
            return nil
        }
    }
}
