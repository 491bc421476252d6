import Archive
import Media
import Timing
import Wire

/// One source's part of a session: from its messages to jobs for the disk.
struct SourceRecorder<Payload: MediaPayload>: Sendable {
    typealias Action = SessionRecorder<Payload>.Action

    private let settings: SessionSettings
    private var introduction: SourceIntroduction
    private var segmenter: Segmenter<Payload>
    var intake: SourceIntake
    private var diary = ClockDiary()
    private(set) var progress: SourceProgress
    /// The session it has a place in.
    private var session: (name: String, zeroUTC: UTCTime, zero: Int64)?
    private var isComplete = false

    init(_ introduction: SourceIntroduction, settings: SessionSettings) {
        self.settings = settings
        self.introduction = introduction
        segmenter = Segmenter(
            settings: SegmenterSettings(segmentNanoseconds: settings.segmentNanoseconds),
            formats: introduction.tracks)
        intake = SourceIntake(spool: introduction.spool, epochs: introduction.epochs)
        progress = SourceProgress(name: introduction.name)
    }

    var name: String { introduction.name }
    var spool: [UInt8] { introduction.spool }
    var isEnrolled: Bool { session != nil }
    /// It has said goodbye, or will never come back.
    var hasEnded: Bool { isComplete }

    var manifestEntry: SessionManifest.Source {
        SessionManifest.Source(
            name: name, agent: introduction.agent, address: introduction.address,
            tracks: segmenter.tracks.map(\.summary), isComplete: isComplete)
    }

    /// The source is back, perhaps with other tracks, another clock or another spool.
    mutating func reopen(_ new: SourceIntroduction, at now: Instant) -> [Action] {
        introduction = new
        isComplete = false
        progress.isComplete = false
        segmenter.setFormats(new.tracks)
        intake.resume(spool: new.spool, epochs: new.epochs)
        return [ledger(.opened, at: now) { $0.text = "back from \(new.agent) at \(new.address)" }]
    }

    /// Takes a place in a session.
    mutating func enroll(in manifest: SessionManifest, at now: Instant) -> [Action] {
        session = (manifest.session, manifest.zeroTime, manifest.zeroMonotonicNanoseconds)
        let directory = settings.layout.source(manifest.session, name)
        return [
            .job(.makeDirectory(directory)),
            ledger(.opened, at: now) {
                $0.text = "\(introduction.agent) at \(introduction.address)"
            },
            note(.info, "recording \(segmenter.tracks.map(\.summary).joined(separator: ", "))"),
        ]
    }

    /// Samples have come.
    mutating func record(
        _ samples: Samples, payload: Payload, clocks: AgentClocks, zero: Int64, at now: Instant
    ) -> [Action] {
        let placed = intake.place(
            samples, payload: payload, formats: segmenter.upcomingTracks, clocks: clocks,
            zero: zero, now: now.monotonic)
        count(placed.piece)
        return noticed(intake.takeNotices(), at: now)
            + actions(
                segmenter.add(placed.piece, context: placed.context, now: now.monotonic),
                clocks: clocks, at: now)
    }

    /// Samples are missing, and the agent says why.
    mutating func record(_ gap: GapRecord, at now: Instant) -> [Action] {
        progress.lostSamples += gap.samples
        let start = intake.sessionNanoseconds(gap.startNanoseconds, epoch: gap.epoch)
        let entry = ledger(.gap, at: now, sequences: gap.sequences) {
            $0.track = gap.track?.description
            $0.cause = gap.cause.description
            $0.startNanoseconds = start
            $0.durationNanoseconds = UInt64(clamping: gap.durationNanoseconds)
            $0.samples = gap.samples == 0 ? nil : gap.samples
            $0.text = gap.text
        }
        let what = gap.samples == 0 ? "samples" : "\(gap.samples) samples"
        return [
            entry, note(.warning, "\(what) missing (\(gap.cause)): \(gap.text)"),
        ]
    }

    /// A track's format changes with the next record.
    mutating func record(_ update: TrackUpdate, at now: Instant) -> [Action] {
        let others = segmenter.upcomingTracks.filter { $0.kind != update.format.kind }
        segmenter.setFormats(
            (others + [update.format]).sorted { $0.kind.rawValue < $1.kind.rawValue })
        return [
            ledger(.format, at: now, sequences: update.sequence...update.sequence) {
                $0.track = update.format.kind.description
                $0.text = update.format.summary
            },
            note(.info, "now \(update.format.summary)"),
        ]
    }

