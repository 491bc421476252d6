import Media
import MP4

/// Writes one segment's file: header, fragments as they come, and at the end the index that makes it an ordinary MP4.
///
/// Owned by one thread. The file plays at every instant (see the module's article for the order of writes).
package final class SegmentWriter {
    package let path: String
    private let file: RecordingFile
    private let plan: SegmentPlan
    private let sessionZero: UTCTime
    private let tracks: [TrackKind: SegmentPlan.Track]
    private var builder = FragmentBuilder()
    private var fragmentCount: UInt32 = 0
    private var chain: Digest

    /// Makes the file and writes its header.
    package init(path: String, plan: SegmentPlan, sessionZero: UTCTime) throws(ArchiveError) {
        self.path = path
        self.plan = plan
        self.sessionZero = sessionZero
        tracks = Dictionary(uniqueKeysWithValues: plan.tracks.map { ($0.format.kind, $0) })
        let header: FragmentedHeader
        do throws(MP4Error) {
            header = try FragmentedHeader(
                tracks: plan.tracks.map {
                    RecordingTrack(format: $0.format, mediaTimeShift: $0.shiftTicks)
                },
                createdUnixSeconds: sessionZero.nanoseconds / 1_000_000_000,
                timecode: Timecode(
                    startNanoseconds: sessionZero.nanoseconds + plan.originNanoseconds,
                    tracks: plan.tracks.map(\.format)))
        } catch {
            throw .malformed(path: path, reason: "\(error)")
        }
        // The chain begins with what describes the tracks; the placeholder before it will change.
        let movieOffset =
            Int(FragmentedHeader.placeholderOffset) + FragmentedHeader.placeholderSizeBytes
        chain = Digest(of: Array(header.bytes[movieOffset...]))
        file = try RecordingFile(creating: path)
        try file.append(header.bytes)
    }

    /// Goes on with a file that an earlier writer left, whose torn tail has been cut.
    package init(continuing segment: UnfinishedSegment) throws(ArchiveError) {
        path = segment.path
        plan = segment.plan
        sessionZero = segment.sessionZero
        tracks = Dictionary(uniqueKeysWithValues: plan.tracks.map { ($0.format.kind, $0) })
        fragmentCount = segment.fragments
        chain = segment.chain
        file = try RecordingFile(reopening: segment.path)
        guard file.sizeBytes == segment.sizeBytes else {
            throw .malformed(
                path: path,
                reason:
                    "has \(file.sizeBytes) bytes where \(segment.sizeBytes) were left: somebody "
                    + "else has written to it")
        }
    }

    /// Bytes in the file so far.
    package var sizeBytes: UInt64 { file.sizeBytes }

    /// Writes one fragment; after an error the file is as it was before, and the same plan may be tried again.
    package func append<Payload: MediaPayload>(
        _ fragment: FragmentPlan<Payload>
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
        let start = file.sizeBytes
        try write(head, fragment)
        try file.overwrite(FragmentSeal.bytes, at: start + UInt64(FragmentSeal.offset))
        fragmentCount += 1
        chain = Digest(of: Array(head.dropLast(Self.mediaHeaderSizeBytes)))
    }

    /// Writes a fragment so that it is there, but not yet part of the file.
    private func write<Payload: MediaPayload>(
        _ head: [UInt8], _ fragment: FragmentPlan<Payload>
    ) throws(ArchiveError) {
        var head = head
        FragmentSeal.open(&head)
        let result = head.withUnsafeBytes { headBytes in
            var parts = [headBytes]
            for piece in fragment.pieces {
                parts.append(UnsafeRawBufferPointer(rebasing: piece.payload.memory[piece.range]))
            }
            return Result { () throws(ArchiveError) in try file.append(parts) }
        }
        try withExtendedLifetime(fragment) { () throws(ArchiveError) in try result.get() }
    }

    /// Begins to write what is new to the disk, without waiting.
    package func startWriteback() { file.startWriteback() }

    /// Returns when everything appended is durable.
    package func synchronize() throws(ArchiveError) { try file.synchronize() }

    /// Makes the file an ordinary MP4 in place: the index is appended and made durable, read back, and only then the
    /// placeholder becomes the header of one `mdat` that holds all that was written before. No media is copied.
    package func finish() throws(ArchiveError) {
        try SegmentFinisher.finish(file)
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

    private func record<Payload: MediaPayload>(
        of fragment: FragmentPlan<Payload>
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
                        appliedOffsetNanoseconds: run.samples.first?.appliedOffsetNanoseconds ?? 0)
                })
        }
        return FragmentRecord(
            spool: fragment.context.spool, epoch: fragment.context.epoch,
            clock: fragment.context.clock, sessionZero: sessionZero,
            collectorZeroNanoseconds: fragment.context.collectorZeroNanoseconds,
            segmentOriginNanoseconds: plan.originNanoseconds, chain: chain, pieces: pieces,
            exchanges: fragment.context.exchanges)
    }
}
