import Archive
import MP4
import Media

/// A file merged from fragments of several archives' files.
///
/// It starts with the initialization segment of its first fragment's file. Fragments of that file are used unchanged until
/// another archive's fragment comes between; the others get a new `moof` with this file's times and sequence numbers.
struct MergedSection: Sendable {
    private struct Track: Sendable {
        var format: TrackFormat
        var shiftTicks: Int64
        var originTicks: Int64
        /// Decoding time of the last sample, ticks of this file's timeline.
        var lastTicks: Int64?
    }

    /// Name in listings.
    let name: String
    /// Start on the session's timeline, nanoseconds.
    let originNanoseconds: Int64
    private(set) var bytes = MergedBytes()
    private(set) var newestNanoseconds = Int64.min
    /// Decoding time of its first sample, session time in nanoseconds.
    let beginNanoseconds: Int64
    private let first: RecordedFile
    private let shiftNanoseconds: Int64
    private var tracks: [TrackKind: Track] = [:]
    private var fragments: UInt32 = 0
    /// File of the last part.
    private var last: RecordedFile?
    /// Description of the differences from the first file, for the revision.
    private var changes = ""
    /// All parts so far are at their positions in the first file.
    private var isVerbatim = true
    private var builder = FragmentBuilder()

    /// - Parameter inputs: the files that may be merged.
    init(
        beginningWith part: MergedPart, from input: FragmentJoiner.Input,
        inputs: [FragmentJoiner.Input]
    ) throws(ArchiveError) {
        name = input.name
        beginNanoseconds = part.timeNanoseconds
        first = part.file
        shiftNanoseconds = input.shiftNanoseconds
        originNanoseconds = part.file.originNanoseconds ?? 0
        if let retiming = part.file.retiming { changes += "retimed \(retiming.revision)\n" }
        addTracks(of: part.file)
        let own = Set(tracks.keys)
        for other in inputs where accepts(other.file.formats) { addTracks(of: other.file) }
        if Set(tracks.keys) == own {
            let start = part.file.layout.placeholderOffset
            bytes.append(0..<start, of: part.file)
            bytes.append(Self.placeholder)
            bytes.append(
                start + Int64(Self.placeholder.count)..<part.file.layout.fragments.lowerBound,
                of: part.file)
        } else {
            changes += "tracks \(tracks.count)\n"
            try writeHeader()
        }
    }

    static let placeholder: [UInt8] =
        [0, 0, 0, UInt8(FragmentedHeader.placeholderSizeBytes)] + Array("free".utf8)
        + [UInt8](repeating: 0, count: FragmentedHeader.placeholderSizeBytes - 8)

    private mutating func addTracks(of file: RecordedFile) {
        for track in file.layout.initialMovie.tracks {
            guard let kind = track.kind, let format = track.format, tracks[kind] == nil else {
                continue
            }
            let origin = saturatingRescale(
                originNanoseconds, from: .nanoseconds, to: format.timescale)
            let own = saturatingRescale(
                file.originNanoseconds ?? originNanoseconds, from: .nanoseconds,
                to: format.timescale)
            // Its first sample may precede this file's start.
            let shift = track.mediaTimeShift.clampedAdding(origin.clampedSubtracting(own))
            tracks[kind] = Track(
                format: format, shiftTicks: min(max(0, shift), FragmentLimits.mediaTimeShift),
                originTicks: origin)
        }
    }

    /// Writes an initialization segment with tracks of several files.
    private mutating func writeHeader() throws(ArchiveError) {
        do throws(MP4Error) {
            let present = TrackKind.allCases.compactMap { tracks[$0] }
            let header = try FragmentedHeader(
                tracks: present.map {
                    RecordingTrack(format: $0.format, mediaTimeShift: $0.shiftTicks)
                }, createdUnixSeconds: first.layout.initialMovie.createdUnixSeconds
            ).bytes
            let start = Int(FragmentedHeader.placeholderOffset)
            bytes.append(Array(header[..<start]))
            bytes.append(Self.placeholder)
            bytes.append(Array(header[(start + Self.placeholder.count)...]))
            isVerbatim = false
        } catch {
            throw first.error(error)
        }
    }

    private func accepts(_ formats: [TrackFormat]) -> Bool {
        formats.allSatisfy { tracks[$0.kind]?.format ?? $0 == $0 }
    }

    /// Whether a part's formats are those of this file.
    func accepts(_ part: MergedPart) -> Bool {
        part.pieces.allSatisfy { piece in
            piece.runs.allSatisfy { run in
                part.file.format(run.track).map { tracks[run.track]?.format == $0 } ?? false
            }
        }
    }

    mutating func append(
        _ part: MergedPart, from input: FragmentJoiner.Input
    ) throws(ArchiveError) {
        noteChange(part, input)
        fragments += 1
        if part.isWhole, part.file === first, part.file.retiming == nil, fitsVerbatim(part) {
            bytes.append(part.range, of: part.file)
        } else {
            isVerbatim = false
            try write(part)
        }
        for run in part.pieces.flatMap(\.runs) {
            for sample in run.samples {
                newestNanoseconds = max(newestNanoseconds, sample.dtsNanoseconds)
            }
        }
    }

    /// Records a difference from the first file.
    private mutating func noteChange(_ part: MergedPart, _ input: FragmentJoiner.Input) {
        let isJoint = last.map { $0 !== part.file } ?? false
        let isAppended = isVerbatim && last === first && part.file !== first
        if isJoint, !isAppended || bytes.sizeBytes != first.layout.fragments.upperBound {
            changes += "\(input.archive) \(part.firstSequence ?? 0)\n"
        } else if !part.isWhole {
            changes += "\(input.archive) from \(part.firstSequence ?? 0)\n"
        }
        last = part.file
    }

