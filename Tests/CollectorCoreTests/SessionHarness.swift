import Archive
import Catalog
import Media
import Wire

@testable import CollectorCore

/// Media bytes for tests, at a fixed address.
final class TestPayload: MediaPayload {
    // Filled before it is shared, freed with the object.
    nonisolated(unsafe) let buffer: UnsafeMutableRawBufferPointer

    init(count: Int) {
        buffer = .allocate(byteCount: count, alignment: 1)
    }

    init(_ bytes: [UInt8]) {
        buffer = .allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
    }

    deinit {
        buffer.deallocate()
    }

    var memory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }
}

/// A source that sends one picture every 100 ms, each in its own message.
struct SteadyCamera {
    static let format = TrackFormat.video(
        .h264(
            sequenceParameterSets: [[0x67]], pictureParameterSets: [[0x68]], width: 16,
            height: 16))

    static let soundFormat = TrackFormat.audio(
        .aac(configuration: [0x11, 0x88], sampleRate: 48_000, channels: 1))

    let name: String
    let epoch: EpochID
    var tracks = [Self.format]
    var spool = SpoolID.random()
    var sequence: UInt64 = 1
    /// Agent clock less the collector's.
    var clockNanoseconds: Int64 = 0
    /// Set for a replayed recording.
    var zeroUTCNanoseconds: Int64?

    init(_ name: String, clockNanoseconds: Int64 = 0) {
        self.name = name
        self.clockNanoseconds = clockNanoseconds
        epoch = .random()
    }

    var introduction: SourceIntroduction {
        SourceIntroduction(
            name: name, agent: "box", address: "10.0.0.1", spool: spool,
            epochs: [
                Epoch(number: 1, identity: epoch, zeroUTCNanoseconds: zeroUTCNanoseconds)
            ], tracks: tracks)
    }

    /// A short exchange, which gives the collector the clock's offset.
    func exchange(at collector: Int64) -> [ReportedExchange] {
        let agent = collector + clockNanoseconds
        return (0..<8).map { (index: Int64) in
            let step = index * 1_000_000
            return ReportedExchange(
                t1: agent + step, t2: collector + step + 10_000, t3: collector + step + 11_000,
                t4: agent + step + 21_000, epoch: 1)
        }
    }

    mutating func picture(at collector: Int64, isKeyframe: Bool = true) -> Samples {
        defer { sequence += 1 }
        return Samples(
            source: 0, firstSequence: sequence, epoch: 1,
            payloadDigest: [UInt8](repeating: 0, count: 32),
            runs: [
                SampleRun(
                    track: .video, sizes: [10], dtsNanoseconds: [collector + clockNanoseconds],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [100_000_000],
                    flags: [isKeyframe ? .keyframe : []])
            ])
    }

    /// One packet of sound.
    mutating func sound(at collector: Int64) -> Samples {
        defer { sequence += 1 }
        return Samples(
            source: 0, firstSequence: sequence, epoch: 1,
            payloadDigest: [UInt8](repeating: 0, count: 32),
            runs: [
                SampleRun(
                    track: .audio, sizes: [10], dtsNanoseconds: [collector + clockNanoseconds],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [21_333_333], flags: [[]])
            ])
    }
}

/// A recorder and all jobs that it has requested.
struct SessionHarness {
    var recorder: SessionRecorder
    var jobs: [DiskJob] = []
    var started: [String] = []
    var ended: [String] = []
    var resumed: [String] = []
    var reasons: [SessionManifest.EndReason] = []
    private(set) var placed: [PlacedSamples] = []
    var unrecorded: [PersistedRecords] = []
    private(set) var notes: [String] = []
    /// Questions to the site.
    private(set) var proposals: [(proposal: SiteProposal, ticket: UInt64)] = []
    /// Sequences found durable, by source.
    var durable: [UInt64] = []
    var releasedBytes = 0

    init(
        startAt: SessionManifest.StartPolicy = .firstSample,
        segmentNanoseconds: Int64 = 600_000_000_000, idleTimeoutNanoseconds: Int64 = 0,
        idleFragmentNanoseconds: Int64? = nil, host: HostClock = HostClock(boot: "this"),
        siteName: String? = nil, layout: ArchiveLayout = ArchiveLayout(root: "/archive")
    ) {
        var settings = SessionSettings(
            layout: layout, startAt: startAt,
            segmentNanoseconds: segmentNanoseconds,
            idleTimeoutNanoseconds: idleTimeoutNanoseconds, software: "test")
        if let idleFragmentNanoseconds {
            settings.idleFragmentNanoseconds = idleFragmentNanoseconds
        }
        settings.isOnSite = siteName != nil
        settings.name = siteName ?? ""
        recorder = SessionRecorder(settings: settings, host: host)
    }

