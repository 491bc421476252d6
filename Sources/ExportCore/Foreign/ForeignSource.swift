import Archive
import Devices
import Encoding
import Glibc
import Media

/// The bytes of some samples, until they are written.
// @unchecked: filled before it is shared, only read from then on.
private final class ImportedBytes: MediaPayload, @unchecked Sendable {
    let memory: UnsafeRawBufferPointer

    init(_ samples: [EncodedSample]) {
        let all = UnsafeMutableRawBufferPointer.allocate(
            byteCount: samples.reduce(0) { $0 + $1.data.count }, alignment: 16)
        var place = 0
        for sample in samples {
            UnsafeMutableRawBufferPointer(rebasing: all[place..<place + sample.data.count])
                .copyBytes(from: sample.data)
            place += sample.data.count
        }
        memory = UnsafeRawBufferPointer(all)
    }

    deinit { memory.deallocate() }
}

/// Imports one foreign file as a source of a session.
struct ForeignSource {
    let path: String
    let name: String
    let edits: EditLists
    let session: String
    let zero: UTCTime
    let segmentNanoseconds: Int64
    let layout: ArchiveLayout

    /// The result.
    struct Written {
        var entry: SessionManifest.Source
        var summary: ExportSummary
        /// Notes for the user about the file.
        var notes: [String]
    }

    /// Reads the file and writes the source's directory.
    func write(durationNanoseconds: Int64, control: WorkControl) throws -> Written {
        var file = try Self.open(path)
        // Otherwise its earliest time becomes the session's zero: in other containers it is arbitrary.
        if edits.beginsLate {
            guard file.startNanoseconds.magnitude < TimeLimits.nanoseconds else {
                throw DeviceError.timeOutOfRange(path: path)
            }
            file.originNanoseconds = max(0, file.startNanoseconds)
        }
        var tracks = try FileTracks(&file, path: path)
        try FileSystem.makeDirectories(layout.source(session, name))
        var recorder = ImportRecorder(self, formats: tracks.formats)
        var summary = ExportSummary()
        var undecodable = 0
        while let packet = try file.next() {
            try control.check()
            let (copy, newFormat) = try tracks.copy(packet)
            guard var sample = copy else {
                if packet.track == .video { undecodable += 1 }
                continue
            }
            trim(&sample)
            if let newFormat { try recorder.change(newFormat) }
            try recorder.add(sample)
            summary.count(sample.track)
            summary.sizeBytes += Int64(sample.data.count)
            let end = sample.ptsNanoseconds + sample.durationNanoseconds
            summary.durationNanoseconds = max(summary.durationNanoseconds, end)
            control.progress(sample.ptsNanoseconds, of: durationNanoseconds)
        }
        try recorder.writeBatch()
        if undecodable > 0 {
            guard summary.pictures > 0 else {
                throw ExportError.refused(
                    path: path,
                    reason:
                        "decoding can start at none of its pictures (no IDR picture, no recovery point): transcode it with "
                        + "ffmpeg -i FILE -c:v libx264 -c:a copy NEW.mp4")
            }
            let text = VideoCopier.leftOut(undecodable)
            summary.notes.append(text)
            recorder.leftOut(.video, samples: undecodable, text)
        }
        guard summary.pictures + summary.soundPackets > 0 else {
            throw ExportError.nothingThere(path)
        }
        summary.notes += recordLosses(of: &file, in: &recorder)
        let end = try recorder.finish()
        var entry = SessionManifest.Source(
            name: name, agent: "import", address: path,
            tracks: tracks.formats.map(\.summary), isComplete: true)
        entry.spools = [end]
        return Written(
            entry: entry, summary: summary,
            notes: file.notes + file.joints.map(FileSource.note) + summary.notes)
    }

    /// Records what the file has lost; returns notes about this and about hidden packets.
    private func recordLosses(
        of file: inout FileSource, in recorder: inout ImportRecorder
    ) -> [String] {
        var notes: [String] = []
        let damage = file.takeDamage()
        for (kind, isLate) in TrackKind.allCases.flatMap({ [($0, false), ($0, true)] }) {
            let damages = damage.filter { $0.track == kind && $0.isLate == isLate }
            guard let first = damages.first else { continue }
            for damage in damages { recorder.leftOut(damage) }
            let samples = damages.reduce(0) { $0 + $1.samples }
            let gaps = damages.count == 1 ? "a gap at" : "\(damages.count) gaps, the first at"
            notes.append(
                "\(samples) \(Self.unit(kind)) left out in \(gaps) \(first.startNanoseconds / 1_000_000_000) s: "
                    + first.text)
        }
        for kind in TrackKind.allCases {
            guard let unread = file.unread[kind] else { continue }
            let text =
                "\(unread) \(Self.unit(kind)) left out: the file lists them, and they cannot be found"
            notes.append(text)
            recorder.leftOut(kind, samples: unread, text)
        }
        for kind in TrackKind.allCases {
            guard let hidden = file.hidden(kind) else { continue }
            notes.append(
                "\(hidden) \(Self.unit(kind)) that the file's edit list hides are left out")
        }
        return notes
    }