    /// The source is complete.
    mutating func record(
        _ goodbye: Goodbye, clocks: AgentClocks, at now: Instant
    ) -> [Action] {
        let actions = close(clocks: clocks, at: now)
        return actions + [
            ledger(.goodbye, at: now, sequences: goodbye.sequence...goodbye.sequence) {
                $0.text = goodbye.text
            },
            note(.info, "complete (\(goodbye.text)): \(progress.summary)"),
        ]
    }

    /// Writes what is pending where it has waited too long.
    mutating func tick(clocks: AgentClocks, at now: Instant) -> [Action] {
        guard isEnrolled else { return [] }
        return actions(segmenter.tick(now: now.monotonic), clocks: clocks, at: now)
    }

    /// Finishes the source's files.
    mutating func close(clocks: AgentClocks, at now: Instant) -> [Action] {
        isComplete = true
        progress.isComplete = true
        let last = actions(segmenter.end(), clocks: clocks, at: now)
        guard isEnrolled else { return last }
        return last + noticed(diary.close(clocks), at: now)
    }
}

extension SourceRecorder {
    private mutating func count(_ piece: PlannedPiece<Payload>) {
        progress.payloadBytes += UInt64(piece.range.count)
        for run in piece.runs {
            switch run.track {
            case .video: progress.pictures += UInt64(run.samples.count)
            case .audio: progress.soundPackets += UInt64(run.samples.count)
            }
        }
        let newest = piece.runs.compactMap { run in
            run.samples.last.map { segmenter.nanoseconds($0.pts, run.track) }
        }.max()
        if let newest {
            progress.newestNanoseconds = max(progress.newestNanoseconds ?? newest, newest)
        }
    }

    /// What was noticed of clocks and stamps, as lines.
    private func noticed(_ notices: [IntakeNotice], at now: Instant) -> [Action] {
        notices.flatMap { notice in
            let line = ledger(notice.kind, at: now, notice.fill)
            return notice.isWarning ? [line, note(.warning, notice.text)] : [line]
        }
    }

    /// Gives a fragment what has been learned of its clock since the one before; what is worth a line comes back.
    private mutating func writeDown(
        _ clocks: AgentClocks, in fragment: inout FragmentPlan<Payload>, at now: Instant
    ) -> [Action] {
        guard let epoch = Identity(fragment.context.epoch) else {
            preconditionFailure("an epoch's identity has as many bytes on the wire as on disk")
        }
        var notices = diary.turn(to: epoch, zero: fragment.context.collectorZeroNanoseconds)
        fragment.context.exchanges = diary.takeExchanges(of: epoch, clocks)
        if let stamp = fragment.pieces.first?.runs.first?.samples.first?.agentDTSNanoseconds,
            let session = intake.sessionNanoseconds(stamp, epoch: epoch)
        {
            notices += diary.notices(of: epoch, clocks, at: stamp, session: session)
        }
        return noticed(notices, at: now)
    }

    private mutating func actions(
        _ steps: [Segmenter<Payload>.Action], clocks: AgentClocks, at now: Instant
    ) -> [Action] {
        guard let session else { return [] }
        return steps.flatMap { step -> [Action] in
            switch step {
            case .open(let number, let plan):
                let origin = UTCTime(
                    nanoseconds: session.zeroUTC.nanoseconds + plan.originNanoseconds)
                let path = settings.layout.segment(session.name, name, origin: origin)
                return [
                    .job(
                        .open(
                            SegmentID(session: session.name, source: name, number: number),
                            path: path, plan: plan, sessionZero: session.zeroUTC))
                ]
            case .append(let number, var fragment):
                let id = SegmentID(session: session.name, source: name, number: number)
                let lines = writeDown(clocks, in: &fragment, at: now)
                return [.job(.append(id, fragment))] + lines
            case .finish(let number):
                return [
                    .job(.finish(SegmentID(session: session.name, source: name, number: number)))
                ]
            }
        }
    }

    private func ledger(
        _ kind: LedgerEntry.Kind, at now: Instant, sequences: ClosedRange<UInt64>? = nil,
        _ fill: (inout LedgerEntry) -> Void
    ) -> Action {
        guard let session else { preconditionFailure("a ledger belongs to a session") }
        var entry = LedgerEntry(kind: kind, at: now.utc)
        if let sequences {
            entry.firstSequence = sequences.lowerBound
            entry.lastSequence = sequences.upperBound
            entry.spool = hexadecimal(spool)
        }
        fill(&entry)
        let records = sequences.map {
            PersistedRecords(source: name, spool: spool, sequences: [$0])
        }
        return .job(
            .ledger(
                source: name, path: settings.layout.ledger(session.name, name),
                Ledger.line(entry), records: records))
    }

    private func note(_ level: SessionRecorder<Payload>.Note.Level, _ text: String) -> Action {
        .note(SessionRecorder.Note(level: level, source: name, text: text))
    }
}
