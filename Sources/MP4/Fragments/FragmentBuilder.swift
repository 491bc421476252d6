package import Media

/// A sample of a fragment, as `trun` describes it (ISO/IEC 14496-12 §8.8.8).
package struct FragmentSample: Hashable, Sendable {
    package var sizeBytes: UInt32
    /// Ticks to the next sample's decoding time, at least one.
    package var duration: UInt32
    /// Presentation time minus decoding time, ticks.
    package var compositionOffset: Int32
    /// Whether decoding can start here.
    package var isSync: Bool

    package init(sizeBytes: UInt32, duration: UInt32, compositionOffset: Int32, isSync: Bool) {
        self.sizeBytes = sizeBytes
        self.duration = duration
        self.compositionOffset = compositionOffset
        self.isSync = isSync
    }

    /// Sample flags (§8.8.3.1): depends on no other sample.
    static let syncFlags: UInt32 = 0x0200_0000
    /// Depends on others, is not a sync sample.
    static let differenceFlags: UInt32 = 0x0101_0000
    /// `sample_is_non_sync_sample`.
    static let nonSyncBit: UInt32 = 0x0001_0000

    var flags: UInt32 { isSync ? Self.syncFlags : Self.differenceFlags }
}

/// Builds the bytes before a fragment's media: `moof` and the header of `mdat` (§8.8.4, §8.1.1).
///
/// The caller adds runs in the order in which it will write their bytes, then finishes the head and writes head and
/// media. A builder is reused, so that a fragment costs one array.
package struct FragmentBuilder: Sendable {
    private struct Run {
        var track: TrackKind
        var firstDTS: Int64
        var samples: Range<Int>
    }

    private var runs: [Run] = []
    private var samples: [FragmentSample] = []
    /// Media bytes of all runs so far.
    package private(set) var mediaSizeBytes = 0

    package init() {}

    /// No run has been added since the last fragment.
    package var isEmpty: Bool { runs.isEmpty }

    /// Starts a run: contiguous samples of one track.
    ///
    /// - Parameters:
    ///   - track: of the samples.
    ///   - firstDTS: decoding time of the first one, in ticks of the track, its media time shift included.
    package mutating func beginRun(track: TrackKind, firstDTS: Int64) {
        precondition(runs.last?.samples.isEmpty != true, "a run has samples")
        runs.append(
            Run(track: track, firstDTS: firstDTS, samples: samples.count..<samples.count))
    }

    /// Adds a sample to the current run.
    package mutating func append(_ sample: FragmentSample) {
        precondition(!runs.isEmpty, "samples belong to runs")
        samples.append(sample)
        mediaSizeBytes += Int(sample.sizeBytes)
        let last = runs.count - 1
        runs[last].samples = runs[last].samples.lowerBound..<samples.count
    }

    /// The fragment's head; afterwards the builder is empty, also when this throws.
    ///
    /// Between two runs of a track, the earlier one's last duration is adjusted to the later one's start: decoding
    /// times are authoritative, durations are derived.
    ///
    /// - Parameters:
    ///   - sequenceNumber: of `mfhd`, one more than the previous fragment's.
    ///   - trailingBox: a whole box that becomes the last child of `moof`; may be empty.
    /// - Returns: `moof` and the eight bytes of the header of `mdat`; the media follow.
    /// - Throws: when a track's times do not increase, or a limit of readers is exceeded (``FragmentLimits``).
    package mutating func finish(
        sequenceNumber: UInt32, trailingBox: [UInt8] = []
    ) throws(MP4Error) -> [UInt8] {
        defer {
            runs.removeAll(keepingCapacity: true)
            samples.removeAll(keepingCapacity: true)
            mediaSizeBytes = 0
        }
        precondition(runs.last?.samples.isEmpty == false, "a fragment has samples")
        for track in TrackKind.allCases { try joinRuns(of: track) }

        var writer = BoxWriter(
            reserving: 128 + trailingBox.count + 32 * runs.count + 16 * samples.count)
        var offsetFields: [(position: Int, mediaOffset: Int)] = []
        offsetFields.reserveCapacity(runs.count)
        let moof = writer.begin("moof")
        writer.fullBox("mfhd") { $0.u32(sequenceNumber) }
        for track in TrackKind.allCases {
            writeTrackFragment(track, to: &writer, offsetFields: &offsetFields)
        }
        writer.raw(trailingBox)
        writer.end(moof)

        let mediaStart = writer.bytes.count + 8
        guard mediaSizeBytes + 8 <= FragmentLimits.mediaSizeBytes,
            samples.count <= FragmentLimits.samples,
            writer.bytes.count <= FragmentLimits.moofSizeBytes
        else { throw .fragmentTooLarge(sizeBytes: mediaSizeBytes) }
        for field in offsetFields {
            writer.patch(UInt32(mediaStart + field.mediaOffset), at: field.position)
        }
        writer.u32(UInt32(8 + mediaSizeBytes))
        writer.fourCC("mdat")
        return writer.bytes
    }

    /// Makes each run of a track end at the start of its next one, and checks that times increase.
    private mutating func joinRuns(of track: TrackKind) throws(MP4Error) {
        var earlier: Run?
        for run in runs where run.track == track {
            if let earlier {
                let last = earlier.samples.upperBound - 1
                var lastDTS = earlier.firstDTS
                for sample in samples[earlier.samples.lowerBound..<last] {
                    lastDTS = try Self.adding(sample.duration, to: lastDTS, of: track)
                }
                let (gap, overflow) = run.firstDTS.subtractingReportingOverflow(lastDTS)
                guard !overflow, gap > 0, let duration = UInt32(exactly: gap) else {
                    throw .decodingTime(track: track, previous: lastDTS, next: run.firstDTS)
                }
                samples[last].duration = duration
            } else if run.firstDTS < 0 {
                throw .negativeDecodingTime(track: track, value: run.firstDTS)
            }
            for sample in samples[run.samples] where sample.duration == 0 {
                throw .zeroDuration(track: track)
            }
            earlier = run
        }
    }

    private static func adding(
        _ duration: UInt32, to time: Int64, of track: TrackKind
    ) throws(MP4Error) -> Int64 {
        let (sum, overflow) = time.addingReportingOverflow(Int64(duration))
        guard !overflow else { throw .timeOverflow(track: track) }
        return sum
    }

    /// `traf` with `tfhd`, `tfdt` and a `trun` for each run (§8.8.6, §8.8.7, §8.8.12, §8.8.8).
    private func writeTrackFragment(
        _ track: TrackKind, to writer: inout BoxWriter,
        offsetFields: inout [(position: Int, mediaOffset: Int)]
    ) {
        guard let first = runs.first(where: { $0.track == track }) else { return }
        let duration = samples[first.samples.lowerBound].duration
        let traf = writer.begin("traf")
        // default-base-is-moof, default-sample-duration-present
        writer.fullBox("tfhd", flags: 0x02_0008) { writer in
            writer.u32(UInt32(track.rawValue))
            writer.u32(duration)
        }
        writer.fullBox("tfdt", version: 1) { $0.i64(first.firstDTS) }
        var mediaOffset = 0
        for run in runs {
            let samples = samples[run.samples]
            if run.track == track {
                let position = Self.writeRun(
                    samples, of: track, defaultDuration: duration, to: &writer)
                offsetFields.append((position, mediaOffset))
            }
            for sample in samples { mediaOffset += Int(sample.sizeBytes) }
        }
        writer.end(traf)
    }

    /// One `trun` with a data offset of zero; returns the offset's position.
    private static func writeRun(
        _ samples: ArraySlice<FragmentSample>, of track: TrackKind, defaultDuration: UInt32,
        to writer: inout BoxWriter
    ) -> Int {
        let defaultIsSync = track == .audio
        let hasDurations = samples.contains { $0.duration != defaultDuration }
        let hasOffsets = samples.contains { $0.compositionOffset != 0 }
        let isSigned = samples.contains { $0.compositionOffset < 0 }
        let hasFlags = samples.dropFirst().contains { $0.isSync != defaultIsSync }
        let first = samples.first
        let hasFirstFlags = !hasFlags && first?.isSync != defaultIsSync

        var flags: UInt32 = 0x201  // data offset, sizes
        if hasFirstFlags { flags |= 0x4 }
        if hasDurations { flags |= 0x100 }
        if hasFlags { flags |= 0x400 }
        if hasOffsets { flags |= 0x800 }
        let trun = writer.begin("trun")
        writer.u32((isSigned ? 0x0100_0000 : 0) | flags)
        writer.u32(UInt32(samples.count))
        let position = writer.bytes.count
        writer.u32(0)
        if hasFirstFlags, let first { writer.u32(first.flags) }
        for sample in samples {
            if hasDurations { writer.u32(sample.duration) }
            writer.u32(sample.sizeBytes)
            if hasFlags { writer.u32(sample.flags) }
            if hasOffsets { writer.i32(sample.compositionOffset) }
        }
        writer.end(trun)
        return position
    }
}
