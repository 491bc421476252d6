import Archive
import CLinux
import Glibc
import MP4
import Media
import TestRecordings
import Testing

/// An archive with one session in which one source records, in a directory of its own.
final class RecoveryScene {
    static let zero = UTCTime(nanoseconds: 1_790_000_000_123_000_000)
    static let spool = SpoolID(high: 7, low: 7)
    static let format = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))

    let root: String
    let layout: ArchiveLayout
    let session: String

    /// - Parameter suffix: behind the session's name.
    init(suffix: String = "") throws {
        session = Self.zero.fileName + suffix
        var template = Array("/tmp/tributary-test-XXXXXX".utf8CString)
        root = template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, let made = mkdtemp(start) else {
                preconditionFailure("no temporary directory: errno \(errno)")
            }
            return String(cString: made)
        }
        layout = ArchiveLayout(root: root)
        try FileSystem.makeDirectories(layout.source(session, "camera"))
    }

    deinit {
        Self.remove(root)
    }

    private static func remove(_ path: String) {
        for name in (try? FileSystem.names(in: path)) ?? [] {
            let inner = "\(path)/\(name)"
            if FileSystem.isDirectory(inner) { remove(inner) } else { unlink(inner) }
        }
        rmdir(path)
    }

    func writeManifest(_ change: (inout SessionManifest) -> Void = { _ in }) throws {
        var manifest = Self.manifest(session)
        change(&manifest)
        try FileSystem.replace(layout.manifest(session), with: manifest.encoded())
    }

    static func manifest(_ session: String) -> SessionManifest {
        var manifest = SessionManifest(
            session: session, zero: zero, zeroMonotonicNanoseconds: 5_000,
            startAt: .firstSample, startWindowNanoseconds: 0,
            segmentNanoseconds: 10_000_000_000, software: "test")
        manifest.sources = [
            .init(name: "camera", agent: "box", address: "here", tracks: [], isComplete: false)
        ]
        return manifest
    }

    /// Fragments `range` of ten pictures each, one a second, in the segment of that number.
    /// - Parameters:
    ///   - first: the first picture's number; none: ten times its fragment's, and one.
    ///   - durable: after how many fragments the file is synchronised.
    func write(
        segment: Int, fragments range: Range<Int>, finished: Bool,
        spool: SpoolID = RecoveryScene.spool,
        first: UInt64? = nil, durable: Int? = nil
    ) throws {
        let numbers = range.indices.map { index in
            first.map { $0 + UInt64(10 * (index - range.lowerBound)) } ?? UInt64(10 * index + 1)
        }
        try write(
            segment: segment, fragments: range, finished: finished,
            of: numbers.map { (spool, $0) }, durable: durable)
    }

    /// - Parameter records: of each fragment, the spool and the first picture's number.
    func write(
        segment: Int, fragments range: Range<Int>, finished: Bool,
        of records: [(spool: SpoolID, first: UInt64)], durable: Int? = nil
    ) throws {
        let origin = Int64(segment) * 10_000_000_000
        let path = path(segment)
        let plan = SegmentPlan(
            originNanoseconds: origin,
            tracks: [
                .init(
                    format: Self.format, originTicks: origin / 1_000_000 * 90, shiftTicks: 0)
            ])
        let writer = try SegmentWriter(path: path, plan: plan, sessionZero: Self.zero)
        for (index, record) in zip(range, records) {
            var fragment = Self.fragment(index)
            fragment.context.spool = record.spool
            fragment.pieces[0].runs[0].firstSequence = record.first
            try writer.append(fragment)
            if index - range.lowerBound + 1 == durable { try writer.synchronize() }
        }
        if finished { try writer.finish() }
    }

    /// Sets a segment's modification time to some minutes ago.
    func age(segment: Int, minutes: Int) {
        var times = [timespec](repeating: timespec(), count: 2)
        clock_gettime(CLOCK_REALTIME, &times[1])
        times[1].tv_sec -= minutes * 60
        times[0] = times[1]
        #expect(utimensat(AT_FDCWD, path(segment), times, 0) == 0)
    }

    func path(_ segment: Int) -> String {
        let origin = Int64(segment) * 10_000_000_000
        return layout.segment(
            session, "camera", origin: UTCTime(nanoseconds: Self.zero.nanoseconds + origin))
    }

    static func fragment(_ index: Int, bytesPerPicture: Int = 25) -> FragmentPlan {
        var bytes: [UInt8] = []
        var samples: [PlannedSample] = []
        for picture in 0..<10 {
            let length = bytesPerPicture - 4
            bytes += [0, 0, UInt8(length >> 8), UInt8(length & 255), picture == 0 ? 0x65 : 0x41]
            bytes += (0..<length - 1).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0) }
            let time = Int64(index * 10 + picture) * 9_000
            samples.append(
                PlannedSample(
                    sizeBytes: UInt32(bytesPerPicture), dts: time, pts: time, duration: 9_000,
                    flags: picture == 0 ? .keyframe : [],
                    agentDTSNanoseconds: time * 100_000 / 9,
                    appliedOffsetNanoseconds: 400))
        }
        let run = PlannedRun(
            track: .video, firstSequence: UInt64(index * 10 + 1), samples: samples)
        let context = FragmentContext(
            spool: spool, epoch: EpochID(high: 2, low: 2),
            clock: .init(offsetNanoseconds: 400, boundNanoseconds: 90, skewPartsPerBillion: 3),
            collectorZeroNanoseconds: 100)
        return FragmentPlan(
            context: context,
            pieces: [
                PlannedPiece(
                    payload: ArrayPayload(bytes), range: 0..<bytes.count,
                    digest: Digest(of: bytes), runs: [run])
            ])
    }

    func ledger(_ entries: LedgerEntry..., tail: String = "") throws {
        let bytes = entries.flatMap(Ledger.line) + Array(tail.utf8)
        try FileSystem.replace(layout.ledger(session, "camera"), with: bytes)
    }

    static func line(
        _ kind: LedgerEntry.Kind, _ sequences: ClosedRange<UInt64>? = nil, after: UInt64? = nil
    ) -> LedgerEntry {
        var entry = LedgerEntry(kind: kind, at: zero)
        entry.firstSequence = sequences?.lowerBound
        entry.lastSequence = sequences?.upperBound
        entry.spool = spool.description
        entry.after = after
        return entry
    }

    func bytes(_ path: String) throws(ArchiveError) -> [UInt8] {
        try FileSystem.read(path, limit: 64 << 20)
    }

    /// - Parameter idle: how long nothing has been written, and how long that may be; nanoseconds.
    ///
    /// Like a collector, writes the lines of a continued session afterwards.
    func recover(idle: (for: Int64, timeout: Int64)? = nil) throws -> RecoveredArchive {
        let written = try FileSystem.modified(layout.session(session))
        let archive = try ArchiveRecovery.run(
            layout, now: UTCTime(nanoseconds: written.nanoseconds + (idle?.for ?? 0)),
            idleTimeoutNanoseconds: idle?.timeout ?? 0)
        for source in archive.session?.sources ?? [] where !source.unwritten.isEmpty {
            let path = layout.ledger(session, source.entry.name)
            let before = FileSystem.exists(path) ? try bytes(path) : []
            try FileSystem.replace(path, with: before + source.unwritten.flatMap(Ledger.line))
        }
        return archive
    }

    func watermark(_ archive: RecoveredArchive) -> UInt64? {
        archive.spools["camera"]?.first?.sequences.watermark
    }
}
