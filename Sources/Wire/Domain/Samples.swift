package import Media

/// A batch of one source: samples grouped by track. Their bytes are contiguous in the message's second part, in the order of the
/// runs.
package struct Samples: Hashable, Sendable {
    /// The source's index in Hello.
    package var source: Int
    /// The number of the first sample; the others have the next numbers, in the order of the runs.
    package var firstSequence: UInt64
    /// The clock domain of the times.
    package var epoch: UInt32
    /// SHA-256 of the payload, computed on the box: 32 bytes.
    package var payloadDigest: [UInt8]
    /// At least one, at most one per kind of track; none empty.
    package var runs: [SampleRun]

    package init(
        source: Int, firstSequence: UInt64, epoch: UInt32, payloadDigest: [UInt8],
        runs: [SampleRun]
    ) {
        self.source = source
        self.firstSequence = firstSequence
        self.epoch = epoch
        self.payloadDigest = payloadDigest
        self.runs = runs
    }

    /// Samples in all runs.
    package var count: Int { runs.reduce(0) { $0 + $1.count } }

    /// The number of the last sample.
    package var lastSequence: UInt64 { firstSequence + UInt64(count) - 1 }

    /// Size that the second part must have.
    package var payloadSizeBytes: Int { runs.reduce(0) { $0 + $1.sizeBytes } }

    /// From the earliest decoding time to the latest.
    package var spanNanoseconds: Int64 {
        var earliest = Int64.max
        var latest = Int64.min
        for run in runs {
            for time in run.dtsNanoseconds {
                earliest = min(earliest, time)
                latest = max(latest, time)
            }
        }
        return earliest <= latest ? latest.clampedSubtracting(earliest) : 0
    }

    /// Its memory use: its payload, and its samples.
    package var amount: MediaAmount { MediaAmount(sizeBytes: payloadSizeBytes, samples: count) }

    /// Whether decoding can start with this batch: its video begins with a keyframe, or it has none.
    package var beginsDecodable: Bool {
        let first = runs.first { $0.track == .video }?.flags(at: 0)
        return DecodingStart.isPossible(at: first, hasVideo: first != nil)
    }
}

/// Samples of one track in decoding order, one column per property.
///
/// In a run of video only the first sample may be a keyframe, so that no batch spans two fragments.
package struct SampleRun: Hashable, Sendable {
    package var track: TrackKind
    /// Size of each sample in bytes, never 0: one entry per sample.
    package var sizes: [UInt32]
    /// Decoding time of each sample, nanoseconds of the agent's clock. They should increase; those of a damaged source may not.
    package var dtsNanoseconds: [Int64]
    /// Presentation minus decoding time of each sample, not negative; empty: all 0.
    package var ptsOffsetsNanoseconds: [Int64]
    /// Duration of each sample; one entry: the same for all.
    package var durationsNanoseconds: [Int64]
    /// Flags of each sample; one entry: the same for all.
    package var flags: [SampleFlags]
    /// Timestamps in the packets of a network camera's samples, one for each sample; nil: unknown.
    package var camera: CameraStamps?

    package init(
        track: TrackKind, sizes: [UInt32], dtsNanoseconds: [Int64],
        ptsOffsetsNanoseconds: [Int64], durationsNanoseconds: [Int64], flags: [SampleFlags],
        camera: CameraStamps? = nil
    ) {
        self.track = track
        self.sizes = sizes
        self.dtsNanoseconds = dtsNanoseconds
        self.ptsOffsetsNanoseconds = ptsOffsetsNanoseconds
        self.durationsNanoseconds = durationsNanoseconds
        self.flags = flags
        self.camera = camera
    }

    /// Number of samples.
    package var count: Int { sizes.count }

    /// Bytes of all samples together.
    package var sizeBytes: Int { sizes.reduce(0) { $0 + Int($1) } }

    /// Presentation time of a sample, nanoseconds of the agent's clock.
    package func ptsNanoseconds(at index: Int) -> Int64 {
        dtsNanoseconds[index] + (ptsOffsetsNanoseconds.isEmpty ? 0 : ptsOffsetsNanoseconds[index])
    }

    /// A sample's duration, nanoseconds.
    package func durationNanoseconds(at index: Int) -> Int64 {
        durationsNanoseconds.count == 1 ? durationsNanoseconds[0] : durationsNanoseconds[index]
    }

    /// A sample's flags.
    package func flags(at index: Int) -> SampleFlags {
        flags.count == 1 ? flags[0] : flags[index]
    }
}

extension [SampleRun] {
    /// From the first sample's decoding time to the last one's end, agent's clock.
    package var times: Range<Int64> {
        var start = Int64.max
        var end = Int64.min
        for run in self {
            guard let first = run.dtsNanoseconds.first, let last = run.dtsNanoseconds.last
            else { continue }
            start = Swift.min(start, first)
            end = Swift.max(end, last + run.durationNanoseconds(at: run.count - 1))
        }
        return start <= end ? start..<end : 0..<0
    }
}