    static func instant(_ monotonic: Int64) -> Instant {
        Instant(
            monotonic: monotonic,
            utc: UTCTime(nanoseconds: 1_790_000_000_000_000_000 + monotonic))
    }

    mutating func apply(_ actions: [SessionRecorder.Action]) {
        for action in actions {
            switch action {
            case .job(let job): jobs.append(job)
            case .note(let note): notes.append(note.text)
            case .lost: break
            case .placed(let samples): placed.append(samples)
            case .durable(_, _, let through): durable.append(through)
            case .unrecorded(let records): unrecorded.append(records)
            case .released(_, let amount): releasedBytes += amount.sizeBytes
            case .sessionStarted(let name): started.append(name)
            case .sessionResumed(let name): resumed.append(name)
            case .propose(let proposal, let ticket): proposals.append((proposal, ticket))
            case .sessionEnded(let name, let reason):
                ended.append(name)
                reasons.append(reason)
            }
        }
    }

    /// The site answers, or does not.
    mutating func answer(_ ticket: UInt64, _ answer: SiteAgreement?, at now: Int64) {
        apply(recorder.agreed(ticket, on: answer, at: Self.instant(now)))
    }

    mutating func open(_ camera: SteadyCamera, at now: Int64) {
        if camera.zeroUTCNanoseconds == nil {
            recorder.exchanges(
                camera.exchange(at: now), by: ClockOwner(owner: "", spool: camera.spool),
                epoch: camera.epoch)
        }
        apply(
            recorder.open(
                camera.introduction, received: camera.sequence - 1, at: Self.instant(now)))
    }

    mutating func picture(_ camera: inout SteadyCamera, capturedAt time: Int64, arriving now: Int64)
    {
        apply(
            recorder.samples(
                camera.picture(at: time), payload: TestPayload(count: 10), of: camera.name,
                at: Self.instant(now)))
    }

    mutating func sound(_ camera: inout SteadyCamera, capturedAt time: Int64, arriving now: Int64) {
        apply(
            recorder.samples(
                camera.sound(at: time), payload: TestPayload(count: 10), of: camera.name,
                at: Self.instant(now)))
    }

    mutating func goodbye(_ camera: inout SteadyCamera, at now: Int64) {
        let goodbye = Goodbye(source: 0, sequence: camera.sequence, text: "done")
        camera.sequence += 1
        apply(recorder.goodbye(goodbye, of: camera.name, at: Self.instant(now)))
    }

    mutating func gap(_ camera: inout SteadyCamera, at now: Int64) {
        let gap = GapRecord(
            source: 0, sequences: camera.sequence...camera.sequence, track: nil, cause: .spoolFull,
            epoch: 1, startNanoseconds: 0, durationNanoseconds: 1, samples: 9, text: "full")
        camera.sequence += 1
        apply(recorder.gap(gap, of: camera.name, at: Self.instant(now)))
    }

    mutating func tick(_ now: Int64, heardUntil: Int64? = nil) {
        apply(
            recorder.tick(at: Self.instant(now), heardUntil: heardUntil.map(Self.instant)))
    }

    /// First DTS of each fragment, by source, ticks of its track.
    func starts(_ source: String) -> [Int64] {
        jobs.compactMap { job in
            guard case .append(let id, let fragment) = job, id.source == source else { return nil }
            return fragment.pieces.first?.runs.first?.samples.first?.dts
        }
    }

    var openedPaths: [String] {
        jobs.compactMap {
            if case .open(let segment, _, _) = $0 {
                recorder.settings.layout.segment(segment)
            } else {
                nil
            }
        }
    }

    /// The fragments of a source.
    func fragments(_ source: String) -> [FragmentPlan] {
        jobs.compactMap { job in
            guard case .append(let id, let fragment) = job, id.source == source else { return nil }
            return fragment
        }
    }

    /// Lines written into a source's ledger.
    func lines(_ source: String) -> [LedgerEntry] {
        jobs.compactMap { job in
            guard case .note(let owner, let entry, _) = job, owner.source == source else {
                return nil
            }
            return entry
        }
    }

    /// Descriptions as they were written while the session was recorded.
    var descriptions: [SessionManifest] {
        jobs.compactMap { if case .describe(let manifest) = $0 { manifest } else { nil } }
    }

    /// The last description of a session that has ended.
    var lastManifest: SessionManifest? {
        jobs.compactMap { if case .endSession(let manifest) = $0 { manifest } else { nil } }.last
    }
}

extension SessionRecorder {
    /// A source has connected or reconnected, with these records received, missing and held elsewhere.
    mutating func open(
        _ introduction: SourceIntroduction, received: UInt64,
        missing: ClosedRange<UInt64>? = nil, held: [HeldRange] = [], at now: Instant
    ) -> [Action] {
        var introduction = introduction
        introduction.received = received
        introduction.missing = missing
        introduction.held = held
        return open(introduction, at: now)
    }
}
