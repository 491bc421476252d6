package import Archive
package import Media
import MP4

/// An archive on disk with sessions of one source, whose segments have one picture a second.
package struct SmallArchive: Sendable {
    package static let zero = UTCTime(nanoseconds: 1_790_000_000_000_000_000)
    package static let spool = SpoolID(high: 1, low: 1)

    package let directory = TemporaryDirectory()
    package var layout: ArchiveLayout { ArchiveLayout(root: directory.path) }

    package init() {}

    /// Writes a session; segment k has the records 10k + 1 … 10k + 10.
    /// - Parameter firstPicture: the second of the first picture; those of the first segment before it were not taken.
    /// - Returns: the segments' paths.
    @discardableResult
    package func addSession(
        _ name: String, segments: Int, state: SessionManifest.State = .finished,
        firstPicture: Int = 0
    ) throws -> [String] {
        try FileSystem.makeDirectories(layout.source(name, "camera"))
        var manifest = SessionManifest(
            session: name, zero: Self.zero, zeroMonotonicNanoseconds: 0, startAt: .firstSample,
            startWindowNanoseconds: 0, segmentNanoseconds: 10_000_000_000, software: "test")
        manifest.state = state
        manifest.sources = [
            SessionManifest.Source(
                name: "camera", agent: "box", address: "", tracks: [], isComplete: true)
        ]
        try FileSystem.replace(layout.manifest(name), with: manifest.encoded())
        return try (0..<segments).map {
            try addSegment($0, to: name, skipping: $0 == 0 ? firstPicture : 0)
        }
    }

    private func addSegment(
        _ index: Int, to session: String, skipping skipped: Int
    ) throws -> String {
        let origin = Int64(index) * 10_000_000_000
        let path = layout.segment(
            session, "camera",
            origin: UTCTime(nanoseconds: Self.zero.nanoseconds + origin))
        let format = VideoFormat.h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16)
        let writer = try SegmentWriter(
            path: path,
            plan: SegmentPlan(
                originNanoseconds: origin,
                tracks: [
                    .init(
                        format: .video(format), originTicks: Int64(index) * 900_000, shiftTicks: 0)
                ]), sessionZero: Self.zero)
        let bytes = (skipped..<10).flatMap { _ in [0, 0, 0, 2, 0x65, 0x88] as [UInt8] }
        let samples = (skipped..<10).map { picture in
            let second = Int64(index * 10 + picture)
            return PlannedSample(
                sizeBytes: 6, dts: second * 90_000, pts: second * 90_000, duration: 90_000,
                flags: .keyframe, agentDTSNanoseconds: second * 1_000_000_000,
                appliedOffsetNanoseconds: 0)
        }
        let run = PlannedRun(
            track: .video, firstSequence: UInt64(index * 10 + 1), samples: samples)
        try writer.append(
            FragmentPlan(
                context: FragmentContext(
                    spool: Self.spool, epoch: EpochID(high: 2, low: 2),
                    clock: FragmentRecord.Clock(
                        offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
                    collectorZeroNanoseconds: 0),
                pieces: [
                    PlannedPiece(
                        payload: ArrayPayload(bytes), range: 0..<bytes.count,
                        digest: Digest(of: bytes), runs: [run])
                ]))
        try writer.finish()
        return path
    }

    /// Appends to the source's ledger, as the collector does.
    package func append(_ lines: [UInt8], session: String) throws(ArchiveError) {
        let path = layout.ledger(session, "camera")
        let before = FileSystem.exists(path) ? try FileSystem.read(path, limit: 1 << 20) : []
        try FileSystem.replace(path, with: before + lines)
    }

    package func ledger(_ session: String) throws -> [LedgerEntry] {
        try Ledger.read(layout.ledger(session, "camera")).entries
    }
}
