package import Media
package import Timing

/// A sample's times in a recording, before it is written: ticks of its track's timescale on the session's timeline.
package struct PlannedSample: Hashable, Sendable {
    package var sizeBytes: UInt32
    package var dts: Int64
    package var pts: Int64
    /// Its expected duration; the next sample's DTS, once known, determines the actual one.
    package var duration: Int64
    package var flags: SampleFlags
    /// Decoding time as the agent stamped it, nanoseconds of its clock.
    package var agentDTSNanoseconds: Int64
    /// Clock offset (collector − agent) that was applied to it.
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

/// Samples of one track that are consecutive in bytes, in time and in their numbers.
package struct PlannedRun: Hashable, Sendable {
    package var track: TrackKind
    package var firstSequence: UInt64
    package var samples: [PlannedSample]
    /// Stamps of samples from a network camera, one per sample; nil for other sources.
    package var camera: CameraStamps?

    package init(
        track: TrackKind, firstSequence: UInt64, samples: [PlannedSample],
        camera: CameraStamps? = nil
    ) {
        self.track = track
        self.firstSequence = firstSequence
        self.samples = samples
        self.camera = camera
    }

    package var sizeBytes: Int { samples.reduce(0) { $0 + Int($1.sizeBytes) } }
}

/// Consecutive bytes of one received payload, and their samples.
///
/// The payload (a received message in the collector, an array in tests) is no type parameter: generic code is not
/// specialised across modules, which costs a twelfth of the collector's CPU time with a thousand sources.
package struct PlannedPiece: Sendable {
    package var payload: any MediaPayload
    /// The byte range of the piece in the payload.
    package var range: Range<Int>
    /// The agent's digest; nil when the piece is only a part of the digested bytes.
    package var digest: Digest?
    package var runs: [PlannedRun]
    /// How far its first picture was moved to its file's beginning.
    var movedNanoseconds: UInt64 = 0

    package init(payload: any MediaPayload, range: Range<Int>, digest: Digest?, runs: [PlannedRun])
    {
        self.payload = payload
        self.range = range
        self.digest = digest
        self.runs = runs
    }
}

extension PlannedPiece {
    /// Number of its samples.
    var samples: Int { runs.reduce(0) { $0 + $1.samples.count } }

    /// The piece's samples in two parts, each with as few consecutive byte ranges as possible.
    ///
    /// - Parameter isAfter: whether a sample belongs to the second part. In one run, all samples after the first for which it is
    ///   true belong to the second part.
    /// - Returns: `before` and `after`, in the order of their bytes; a part that contains everything keeps the digest.
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
                own.camera = run.camera?.part(part)
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

    /// Appends a piece; it is joined with the last one when its bytes are contiguous with that.
    private static func append(_ piece: PlannedPiece, to pieces: inout [PlannedPiece]) {
        if let last = pieces.last, last.range.upperBound == piece.range.lowerBound {
            pieces[pieces.count - 1].range = last.range.lowerBound..<piece.range.upperBound
            pieces[pieces.count - 1].runs += piece.runs
        } else {
            pieces.append(piece)
        }
    }
}

/// The common properties of a fragment's samples.
package struct FragmentContext: Hashable, Sendable {
    /// The spool of their sequence numbers: 16 bytes.
    package var spool: SpoolID
    /// The epoch of the clock that stamped them: 16 bytes.
    package var epoch: EpochID
    /// The model of that clock.
    package var clock: FragmentRecord.Clock
    /// The session's zero on the collector's clock, nanoseconds.
    package var collectorZeroNanoseconds: Int64
    /// Exchanges of the epoch's clock since the previous fragment; at most ``FragmentRecord/maximumExchanges``.
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

/// The content of one fragment.
package struct FragmentPlan: Sendable {
    package var context: FragmentContext
    package var pieces: [PlannedPiece]

    package init(context: FragmentContext, pieces: [PlannedPiece]) {
        self.context = context
        self.pieces = pieces
    }

    package var sizeBytes: Int { pieces.reduce(0) { $0 + $1.range.count } }

    /// Its memory use.
    package var amount: MediaAmount { pieces.amount() }

    /// Capture time of its first sample, on the collector's monotonic clock; nil without samples.
    package var capturedNanoseconds: Int64? {
        var earliest: Int64?
        for piece in pieces {
            for case let first? in piece.runs.map(\.samples.first) {
                let captured = first.agentDTSNanoseconds.clampedAdding(
                    first.appliedOffsetNanoseconds)
                earliest = min(earliest ?? captured, captured)
            }
        }
        return earliest
    }

    /// Its sequence numbers.
    package var sequences: [ClosedRange<UInt64>] {
        pieces.flatMap { $0.runs }.filter { !$0.samples.isEmpty }.map {
            $0.firstSequence...$0.firstSequence + UInt64($0.samples.count) - 1
        }
    }
}

extension Sequence where Element == PlannedPiece {
    /// Total memory use of pieces.
    func amount() -> MediaAmount {
        reduce(into: MediaAmount()) { amount, piece in
            amount += MediaAmount(
                sizeBytes: piece.range.count,
                samples: piece.runs.reduce(0) { $0 + $1.samples.count })
        }
    }
}
