import Files
import Media
import MP4

/// Writes one segment's file: header, fragments, and at the end the index that makes it an ordinary MP4.
///
/// Owned by one thread. The file is playable at every instant (see the module's article for the order of writes). It gets its
/// name with its first fragment: before that, it is its companion ``SegmentCompanion/unnamed``, and recovery removes it.
package final class SegmentWriter {
    package let path: String
    private let disk: any Disk
    /// `nil` before the first fragment.
    private var file: RecordingFile?
    private let header: [UInt8]
    package let plan: SegmentPlan
    private let sessionZero: UTCTime
    private let tracks: [TrackKind: SegmentPlan.Track]
    private var builder = FragmentBuilder()
    private var fragmentCount: UInt32 = 0
    private var chain: Digest
    /// Summary of the written fragments, from which a restarted collector resumes.
    package private(set) var summary: SegmentSummary?

    /// Creates a writer of a new file; the disk is not accessed before the first fragment.
    package init(
        path: String, plan: SegmentPlan, sessionZero: UTCTime, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        self.path = path
        self.disk = disk
        self.plan = plan
        self.sessionZero = sessionZero
        tracks = Dictionary(uniqueKeysWithValues: plan.tracks.map { ($0.format.kind, $0) })
        do throws(MP4Error) {
            header = try FragmentedHeader(
                tracks: plan.tracks.map {
                    RecordingTrack(format: $0.format, mediaTimeShift: $0.shiftTicks)
                },
                createdUnixSeconds: sessionZero.nanoseconds.clampedAdding(plan.originNanoseconds)
                    / 1_000_000_000,
                timecode: Timecode(
                    startNanoseconds: sessionZero.nanoseconds + plan.originNanoseconds,
                    tracks: plan.tracks.map(\.format))
            ).bytes
        } catch {
            throw .malformed(path: path, reason: "\(error)")
        }
        // The chain begins with the box that describes the tracks; the placeholder before it will change.
        let movieOffset =
            Int(FragmentedHeader.placeholderOffset) + FragmentedHeader.placeholderSizeBytes
        chain = Digest(of: Array(header[movieOffset...]))
    }

    /// Resumes a file that an earlier writer left and whose torn tail has been cut off.
    package init(
        continuing segment: UnfinishedSegment, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        path = segment.path
        self.disk = disk
        header = []
        plan = segment.plan
        sessionZero = segment.sessionZero
        tracks = Dictionary(uniqueKeysWithValues: plan.tracks.map { ($0.format.kind, $0) })
        fragmentCount = segment.fragments
        chain = segment.chain
        summary = segment.checkpoint.summary(of: Path.name(of: segment.path))
        let file = try RecordingFile(reopening: segment.path, on: disk)
        self.file = file
        guard file.sizeBytes == segment.sizeBytes else {
            throw .malformed(
                path: path,
                reason:
                    "has \(file.sizeBytes) bytes, expected \(segment.sizeBytes): another "
                    + "program has written to it")
        }
    }

    /// Present size of the file.
    package var sizeBytes: UInt64 { file?.sizeBytes ?? 0 }
    /// Size of the part that is durable.
    package var durableBytes: UInt64 { file?.durableBytes ?? 0 }

    /// Writes one fragment; after an error the file is unchanged, and the same plan may be tried again.
    package func append(
        _ fragment: FragmentPlan
    ) throws(ArchiveError) {
        for piece in fragment.pieces {
            for run in piece.runs { add(run) }
        }
        let record = record(of: fragment)
        let box = UserBox(userType: FragmentRecord.userType, payload: record.encoded()).bytes
        let head: [UInt8]
        do throws(MP4Error) {
            head = try builder.finish(sequenceNumber: fragmentCount + 1, trailingBox: box)
        } catch {
            throw .malformed(path: path, reason: "a fragment that cannot be written: \(error)")
        }
        if let file {
            try write(head, fragment, to: file)
        } else {
            file = try begin(with: head, fragment)
        }
        fragmentCount += 1
        chain = Digest(of: Array(head.dropLast(Self.mediaHeaderSizeBytes)))
        summarise(fragment, record, headBytes: head.count)
    }

    /// Adds the last fragment to the summary. A file that is resumed without a summary gets none: it would lack the beginning.
    private func summarise(_ fragment: FragmentPlan, _ record: FragmentRecord, headBytes: Int) {
        if fragmentCount == 1 { summary = SegmentSummary() }
        guard summary != nil else { return }
        let end = Int64(sizeBytes)
        let media = end - Int64(fragment.sizeBytes)..<end
        summary?.add(
            SegmentSurvey.Fragment(
                range: media.lowerBound - Int64(headBytes)..<end, spool: record.spool,
                runs: fragment.pieces.flatMap(\.runs).compactMap(runOnDisk), media: media,
                pieces: [], clock: SegmentSurvey.clock(of: record), exchanges: record.exchanges,
                collectorZeroNanoseconds: record.collectorZeroNanoseconds), chain: chain)
    }

    /// A written run with its end, as a survey of the file finds it.
    private func runOnDisk(_ run: PlannedRun) -> RunOnDisk? {
        guard let first = run.samples.first, let last = run.samples.last else { return nil }
        func duration(_ sample: PlannedSample) -> Int64 {
            Int64(UInt32(clamping: max(1, sample.duration)))
        }
        let dts = run.samples.dropLast().reduce(first.dts) { $0 + duration($1) }
        return RunOnDisk(
            track: run.track,
            sequences: run.firstSequence...run.firstSequence + UInt64(run.samples.count) - 1,
            end: TrackEnd(
                dtsTicks: dts, durationTicks: duration(last),
                timescale: tracks[run.track]?.format.timescale ?? .video))
    }

    /// Creates the file with its first fragment, and renames it to its final name when it is playable.
    private func begin(
        with head: [UInt8], _ fragment: FragmentPlan
    ) throws(ArchiveError) -> RecordingFile {
        let unnamed = SegmentCompanion.unnamed.path(of: path)
        // Left by an interrupted attempt.
        try FileSystem.remove(unnamed, on: disk)
        do throws(ArchiveError) {
            let file = try RecordingFile(creating: unnamed, on: disk)
            try file.append(header)
            try write(head, fragment, to: file)
            // The file system decides when the name becomes durable: a file with that name has to be playable, even after a power
            // cut.
            try file.synchronize()
            try file.rename(to: path)
            return file
        } catch {
            _ = disk.unlink(unnamed)
            throw error
        }
    }

    /// Writes a fragment atomically.
    private func write(
        _ head: [UInt8], _ fragment: FragmentPlan, to file: RecordingFile
    ) throws(ArchiveError) {
        let start = file.sizeBytes
        var open = head
        FragmentSeal.open(&open)
        let result = open.withUnsafeBytes { headBytes in
            var parts = [headBytes]
            for piece in fragment.pieces {
                parts.append(UnsafeRawBufferPointer(rebasing: piece.payload.memory[piece.range]))
            }
            return Result { () throws(ArchiveError) in try file.append(parts) }
        }
        try withExtendedLifetime(fragment) { () throws(ArchiveError) in try result.get() }
        do throws(ArchiveError) {
            try file.overwrite(FragmentSeal.bytes, at: start + UInt64(FragmentSeal.offset))
        } catch {
            // No reader reads past an unsealed fragment.
            try file.cut(to: start)
            throw error
        }
    }

    /// Starts to write new data to the disk, without waiting.
    package func startWriteback() { file?.startWriteback() }

    /// Returns when everything appended is durable.
    package func synchronize() throws(ArchiveError) { try file?.synchronize() }

    /// A ``synchronize()`` has failed: data that was not durable before may be lost.
    package var hasLostPages: Bool { file?.hasLostPages ?? false }

    /// Removes what a failed ``synchronize()`` may have lost. Nothing can be appended afterwards: the end of the digest chain is
    /// lost.
    package func cutToDurable() throws(ArchiveError) { try file?.cutToDurable() }

    /// Turns the file into an ordinary MP4 in place. The index is appended, made durable, and read back; only then the
    /// placeholder becomes the header of one `mdat` that contains everything written before. No media is copied.
    package func finish() throws(ArchiveError) {
        if let file { try SegmentFinisher.finish(file) }
    }

    /// Size and type of `mdat`, which follow `moof` in the fragment's head.
    private static let mediaHeaderSizeBytes = 8

    private func add(_ run: PlannedRun) {
        guard let track = tracks[run.track], let first = run.samples.first else { return }
        let base = track.shiftTicks - track.originTicks
        builder.beginRun(track: run.track, firstDTS: first.dts + base)
        for sample in run.samples {
            builder.append(
                FragmentSample(
                    sizeBytes: sample.sizeBytes,
                    duration: UInt32(clamping: max(1, sample.duration)),
                    compositionOffset: Int32(clamping: sample.pts - sample.dts),
                    isSync: sample.flags.contains(.keyframe)))
        }
    }

    private func record(
        of fragment: FragmentPlan
    ) -> FragmentRecord {
        let pieces = fragment.pieces.map { piece in
            FragmentRecord.Piece(
                sizeBytes: UInt32(piece.range.count),
                digestOrigin: piece.digest == nil ? .collector : .agent,
                digest: piece.digest
                    ?? Digest(
                        of: UnsafeRawBufferPointer(rebasing: piece.payload.memory[piece.range])),
                runs: piece.runs.map { run in
                    FragmentRecord.Run(
                        track: run.track,
                        primingSamples: UInt8(
                            clamping: run.samples.prefix { $0.flags.contains(.priming) }.count),
                        samples: UInt32(run.samples.count), firstSequence: run.firstSequence,
                        firstDTSNanoseconds: run.samples.first?.agentDTSNanoseconds ?? 0,
                        appliedOffsetNanoseconds: run.samples.first?.appliedOffsetNanoseconds ?? 0,
                        camera: run.camera)
                })
        }
        return FragmentRecord(
            spool: fragment.context.spool, epoch: fragment.context.epoch,
            clock: fragment.context.clock, sessionZero: sessionZero,
            collectorZeroNanoseconds: fragment.context.collectorZeroNanoseconds,
            segmentOriginNanoseconds: plan.originNanoseconds, chain: chain,
            durableBytes: durableBytes, pieces: pieces,
            exchanges: fragment.context.exchanges)
    }
}