    /// Whether the part's times follow the last sample's; an archive's clock model may place a sample slightly earlier.
    private mutating func fitsVerbatim(_ part: MergedPart) -> Bool {
        let runs = part.pieces.flatMap(\.runs)
        for run in runs {
            guard let track = tracks[run.track], let sample = run.samples.first else { continue }
            if let last = track.lastTicks, ticks(sample, track) <= last { return false }
        }
        for run in runs {
            guard let track = tracks[run.track], let sample = run.samples.last else { continue }
            let time = ticks(sample, track)
            tracks[run.track]?.lastTicks = time
        }
        return true
    }

    /// Decoding time on this file's timeline.
    private func ticks(_ sample: RecordedSample, _ track: Track) -> Int64 {
        sample.dtsTicks.clampedSubtracting(track.originTicks).clampedAdding(track.shiftTicks)
    }

    /// Writes a `moof`, and references the media.
    private mutating func write(_ part: MergedPart) throws(ArchiveError) {
        for run in part.pieces.flatMap(\.runs) { add(run) }
        var box: [UInt8] = []
        if let record = try record(of: part) {
            box = UserBox(userType: FragmentRecord.userType, payload: record.encoded()).bytes
        }
        do throws(MP4Error) {
            bytes.append(try builder.finish(sequenceNumber: fragments, trailingBox: box))
        } catch {
            throw part.file.error(error)
        }
        for piece in part.pieces { bytes.append(piece.range, of: part.file) }
    }

    private mutating func add(_ run: ReadRun) {
        guard let track = tracks[run.track] else { return }
        var times = run.samples.map { ticks($0, track) }
        var last = track.lastTicks ?? -1
        for index in times.indices {
            times[index] = max(times[index], last.clampedAdding(1))
            last = times[index]
        }
        tracks[run.track]?.lastTicks = last
        builder.beginRun(track: run.track, firstDTS: times.first ?? 0)
        for (index, sample) in run.samples.enumerated() {
            let length =
                index + 1 < times.count
                ? times[index + 1].clampedSubtracting(times[index]) : sample.durationTicks
            let presented = sample.ptsTicks.clampedSubtracting(track.originTicks)
                .clampedAdding(track.shiftTicks)
            builder.append(
                FragmentSample(
                    sizeBytes: UInt32(clamping: sample.sizeBytes),
                    duration: UInt32(clamping: max(1, length)),
                    compositionOffset: Int32(
                        clamping: max(0, presented.clampedSubtracting(times[index]))),
                    isSync: sample.flags.contains(.keyframe) || run.track == .audio))
        }
    }

    /// The fragment record of a part; nil if it has none, or would have too many pieces.
    private func record(of part: MergedPart) throws(ArchiveError) -> FragmentRecord? {
        guard var record = part.record, part.pieces.count <= FragmentRecord.maximumPieces else {
            return nil
        }
        record.segmentOriginNanoseconds = originNanoseconds.clampedSubtracting(shiftNanoseconds)
        record.collectorZeroNanoseconds = record.collectorZeroNanoseconds ?? 0
        if !part.isWhole { record.exchanges = [] }
        record.clock.boundNanoseconds = part.boundNanoseconds(
            recorded: record.clock.boundNanoseconds)
        var pieces: [FragmentRecord.Piece] = []
        for piece in part.pieces {
            let digest: Digest
            if let known = piece.digest {
                digest = known
            } else {
                digest = Digest(
                    of: try part.file.read(
                        at: piece.range.lowerBound, count: piece.range.count))
            }
            pieces.append(
                FragmentRecord.Piece(
                    sizeBytes: UInt32(clamping: piece.range.count), digestOrigin: .collector,
                    digest: digest,
                    runs: piece.runs.map { run in
                        let priming = run.samples.prefix { $0.flags.contains(.priming) }.count
                        return FragmentRecord.Run(
                            track: run.track, primingSamples: UInt8(clamping: priming),
                            samples: UInt32(clamping: run.samples.count),
                            firstSequence: run.samples.first?.sequence ?? 0,
                            firstDTSNanoseconds: run.firstAgentDTSNanoseconds ?? 0,
                            appliedOffsetNanoseconds: run.appliedOffsetNanoseconds ?? 0)
                    }))
        }
        record.pieces = pieces
        return record
    }

    /// Position in the merged session.
    /// - Parameter zero: of the merged session.
    func placement(zero: UTCTime) -> FilePlacement {
        let digest = Digest(of: Array(changes.utf8)).bytes
        let revision = digest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return FilePlacement(
            shiftNanoseconds: shiftNanoseconds, sessionZero: zero,
            revision: changes.isEmpty ? 0 : revision | 1)
    }

    /// The bytes of a finished file with an index; nil if no index can be built.
    func finished() throws(ArchiveError) -> MergedBytes? {
        do throws(MP4Error) {
            let finish = try SegmentFinisher.plan(MergedSource(bytes: bytes))
            guard finish.movieOffset == bytes.sizeBytes else { return nil }
            var whole = bytes
            whole.replace(finish.header, at: finish.headerOffset)
            whole.append(finish.movie)
            return whole
        } catch {
            switch error {
            case .unreadable: throw first.error(error)
            // The file can be read without an index.
            default: return nil
            }
        }
    }
}
