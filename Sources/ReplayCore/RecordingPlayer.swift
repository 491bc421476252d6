import Archive
import Library
package import Media
import Messaging
package import Recordings
import Wire

/// Plays a recorded source: its messages as they arrived, gaps, and format changes.
///
/// Messages are read when they are due; only one `moof` and one message are in memory.
package struct RecordingPlayer: SourcePlayer {
    package let name: String
    package let formats: [TrackFormat]
    private var reader: FragmentReader
    private let window: ReplayWindow
    private var present: [TrackFormat]
    /// Pieces of the fragment that is being sent, with changes of format before them.
    private var pieces: ArraySlice<RecordedPiece> = []
    private var changes: ArraySlice<TrackFormat> = []
    private var gaps: ArraySlice<RecordedGap>
    /// Nil while the recording continues.
    private var records: MissingRecords?
    /// Missing records that are to be reported.
    private var holes: ArraySlice<MissingRecords.Hole> = []
    private var ahead: ReplayItem?
    private var file: RecordedFile?
    private var hasBegun = false
    /// The last time, so that times do not decrease.
    private var latest = Int64.min

    /// - Parameters:
    ///   - from: session time, nanoseconds: starts with the samples that are needed to decode the picture at that time.
    ///   - to: samples decoded at or after it are omitted.
    /// - Returns: nil if the source has nothing in that range.
    package init?(
        _ source: RecordedSource, from: Int64? = nil, to: Int64? = nil
    ) throws(ReplayError) {
        do throws(ArchiveError) {
            let window = try ReplayWindow(source, from: from, to: to)
            var probe = SampleReader(source, from: window.from, to: to)
            guard let first = try probe.next() else { return nil }
            formats = first.file.formats
            self.window = window
            reader = FragmentReader(source, from: window.from, to: to)
            gaps = try source.gaps().filter(window.includes)
                .sorted { ($0.startNanoseconds ?? .min) < ($1.startNanoseconds ?? .min) }[...]
            records = try source.expectedRecords().map {
                MissingRecords($0, from: window.from, to: to)
            }
        } catch {
            throw ReplayError(reading: error)
        }
        name = source.name
        present = formats
    }

    package mutating func next() throws(ReplayError) -> ReplayItem? {
        do throws(ArchiveError) {
            if ahead == nil { ahead = try nextSamples() }
            if let gap = gaps.first, isDue(gap) {
                gaps.removeFirst()
                return item(gap)
            }
            if hasBegun || ahead == nil, let hole = holes.popFirst() { return item(hole) }
            defer { ahead = nil }
            hasBegun = true
            return ahead
        } catch {
            throw ReplayError(reading: error)
        }
    }

    private func isDue(_ gap: RecordedGap) -> Bool {
        // A gap before the first samples (hours, if files were removed) is skipped.
        if !hasBegun, ahead != nil { return false }
        guard let ahead, let start = gap.startNanoseconds else { return true }
        return start <= ahead.timeNanoseconds
    }

    private mutating func item(_ gap: RecordedGap) -> ReplayItem {
        latest = max(latest, gap.startNanoseconds ?? latest)
        let cause = GapCause.allCases.first { $0.description == gap.cause } ?? .unspecified
        let start = gap.startNanoseconds ?? max(latest, window.from ?? 0)
        return ReplayItem(
            timeNanoseconds: latest == .min ? start : latest,
            content: .loss(
                Loss(
                    track: gap.track, cause: cause, startNanoseconds: start,
                    durationNanoseconds: max(
                        0, min(gap.durationNanoseconds, WireLimits.gapNanoseconds)),
                    samples: gap.samples, text: gap.text)))
    }

    /// Found after its time, because later records may have filled it.
    private func item(_ hole: MissingRecords.Hole) -> ReplayItem {
        let start = max(hole.startNanoseconds, window.from ?? .min)
        return ReplayItem(
            timeNanoseconds: latest,
            content: .loss(
                Loss(
                    track: nil, cause: .unspecified, startNanoseconds: start,
                    durationNanoseconds: max(
                        0,
                        min(
                            hole.endNanoseconds.clampedSubtracting(start),
                            WireLimits.gapNanoseconds)),
                    samples: hole.samples, text: "missing in the replayed recording")),
            unexplainedSamples: hole.samples)
    }

    private mutating func nextSamples() throws(ArchiveError) -> ReplayItem? {
        while true {
            if let format = changes.popFirst() {
                return ReplayItem(timeNanoseconds: latest, content: .format(format))
            }
            if let piece = pieces.popFirst() {
                if let item = try samples(of: piece) { return item }
                continue
            }
            guard let fragment = try reader.next() else {
                add(records?.end() ?? [])
                records = nil
                return nil
            }
            pieces = fragment.pieces.flatMap(Self.messages)[...]
            if fragment.file !== file, let origin = fragment.file.originNanoseconds {
                add(records?.begin(fileAt: origin) ?? [])
            }
            records?.note(fragment)
            if fragment.file !== file {
                file = fragment.file
                changes = fragment.file.formats.filter { !present.contains($0) }[...]
                for format in changes { present = present.replacing(format) }
            }
        }
    }

    private mutating func add(_ found: [MissingRecords.Hole]) {
        holes += found.filter { window.includes(from: $0.startNanoseconds, to: $0.endNanoseconds) }
    }

    /// A piece as messages of the protocol: one run of each kind.
    private static func messages(_ piece: RecordedPiece) -> [RecordedPiece] {
        guard Set(piece.runs.map(\.track)).count < piece.runs.count else { return [piece] }
        return piece.runs.map { run in
            var message = piece
            message.range = run.range
            message.digest = nil
            message.runs = [run]
            return message
        }
    }

    private mutating func samples(of piece: RecordedPiece) throws(ArchiveError) -> ReplayItem? {
        var part = piece
        for run in part.runs.indices {
            part.runs[run].samples.removeAll { !window.includes($0) }
        }
        part.runs.removeAll { $0.samples.isEmpty }
        guard let file, !part.runs.isEmpty else { return nil }
        let count = part.runs.reduce(0) { $0 + $1.samples.count }
        let isWhole = count == piece.runs.reduce(0) { $0 + $1.samples.count }
        let payload =
            try isWhole ? Self.read(piece.range, of: file) : Self.read(part.runs, of: file)
        let digest =
            (isWhole ? piece.digest : nil) ?? payload.withUnsafeBytes { Digest(of: $0) }
        let newest = part.runs.flatMap(\.samples).map(\.dtsNanoseconds).max() ?? latest
        latest = max(latest, newest)
        return ReplayItem(
            timeNanoseconds: latest,
            content: .samples(
                ReplayedSamples(
                    runs: part.runs.map(SampleRun.init), payload: payload, digest: digest.bytes)))
    }

    private static func read(
        _ range: Range<Int64>, of file: RecordedFile
    ) throws(ArchiveError) -> SharedBytes {
        try shared(count: range.count) { buffer throws(ArchiveError) in
            try file.read(at: range.lowerBound, into: buffer)
        }
    }

    private static func read(
        _ runs: [ReadRun], of file: RecordedFile
    ) throws(ArchiveError) -> SharedBytes {
        let samples = runs.flatMap(\.samples)
        return try shared(count: samples.reduce(0) { $0 + $1.sizeBytes }) {
            buffer throws(ArchiveError) in
            var offset = 0
            for sample in samples {
                let part = buffer[offset..<offset + sample.sizeBytes]
                try file.read(
                    at: sample.offset, into: UnsafeMutableRawBufferPointer(rebasing: part))
                offset += sample.sizeBytes
            }
        }
    }

    /// Allocates shared memory, and fills it.
    /// - Throws: the error of `fill`.
    private static func shared(
        count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Void
    ) throws(ArchiveError) -> SharedBytes {
        var failure: ArchiveError?
        let bytes = SharedBytes(count: count) { buffer in
            do throws(ArchiveError) {
                try fill(buffer)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

extension ReadRun {
    /// Offset of its bytes in the file.
    fileprivate var range: Range<Int64> {
        let first = samples[0].offset
        return first..<samples.reduce(first) { $0 + Int64($1.sizeBytes) }
    }
}

extension SampleRun {
    /// A run for sending: session time in nanoseconds, from which the same ticks follow.
    fileprivate init(_ run: ReadRun) {
        let samples = run.samples
        let offsets = samples.map { $0.ptsNanoseconds - $0.dtsNanoseconds }
        let durations = samples.map { sample in
            max(1, min(sample.durationNanoseconds, WireLimits.intervalNanoseconds))
        }
        let flags = samples.map(\.flags)
        self.init(
            track: run.track, sizes: samples.map { UInt32($0.sizeBytes) },
            dtsNanoseconds: samples.map(\.dtsNanoseconds),
            ptsOffsetsNanoseconds: offsets.allSatisfy { $0 == 0 } ? [] : offsets,
            durationsNanoseconds: durations.dropFirst().allSatisfy { $0 == durations[0] }
                ? [durations[0]] : durations,
            flags: flags.dropFirst().allSatisfy { $0 == flags[0] } ? [flags[0]] : flags)
    }
}