    private static func unit(_ kind: TrackKind) -> String {
        kind == .video ? "pictures" : "sound packets"
    }

    /// Truncates the duration of a sample at the end of the presentation.
    private func trim(_ sample: inout EncodedSample) {
        guard let end = edits.ends[sample.track], sample.ptsNanoseconds < end else { return }
        sample.durationNanoseconds = min(
            sample.durationNanoseconds, end - sample.ptsNanoseconds)
    }

    /// Opens the available tracks.
    private static func open(_ path: String) throws -> FileSource {
        var kinds = TrackKind.allCases
        while true {
            do throws(DeviceError) {
                return try FileSource(path: path, kinds: kinds, loops: false, for: .copying)
            } catch {
                guard case .noTrack(let kind, _) = error, kinds.count > 1 else {
                    if case .noTrack = error {
                        throw ExportError.refused(
                            path: path,
                            reason: "it has no video and no audio whose content is known")
                    }
                    throw error
                }
                kinds.removeAll { $0 == kind }
            }
        }
    }
}

/// Copies a file's tracks in the same way as an agent.
private struct FileTracks {
    private let path: String
    private var video: VideoCopier?
    private var audio: AudioCopier?

    init(_ file: inout FileSource, path: String) throws {
        self.path = path
        for track in file.tracks {
            do {
                let first = try track.isDescribed ? nil : file.firstPacket(of: track.kind)
                switch track.kind {
                case .video: video = try VideoCopier(track, firstPacket: first)
                case .audio: audio = try AudioCopier(track, firstPacket: first)
                }
            } catch EncodingError.notCopied(let codec, _) {
                throw Self.refusal(path, codec)
            } catch let error as EncodingError {
                throw ExportError.refused(path: path, reason: error.description)
            } catch let error as BitstreamError {
                throw ExportError.refused(
                    path: path, reason: "its \(track.kind) is damaged: \(error)")
            }
        }
    }

    private static func refusal(_ path: String, _ codec: String) -> ExportError {
        .refused(
            path: path,
            reason:
                "it has \(codec), and recordings hold only \(recordableCodecs): transcode it first with "
                + "ffmpeg -i FILE -c:v libx264 -c:a aac NEW.mp4")
    }

    var formats: [TrackFormat] {
        var formats: [TrackFormat] = []
        if let video { formats.append(.video(video.format)) }
        if let audio { formats.append(.audio(audio.format)) }
        return formats
    }

    /// The packet as a sample, and the format that begins with it.
    mutating func copy(_ packet: CodedPacket) throws -> (EncodedSample?, TrackFormat?) {
        do throws(EncodingError) {
            switch packet.track {
            case .video:
                guard let output = try video?.copy(packet) else { return (nil, nil) }
                return (output.sample, output.newFormat.map { .video($0) })
            case .audio: return (try audio?.copy(packet), nil)
            }
        } catch {
            throw ExportError.refused(path: path, reason: error.description)
        }
    }
}

/// Writes samples to files, ledger and sequence numbers, like a collector's session recorder.
private struct ImportRecorder {
    /// Samples are divided into pieces of this duration, like an agent's messages.
    private static let batchNanoseconds: Int64 = 100_000_000

    private let source: ForeignSource
    private let context: FragmentContext
    /// The spool's identity in the ledger.
    private let spool: String
    private var segmenter: Segmenter
    private var formats: [TrackFormat]
    private var writers: [Int: SegmentWriter] = [:]
    private var ledger: [UInt8] = []
    /// Samples of the next piece.
    private var batch: [EncodedSample] = []
    private var sequence: UInt64 = 0
    /// The last decoding time of each track, ticks.
    private var last: [TrackKind: Int64] = [:]

