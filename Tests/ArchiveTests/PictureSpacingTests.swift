import Archive
import Media
import TestRecordings
import Testing

/// The report on a finished file with pictures at a distance in ticks of 90 kHz, and on its ledger.
private func report(
    ticks: [Int64], ledger: [LedgerEntry]?
) throws -> (file: FileReport, session: SessionReport) {
    let archive = SmallArchive()
    let session = "2026-09-21T12-26-40.000Z"
    try archive.addSession(session, segments: 0)
    let format = VideoFormat.h264(
        sequenceParameterSets: [
            [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
        ],
        pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16)
    let path = archive.layout.segment(session, "camera", origin: SmallArchive.zero)
    let writer = try SegmentWriter(
        path: path,
        plan: SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: .video(format), originTicks: 0, shiftTicks: 0)]),
        sessionZero: SmallArchive.zero)
    let samples = ticks.map { time in
        PlannedSample(
            sizeBytes: 6, dts: time, pts: time, duration: 1, flags: .keyframe,
            agentDTSNanoseconds: time, appliedOffsetNanoseconds: 0)
    }.enumerated().map { index, sample in
        var sample = sample
        sample.duration = index + 1 < ticks.count ? ticks[index + 1] - ticks[index] : 3_000
        return sample
    }
    let bytes = ticks.flatMap { _ in [0, 0, 0, 2, 0x65, 0x88] as [UInt8] }
    try writer.append(
        FragmentPlan(
            context: FragmentContext(
                spool: SmallArchive.spool, epoch: EpochID(high: 1, low: 1),
                clock: .init(offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
                collectorZeroNanoseconds: 0),
            pieces: [
                PlannedPiece(
                    payload: ArrayPayload(bytes), range: 0..<bytes.count, digest: Digest(of: bytes),
                    runs: [PlannedRun(track: .video, firstSequence: 1, samples: samples)])
            ]))
    try writer.finish()
    if let ledger { try archive.append(ledger.flatMap(Ledger.line), session: session) }
    return (
        FileVerifier.verify(path).report, try SessionVerifier.verify(session, in: archive.layout)
    )
}

/// The line of a collector that moved a number of pictures forward.
private func pushed(_ samples: UInt64?) -> LedgerEntry {
    var entry = LedgerEntry(kind: .time, at: SmallArchive.zero)
    entry.text =
        "\(samples ?? 1) video samples with times that could not be kept (notAfterPrevious)"
    entry.samples = samples
    entry.track = samples == nil ? nil : "video"
    return entry
}

@Suite struct PictureSpacingTests {
    @Test func `180 pictures one tick apart are damage without an explanation`() throws {
        let (file, session) = try report(ticks: (0..<180).map { $0 }, ledger: [])
        #expect(!session.isIntact)
        #expect(
            session.allFindings.map(\.text).contains {
                $0.contains("180 pictures are closer together than a camera delivers them")
            }, "\(session.allFindings)")
        #expect(!file.isIntact, "the ledger beside it says nothing")
        let (_, without) = try report(ticks: (0..<180).map { $0 }, ledger: nil)
        #expect(!without.isIntact)
    }

    @Test(arguments: [180, nil] as [UInt64?])
    func `pictures that a collector pushed on are explained by its ledger`(
        samples: UInt64?
    ) throws {
        let (file, session) = try report(
            ticks: (0..<180).map { $0 }, ledger: [pushed(samples)])
        #expect(session.isIntact && file.isIntact, "\(session.allFindings)")
        #expect(session.allFindings.contains { $0.text.contains("could not be kept") })
    }

    @Test func `a ledger that explains fewer leaves damage`() throws {
        let (_, session) = try report(ticks: (0..<180).map { $0 }, ledger: [pushed(100)])
        #expect(!session.isIntact)
    }

    /// Two sequences of 42: the first picture of each is at its stamp, and so is the last one, 2.5 ms later.
    @Test(arguments: [80, 79] as [UInt64])
    func `the picture after those that were pushed on may be near them`(explained: UInt64) throws {
        let ticks = ([0, 90_000] as [Int64]).flatMap { start in
            (0..<41).map { start + $0 } + [start + 225]
        }
        let (_, session) = try report(ticks: ticks + [180_000], ledger: [pushed(explained)])
        #expect(session.isIntact == (explained == 80), "\(session.allFindings)")
    }

    @Test func `regular pictures are not reported as too close`() throws {
        // 240 a second; two fields of one picture; a second that was pushed behind another picture; 1,000 and
        // 5,000 a second.
        let honest: [[Int64]] = [
            (0..<480).map { $0 * 375 }, (0..<100).flatMap { [$0 * 3_600, $0 * 3_600 + 1] },
            (0..<29).map { $0 } + (0..<30).map { 90_000 + $0 * 3_000 }, (0..<1_000).map { $0 * 90 },
            (0..<1_000).map { $0 * 18 },
        ]
        for ticks in honest {
            let (file, session) = try report(ticks: ticks, ledger: [])
            #expect(session.allFindings.isEmpty && file.findings.isEmpty)
        }
    }
}
