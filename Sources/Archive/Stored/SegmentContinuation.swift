import MP4
package import Media
import Timing

/// The data to continue a source after a segment without its file: the ends of its tracks, and the model of its clock.
///
/// It is part of the segment's proof, because a collector that begins with only the bucket has no files to read it
/// from. It is also used when a segment of a local archive is in the store only.
package struct SegmentContinuation: Codable, Hashable, Sendable {
    /// Maximum number of spools in one file: a box that restarts a few times within a segment.
    private static let maximumRuns = 64

    /// The samples of one track of one spool in the segment.
    package struct Run: Codable, Hashable, Sendable {
        /// The spool's identity, hexadecimal.
        package var spool: String
        /// `video` or `audio`.
        package var track: String
        /// Numbers of the first and of the last sample; numbers of the other track are between them.
        package var first: UInt64
        package var last: UInt64
        /// Decoding time of the last sample on the session's timeline, and its duration.
        package var dtsTicks: Int64
        package var durationTicks: Int64
        /// The unit of both.
        package var ticksPerSecond: UInt32
    }

    /// The clock model of the last fragment: see ``RecordedClock``.
    package struct Clock: Codable, Hashable, Sendable {
        /// The epoch's identity, hexadecimal.
        package var epoch: String
        package var agentNanoseconds: Int64
        package var offsetNanoseconds: Int64
        package var boundNanoseconds: UInt64
        package var skewPartsPerBillion: Int64
        /// Growth of the bound; nil in proofs of early versions.
        package var growthPartsPerBillion: Int64?
    }

    /// Ascending.
    package var runs: [Run]
    package var clock: Clock?
    /// The spool of the last fragment, hexadecimal.
    package var spool: String
    /// One line per track, as in the session's description.
    package var tracks: [String]

    /// - Returns: nil for a file without records.
    init?(_ survey: SegmentSurvey) {
        guard let last = survey.fragments.last else { return nil }
        spool = last.spool.description
        tracks = survey.formats.map(\.summary)
        clock = survey.clocks.last.map {
            Clock(
                epoch: $0.epoch.description, agentNanoseconds: $0.agentNanoseconds,
                offsetNanoseconds: $0.clock.offsetNanoseconds,
                boundNanoseconds: $0.clock.boundNanoseconds,
                skewPartsPerBillion: $0.clock.skewPartsPerBillion,
                growthPartsPerBillion: $0.growthPartsPerBillion)
        }
        runs = []
        // A segment has thousands of fragments, most of them of one spool.
        var named: (spool: SpoolID, text: String)?
        for fragment in survey.fragments {
            let text = named?.spool == fragment.spool ? named?.text : nil
            let spool = text ?? fragment.spool.description
            named = (fragment.spool, spool)
            for run in fragment.runs { add(run, of: spool) }
        }
        runs.sort { ($0.spool, $0.last) < ($1.spool, $1.last) }
        runs = Array(runs.suffix(Self.maximumRuns))
    }

    private mutating func add(_ run: RunOnDisk, of spool: String) {
        let track = run.track.description
        var joined = Run(
            spool: spool, track: track, first: run.sequences.lowerBound,
            last: run.sequences.upperBound, dtsTicks: run.end.dtsTicks,
            durationTicks: run.end.durationTicks,
            ticksPerSecond: run.end.timescale.ticksPerSecond)
        if let place = runs.firstIndex(where: { $0.spool == spool && $0.track == track }) {
            joined.first = min(joined.first, runs[place].first)
            if runs[place].last > joined.last {
                let first = joined.first
                joined = runs[place]
                joined.first = first
            }
            runs[place] = joined
        } else {
            runs.append(joined)
        }
    }

    /// The end of each track of each spool; invalid ones are omitted.
    package var runsOnDisk: [(spool: SpoolID, run: RunOnDisk)] {
        runs.prefix(Self.maximumRuns).compactMap { run in
            guard let spool = SpoolID(hexadecimal: run.spool),
                let track = TrackKind.allCases.first(where: { $0.description == run.track }),
                run.first <= run.last, run.last <= RecordLimits.sequence,
                run.ticksPerSecond > 0, run.dtsTicks.magnitude < 1 << 56,
                (0...1 << 40).contains(run.durationTicks)
            else { return nil }
            return (
                spool,
                RunOnDisk(
                    track: track, sequences: run.first...run.last,
                    end: TrackEnd(
                        dtsTicks: run.dtsTicks, durationTicks: run.durationTicks,
                        timescale: Timescale(run.ticksPerSecond)))
            )
        }
    }

    /// The clock model, for extrapolation.
    package var recordedClock: RecordedClock? {
        guard let clock, clock.agentNanoseconds.magnitude <= UTCTime.farthestNanoseconds,
            clock.offsetNanoseconds.magnitude <= UTCTime.farthestNanoseconds,
            clock.boundNanoseconds <= UTCTime.farthestNanoseconds,
            clock.skewPartsPerBillion.magnitude <= RecordLimits.skewPartsPerBillion
        else { return nil }
        return EpochID(hexadecimal: clock.epoch).map {
            RecordedClock(
                epoch: $0,
                clock: FragmentRecord.Clock(
                    offsetNanoseconds: clock.offsetNanoseconds,
                    boundNanoseconds: clock.boundNanoseconds,
                    skewPartsPerBillion: clock.skewPartsPerBillion),
                agentNanoseconds: clock.agentNanoseconds,
                growthPartsPerBillion: clock.growthPartsPerBillion.map {
                    max(0, min(ClockLimits.skewPPB, $0))
                } ?? ClockLimits.skewPPB)
        }
    }
}
