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
    /// The end of each track's last sample, nanoseconds of its epoch's clock. Tracks end at different times: an encoder may hold
    /// pictures that are earlier than recorded sound. A track without samples in the last files is missing.
    package var ends: [TrackKind: Int64] = [:]
    package var saidGoodbye = false
    package var isTailCertain: Bool

    /// Maximum number of newest files that are read to find the tracks' ends.
    private static let mostFiles = 4

    /// Reads the oldest file's header and the newest files; nil when the spool's content cannot be determined.
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
        }
        readEnds(newest, shelf)
    }

    /// Reads the ends of the tracks, in earlier files if the newest one has no samples of a track.
    private mutating func readEnds(_ newest: SpoolContents, _ shelf: SpoolSet) {
        var contents: SpoolContents? = newest
        for _ in 0..<Self.mostFiles {
            guard let items = contents?.items else { return }
            var found: [TrackKind: Int64] = [:]
            var first = sequences.upperBound
            for item in items {
                guard case .record(let numbers, _, let body) = item else { continue }
                first = min(first, numbers.lowerBound)
                for run in SpoolCoding.readable(body)?.samples?.runs ?? [] {
                    for index in 0..<run.count {
                        let end = run.ptsNanoseconds(at: index) + run.durationNanoseconds(at: index)
                        found[run.track] = max(found[run.track] ?? end, end)
                    }
                }
            }
            ends.merge(found) { own, _ in own }
            guard newestFormats.contains(where: { ends[$0.kind] == nil }),
                first > sequences.lowerBound
            else { return }
            contents = Self.read { [generation] () throws(SpoolError) in
                try shelf.contents(of: generation, at: first - 1)
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
