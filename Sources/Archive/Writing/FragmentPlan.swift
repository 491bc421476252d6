package import Media
package import Timing

/// A sample's place in a recording, before it is written. All times are ticks of its track's timescale on the session's
/// timeline.
package struct PlannedSample: Hashable, Sendable {
    package var sizeBytes: UInt32
    package var dts: Int64
    package var pts: Int64
    /// How long it is expected to last; the next sample's DTS, once known, says how long it really does.
    package var duration: Int64
    package var flags: SampleFlags
    /// Decoding time as the agent stamped it, nanoseconds of its clock.
    package var agentDTSNanoseconds: Int64
    /// Clock offset (collector − agent) with which that was mapped.
    package var appliedOffsetNanoseconds: Int64

    package init(
        sizeBytes: UInt32, dts: Int64, pts: Int64, duration: Int64, flags: SampleFlags,
        agentDTSNanoseconds: Int64, appliedOffsetNanoseconds: Int64
    ) {
        self.sizeBytes = sizeBytes
        self.dts = dts
        self.pts = pts
        self.duration = duration
        self.flags = flags
        self.agentDTSNanoseconds = agentDTSNanoseconds
        self.appliedOffsetNanoseconds = appliedOffsetNanoseconds
    }
}

/// Samples of one track that follow each other in bytes, in time and in their numbers.
package struct PlannedRun: Hashable, Sendable {
    package var track: TrackKind
    package var firstSequence: UInt64
    package var samples: [PlannedSample]

    package init(track: TrackKind, firstSequence: UInt64, samples: [PlannedSample]) {
        self.track = track
        self.firstSequence = firstSequence
        self.samples = samples
    }

    package var sizeBytes: Int { samples.reduce(0) { $0 + Int($1.sizeBytes) } }
}

/// Consecutive bytes of one received payload, and the samples they are.
///
/// `Payload` is whatever holds the bytes: a received message for the collector, an array for tests.
package struct PlannedPiece<Payload: Sendable>: Sendable {
    package var payload: Payload
    /// The bytes of the payload that belong here.
    package var range: Range<Int>
    /// The agent's digest; none when only a part of what it digested is here.
    package var digest: Digest?
    package var runs: [PlannedRun]

    package init(payload: Payload, range: Range<Int>, digest: Digest?, runs: [PlannedRun]) {
        self.payload = payload
        self.range = range
        self.digest = digest
        self.runs = runs
    }
}

extension PlannedPiece {
    /// How many samples it has.
    var samples: Int { runs.reduce(0) { $0 + $1.samples.count } }

    /// The piece's samples in two parts, each in as few consecutive ranges of bytes as possible.
    ///
    /// - Parameter isAfter: whether a sample belongs to the second part. In one run, once it is true it stays true: only
    ///   the first sample for which it holds counts.
    /// - Returns: `before` and `after`, in the order of their bytes; a part that got everything keeps the digest.
    package func divided(
        where isAfter: (TrackKind, PlannedSample) -> Bool
    ) -> (before: [PlannedPiece], after: [PlannedPiece]) {
        var before: [PlannedPiece] = []
        var after: [PlannedPiece] = []
        var start = range.lowerBound
        for run in runs {
            let index =
                run.samples.firstIndex { isAfter(run.track, $0) } ?? run.samples.count
            for (part, isSecond) in [(0..<index, false), (index..<run.samples.count, true)]
            where !part.isEmpty {
                var piece = self
                var own = run
                own.samples = Array(run.samples[part])
                own.firstSequence += UInt64(part.lowerBound)
                piece.runs = [own]
                piece.range = start..<start + own.sizeBytes
                piece.digest = nil
                start = piece.range.upperBound
                if isSecond {
                    Self.append(piece, to: &after)
                } else {
                    Self.append(piece, to: &before)
                }
            }
        }
        if after.isEmpty { return ([self], []) }
        if before.isEmpty { return ([], [self]) }
        return (before, after)
    }

    /// Appends a piece, joined to the last one when its bytes follow on.
    private static func append(_ piece: PlannedPiece, to pieces: inout [PlannedPiece]) {
        if let last = pieces.last, last.range.upperBound == piece.range.lowerBound {
            pieces[pieces.count - 1].range = last.range.lowerBound..<piece.range.upperBound
            pieces[pieces.count - 1].runs += piece.runs
        } else {
            pieces.append(piece)
        }
    }
}

/// What all samples of one fragment have in common.
package struct FragmentContext: Hashable, Sendable {
    /// Whose sequence numbers they have: 16 bytes.
    package var spool: SpoolID
    /// Whose clock stamped them: 16 bytes.
    package var epoch: EpochID
    /// How that clock was mapped.
    package var clock: FragmentRecord.Clock
    /// The session's zero on the collector's clock, nanoseconds.
    package var collectorZeroNanoseconds: Int64
    /// What has been learned of the epoch's clock since the fragment before; at most
    /// ``FragmentRecord/maximumExchanges``.
    package var exchanges: [ClockExchange] = []

    package init(
        spool: SpoolID, epoch: EpochID, clock: FragmentRecord.Clock,
        collectorZeroNanoseconds: Int64
    ) {
        self.spool = spool
        self.epoch = epoch
        self.clock = clock
        self.collectorZeroNanoseconds = collectorZeroNanoseconds
    }
}

/// What one fragment will hold.
package struct FragmentPlan<Payload: Sendable>: Sendable {
    package var context: FragmentContext
    package var pieces: [PlannedPiece<Payload>]

    package init(context: FragmentContext, pieces: [PlannedPiece<Payload>]) {
        self.context = context
        self.pieces = pieces
    }

    package var sizeBytes: Int { pieces.reduce(0) { $0 + $1.range.count } }

    /// What it takes of memory.
    package var amount: MediaAmount { pieces.amount() }

    /// The sequence numbers it holds.
    package var sequences: [ClosedRange<UInt64>] {
        pieces.flatMap { $0.runs }.filter { !$0.samples.isEmpty }.map {
            $0.firstSequence...$0.firstSequence + UInt64($0.samples.count) - 1
        }
    }
}

extension Sequence {
    /// What pieces take of memory together.
    func amount<Payload: Sendable>() -> MediaAmount where Element == PlannedPiece<Payload> {
        reduce(into: MediaAmount()) { amount, piece in
            amount += MediaAmount(
                sizeBytes: piece.range.count,
                samples: piece.runs.reduce(0) { $0 + $1.samples.count })
        }
    }
}