    init(_ source: ForeignSource, formats: [TrackFormat]) {
        self.source = source
        self.formats = formats
        var settings = SegmenterSettings(segmentNanoseconds: source.segmentNanoseconds)
        // Samples hidden before the start of the presentation stay hidden.
        settings.presentedFromNanoseconds = 0
        segmenter = Segmenter(settings: settings, formats: formats)
        context = FragmentContext(
            spool: .random(), epoch: .random(),
            clock: FragmentRecord.Clock(
                offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
            collectorZeroNanoseconds: 0)
        spool = context.spool.description
        let own = spool
        note(.opened) {
            $0.spool = own
            $0.after = 0
            $0.text = "imported from \(source.path)"
        }
    }

    /// Adds a sample after earlier ones, each track's in the order of decoding times.
    mutating func add(_ sample: EncodedSample) throws {
        let isLong =
            batch.first.map {
                sample.dtsNanoseconds - $0.dtsNanoseconds >= Self.batchNanoseconds
            } ?? false
        if isLong || sample.track == .video && sample.flags.contains(.keyframe) {
            try writeBatch()
        }
        batch.append(sample)
    }

    /// Writes the samples that were added since the last piece.
    mutating func writeBatch() throws {
        guard let now = batch.lazy.map(\.dtsNanoseconds).max() else { return }
        let grouped = TrackKind.allCases.flatMap { kind in batch.filter { $0.track == kind } }
        batch.removeAll(keepingCapacity: true)
        var runs: [PlannedRun] = []
        for sample in grouped {
            let planned = try plan(sample)
            sequence += 1
            if runs.last?.track == sample.track {
                runs[runs.count - 1].samples.append(planned)
            } else {
                runs.append(
                    PlannedRun(track: sample.track, firstSequence: sequence, samples: [planned]))
            }
        }
        let payload = ImportedBytes(grouped)
        let piece = PlannedPiece(
            payload: payload, range: 0..<payload.memory.count, digest: Digest(of: payload.memory),
            runs: runs)
        try perform(segmenter.add(piece, context: context, now: now))
        try perform(segmenter.tick(now: now))
    }

    private mutating func plan(_ sample: EncodedSample) throws -> PlannedSample {
        guard let timescale = formats.first(where: { $0.kind == sample.track })?.timescale else {
            preconditionFailure("a sample is of a track that was described")
        }
        let offset = try rescale(
            sample.ptsNanoseconds - sample.dtsNanoseconds, from: .nanoseconds, to: timescale)
        var dts = try rescale(sample.dtsNanoseconds, from: .nanoseconds, to: timescale)
        let pts = dts + offset
        // Two decoding times may round to one tick.
        if let last = last[sample.track] { dts = max(dts, last + 1) }
        last[sample.track] = dts
        return PlannedSample(
            sizeBytes: UInt32(sample.data.count), dts: dts, pts: max(pts, dts),
            duration: max(
                1, try rescale(sample.durationNanoseconds, from: .nanoseconds, to: timescale)),
            flags: sample.flags, agentDTSNanoseconds: sample.dtsNanoseconds,
            appliedOffsetNanoseconds: 0)
    }

    /// Records dropped samples as a gap.
    mutating func leftOut(_ track: TrackKind, samples: Int, _ text: String) {
        note(.gap) {
            $0.track = track.description
            $0.cause = "damaged-input"
            $0.samples = UInt64(samples)
            $0.text = text
        }
    }

    /// Records losses of the file as a gap.
    mutating func leftOut(_ damage: FileDamage) {
        note(.gap) {
            $0.track = damage.track.description
            $0.cause = "damaged-input"
            $0.startNanoseconds = damage.startNanoseconds
            $0.durationNanoseconds = UInt64(
                max(0, damage.endNanoseconds - damage.startNanoseconds))
            $0.samples = UInt64(damage.samples)
            $0.text = damage.text
        }
    }

    /// Changes a track's format from the next sample on; the change uses a sequence number, like an agent's.
    mutating func change(_ format: TrackFormat) throws {
        try writeBatch()
        sequence += 1
        formats = formats.map { $0.kind == format.kind ? format : $0 }
        segmenter.setFormats(formats)
        let (number, own) = (sequence, spool)
        note(.format) {
            $0.firstSequence = number
            $0.lastSequence = number
            $0.spool = own
            $0.track = format.kind.description
            $0.text = format.summary
        }
    }

    /// Finishes files and ledger; returns the end of the sequence numbers.
    mutating func finish() throws -> SessionManifest.SpoolEnd {
        try perform(segmenter.end())
        sequence += 1
        let (number, own) = (sequence, spool)
        note(.goodbye) {
            $0.firstSequence = number
            $0.lastSequence = number
            $0.spool = own
            $0.text = "end of the file"
        }
        try FileSystem.replace(
            source.layout.ledger(source.session, source.name), with: ledger)
        return SessionManifest.SpoolEnd(
            spool: spool, first: 1, sequences: SequenceSet(upTo: sequence))
    }

    private mutating func note(_ kind: LedgerEntry.Kind, _ fill: (inout LedgerEntry) -> Void) {
        var entry = LedgerEntry(kind: kind, at: RecordingImport.now)
        fill(&entry)
        ledger += Ledger.line(entry)
    }

    private mutating func perform(_ actions: [Segmenter.Action]) throws {
        for action in actions {
            switch action {
            case .open(let segment, let plan):
                let origin = UTCTime(nanoseconds: source.zero.nanoseconds + plan.originNanoseconds)
                writers[segment] = try SegmentWriter(
                    path: source.layout.segment(source.session, source.name, origin: origin),
                    plan: plan, sessionZero: source.zero)
            case .append(let segment, let fragment): try writers[segment]?.append(fragment)
            case .finish(let segment): try writers.removeValue(forKey: segment)?.finish()
            }
        }
    }
}
