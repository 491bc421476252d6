import Archive
import Media
import Timing
import Wire

/// One source's part of a session: turns messages into jobs for the disk.
struct SourceRecorder: Sendable {
    typealias Action = SessionRecorder.Action

    private let settings: SessionSettings
    private(set) var introduction: SourceIntroduction
    private var segmenter: Segmenter
    /// Open files, by the segmenter's numbers.
    private var openSegments: [Int: SegmentKey] = [:]
    var intake: SourceIntake
    private var diary = ClockReporting()
    private var stated = StatedTimes()
    private(set) var progress: SourceProgress
    /// The session that it is part of.
    private var session: (name: String, zeroUTC: UTCTime, zero: Int64)?
    /// Its files are closed: it records nothing more in this session.
    private var isClosed = false
    private var hasSaidGoodbye = false
    /// It was part of the session before the collector was started.
    private var isResumed = false
    /// Its agent has not reconnected since the collector started, or since a file failed.
    private(set) var isAwaited = false
    /// The tracks of a resumed source, one line each; their formats are unknown until its agent reconnects.
    private var recordedTracks: [String] = []
    /// Sessions of other collectors that its ledger relates to this one; at most ``relations``.
    private var related: Set<String> = []
    private static let relations = 64
    /// Whether its last samples were kept on the box before they were sent.
    private(set) var isBehind = false
    /// Samples that are sent as they are captured arrive sooner.
    private static let presentNanoseconds: Int64 = 500_000_000
    /// Whether it has a connected agent.
    private(set) var isConnected = true
    /// The last received record of the present spool.
    private(set) var through: UInt64 = 0
    /// The first record of the present spool that the session has; nil: none yet.
    private var first: UInt64?
    /// The last received record of each earlier spool.
    private var earlierSpools: [SessionManifest.SpoolEnd] = []
    private var files: Allowance
    /// Media since the last file was begun.
    private var bytesSinceOpening = 0
    private var fold: LedgerFold
    /// Pictures are missing before the next one.
    private var isInterrupted = false
    /// It has begun too many files: its samples are dropped until it may begin a file again, and decoding can start.
    private var isOverFiles = false
    /// Ranges of dropped samples since the ledger last had room, and the last of them.
    private var leftOut = (ranges: 0, last: UInt64.max)
    /// Above this number of ranges, the samples between them are dropped too, so that they become one.
    private static var leftOutRanges: Int { 1_024 }

    init(_ introduction: SourceIntroduction, settings: SessionSettings) {
        self.settings = settings
        self.introduction = introduction
        segmenter = Segmenter(
            settings: settings.segmenter(settings.segmentNanoseconds),
            formats: introduction.tracks)
        files = settings.budgets.files(segmentNanoseconds: settings.segmentNanoseconds)
        fold = LedgerFold(settings.budgets)
        intake = SourceIntake(
            spool: introduction.spool, owner: introduction.clockOwner, epochs: introduction.epochs)
        progress = SourceProgress(name: introduction.name)
    }

    /// A source that was part of a session when an earlier collector was killed. It is expected to reconnect.
    init(
        resuming source: RecoveredSource, spools: [RecordedSpool], in manifest: SessionManifest,
        settings: SessionSettings
    ) {
        // If it has no spool yet, a random one that no agent has.
        let present = source.spool ?? .random()
        self.settings = settings
        files = settings.budgets.files(segmentNanoseconds: manifest.segmentNanoseconds)
        fold = LedgerFold(settings.budgets, writtenBytes: source.ledgerBytes)
        introduction = SourceIntroduction(
            name: source.entry.name, agent: source.entry.agent, address: source.entry.address,
            spool: present, epochs: [], tracks: source.formats)
        introduction.statement.term = spools.first { $0.spool == present }?.term ?? 0
        segmenter = Segmenter(
            settings: settings.segmenter(manifest.segmentNanoseconds),
            formats: source.formats,
            resuming: .init(
                usedOrigins: source.origins, open: source.open?.plan, ends: source.open?.ends ?? [:]
            ))
        intake = SourceIntake(
            resuming: source, zero: manifest.zeroMonotonicNanoseconds,
            correction: manifest.correction)
        progress = SourceProgress(name: source.entry.name)
        session = (manifest.session, manifest.zeroTime, manifest.zeroMonotonicNanoseconds)
        hasSaidGoodbye = source.entry.isComplete
        isClosed = hasSaidGoodbye
        progress.isComplete = isClosed
        isConnected = false
        isResumed = true
        isAwaited = true
        recordedTracks = source.entry.tracks
        for recorded in spools where source.spools.contains(recorded.spool) {
            if recorded.spool == present {
                through = recorded.sequences.watermark
                first = source.firsts[present]
            } else {
                earlierSpools.append(
                    SessionManifest.SpoolEnd(
                        spool: recorded.spool.description, first: source.firsts[recorded.spool],
                        sequences: recorded.sequences,
                        term: recorded.term == 0 ? nil : recorded.term))
            }
        }
        // The file that it was recording into; a segmenter with an open file numbers it first.
        if let open = source.open {
            let key = SegmentKey(
                SourceKey(session: manifest.session, source: name),
                origin: open.sessionZero.advanced(by: open.plan.originNanoseconds))
            openSegments[Segmenter.resumedSegment] = key
            reopening = .job(.reopen(key, open))
        }
    }

    /// A job that has to precede all others of a resumed source.
    private(set) var reopening: Action?

    var name: String { introduction.name }
    var spool: SpoolID { introduction.spool }
    var hasJoined: Bool { session != nil }
    /// One of its files has failed, and the records on disk are being determined.
    var isFailing = false
    /// It has ended, or will never reconnect.
    var hasEnded: Bool { isClosed && !isFailing }

    var manifestEntry: SessionManifest.Source {
        SessionManifest.Source(
            name: name, agent: introduction.agent, address: introduction.address,
            tracks: segmenter.tracks.isEmpty
                ? recordedTracks : segmenter.tracks.map(\.summary),
            isComplete: hasSaidGoodbye)
    }

    /// Its spools, and the progress of each.
    var spoolEnds: [SessionManifest.SpoolEnd] {
        guard through > 0 else { return earlierSpools }
        return earlierSpools
            + [
                SessionManifest.SpoolEnd(
                    spool: spool.description, first: first, sequences: SequenceSet(upTo: through),
                    term: term)
            ]
    }

    /// Whether records of a spool are in its part of the session.
    func hasRecorded(_ other: SpoolID) -> Bool {
        let identity = other.description
        return other == spool || earlierSpools.contains { $0.spool == identity }
    }

    /// The same source outside of a session; nil for one that no agent is sending.
    var renewed: SourceRecorder? {
        guard isConnected, !isClosed else { return nil }
        var introduction = introduction
        introduction.tracks = segmenter.upcomingTracks
        return SourceRecorder(introduction, settings: settings)
    }

    mutating func disconnect() { isConnected = false }

    /// The source has reconnected, possibly with other tracks, another clock or another spool.
    /// - Parameters:
    ///   - durable: the last of its records that is on disk, here or where they are held.
    ///   - held: records that other collectors hold. Their lines are before that of the opening, which counts all records
    ///     up to `durable` as present: a crash must not leave it alone.
    mutating func reopen(
        _ new: SourceIntroduction, durable: UInt64,
        held: [(spool: SpoolID, records: HeldRange)], at now: Instant
    ) -> [Action] {
        if new.spool != spool {
            var ends: [SessionManifest.SpoolEnd] = []
            for end in spoolEnds {
                // An agent may return to a spool repeatedly, to learn which records the store has.
                if settings.release.waitsForStore {
                    ends.removeAll {
                        $0.spool == end.spool && $0.beyond == nil && $0.through <= end.through
                    }
                }
                ends.append(end)
            }
            earlierSpools = ends.suffix(settings.budgets.spoolsPerSource)
            through = 0
            first = nil
        }
        introduction = new
        isConnected = true
        isAwaited = false
        open()
        segmenter.setFormats(new.tracks)
        intake.resume(spool: new.spool, owner: new.clockOwner, epochs: new.epochs)
        return recordHeld(held, at: now)
            + opened(durable: durable, "back from \(new.agent) at \(new.address)", at: now)
    }

    private mutating func open() {
        isClosed = false
        hasSaidGoodbye = false
        progress.isComplete = false
    }

    /// The term under which its present records are sent; nil: its agent does not support terms.
    private var term: UInt64? {
        let term = introduction.statement.term
        return term == 0 ? nil : term
    }

    private mutating func opened(durable: UInt64, _ text: String, at now: Instant) -> [Action] {
        let spool = spool.description
        let term = term
        return ledgerAtOnce(.opened, at: now) {
            $0.spool = spool
            $0.after = durable
            $0.term = term
            $0.text = text
        }
    }

    /// Records after those on disk were lost: they are sent again, into another file.
    /// - Parameters:
    ///   - source: the records on disk.
    ///   - durable: the durable records of a spool.
    /// - Returns: the amount that was waiting for its fragment.
    mutating func goBack(
        to source: RecoveredSource, in manifest: SessionManifest,
        durable: (SpoolID) -> SequenceSet
    ) -> MediaAmount {
        let waiting = segmenter.pendingAmount
        fold.forgetRecords()
        segmenter = Segmenter(
            settings: settings.segmenter(manifest.segmentNanoseconds),
            formats: segmenter.upcomingTracks,
            resuming: .init(usedOrigins: source.origins, open: nil))
        openSegments = [:]
        intake.goBack(to: source.ends, formats: segmenter.upcomingTracks)
        through = durable(spool).watermark
        // An agent with several spools may be at an earlier one: lost records of the others are sent again as well.
        earlierSpools = earlierSpools.map { end in
            guard let spool = SpoolID(hexadecimal: end.spool) else { return end }
            return SessionManifest.SpoolEnd(
                spool: end.spool, first: end.first, sequences: durable(spool), term: end.term)
        }
        isFailing = false
        open()
        isConnected = false
        isResumed = true
        isAwaited = true
        return waiting
    }

    /// Joins a session.
    /// - Parameters: as of ``reopen(_:durable:held:at:)``.
    mutating func join(
        in manifest: SessionManifest, durable: UInt64,
        held: [(spool: SpoolID, records: HeldRange)], at now: Instant
    ) -> [Action] {
        session = (manifest.session, manifest.zeroTime, manifest.zeroMonotonicNanoseconds)
        intake.correct(manifest.correction)
        if manifest.segmentNanoseconds != settings.segmentNanoseconds {
            // A session that is resumed after a restart keeps its segment grid.
            segmenter = Segmenter(
                settings: settings.segmenter(manifest.segmentNanoseconds),
                formats: segmenter.upcomingTracks)
        }
        let key = SourceKey(session: manifest.session, source: name)
        let lines =
            recordHeld(held, at: now)
            + opened(
                durable: durable, "\(introduction.agent) at \(introduction.address)", at: now)
        return [.job(.beginSource(key))] + lines + [
            note(.info, "recording \(segmenter.tracks.map(\.summary).joined(separator: ", "))")
        ]
    }

    /// Records samples.
    /// - Parameters:
    ///   - rest: which part of their message they are, if another part was already on disk.
    ///   - roomBytes: see ``Segmenter/roomBytes``.
    ///   - arrived: their arrival, on the collector's monotonic clock.
    ///   - isWatched: whether the source is watched live.
    mutating func record(
        _ samples: Samples, payload: any MediaPayload, rest: PartialMessage? = nil,
        clocks: AgentClocks,
        zero: Int64, roomBytes: Int, arrived: Int64, at now: Instant, isWatched: Bool = false
    ) -> [Action] {
        segmenter.roomBytes = roomBytes
        begin(with: samples.firstSequence)
        through = samples.lastSequence
        let present = intake.sessionNow(now.monotonic, zero: zero)
        let longest = settings.budgets.messageNanoseconds(
            segmentNanoseconds: settings.segmentNanoseconds)
        if let (cause, text) = objection(to: samples, longest: longest, present: present, at: now) {
            return leaveOut(samples, cause, text, at: now)
        }
        // Only in a resumed session: in another one, these times would be different.
        if let rest, isResumed { intake.goOn(after: rest.ends, formats: segmenter.upcomingTracks) }
        var placed = intake.place(
            samples, payload: payload, formats: segmenter.upcomingTracks, clocks: clocks,
            zero: zero, zeroUTC: session?.zeroUTC ?? now.utc, longest: longest,
            now: now.monotonic)
        if let offset = rest?.offsetBytes {
            let range = placed.piece.range
            placed.piece.range = range.lowerBound + offset..<range.upperBound + offset
            placed.piece.digest = nil
        }
        count(placed.piece)
        noteDelay(of: samples, arrived: intake.sessionNow(arrived, zero: zero))
        var watched: [Action] = []
        if isWatched, let session {
            watched.append(
                .placed(
                    PlacedSamples(
                        source: SourceKey(session: session.name, source: name),
                        sessionZero: session.zeroUTC,
                        formats: segmenter.upcomingTracks,
                        piece: placed.piece,
                        boundNanoseconds: placed.context.clock.boundNanoseconds,
                        arrivedNanoseconds: present)))
        }
        if placed.beginsFile || isInterrupted && continuesNumbering(samples, payload, rest) {
            segmenter.beginFile()
        }
        return watched + noticed(intake.takeNotices() + statedTimes(samples), at: now)
            + actions(
                segmenter.add(placed.piece, context: placed.context, now: now.monotonic),
                clocks: clocks, at: now)
    }

    /// Why samples are dropped: cause and text of their gap; nil: they are recorded.
    /// - Parameters:
    ///   - longest: maximum span of a message, nanoseconds.
    ///   - present: session time, nanoseconds.
    private mutating func objection(
        to samples: Samples, longest: Int64, present: Int64, at now: Instant
    ) -> (cause: String, text: String)? {
        if isOverFiles {
            let hasPictures = segmenter.upcomingTracks.contains { $0.kind == .video }
            let begins =
                samples.beginsDecodable
                && (!hasPictures || samples.runs.contains { $0.track == .video })
            guard files.pauseNanoseconds(now: now.monotonic) == 0, begins else {
                return (LostRecords.tooManyFiles, "the source begins more files than it may")
            }
            isOverFiles = false
        }
        if !fold.isWaiting { leftOut.ranges = 0 }
        let flaw: String
        if leftOut.ranges >= Self.leftOutRanges {
            flaw = "samples between too many others with impossible times"
        } else if samples.spanNanoseconds > longest {
            flaw = "samples of one message that lie too far apart to have been captured together"
        } else if intake.isRunAhead(samples, nowNanoseconds: present) {
            flaw = "too many samples with impossible times: there is no room for them before now"
        } else {
            return nil
        }
        return (LostRecords.impossibleTimes, flaw)
    }

    /// Whether these samples have the first keyframe after missing pictures, and a decoder would relate its number to those of the
    /// pictures before them (``CodedPicture/beginsNumbering``).
    private mutating func continuesNumbering(
        _ samples: Samples, _ payload: any MediaPayload, _ rest: PartialMessage?
    ) -> Bool {
        var offset = rest?.offsetBytes ?? 0
        for run in samples.runs {
            defer { offset += run.sizeBytes }
            guard run.track == .video, let size = run.sizes.first,
                run.flags(at: 0).contains(.keyframe),
                case .video(let format) = segmenter.upcomingTracks.first(where: {
                    $0.kind == .video
                })
            else { continue }
            isInterrupted = false
            return withExtendedLifetime(payload) {
                let unit = UnsafeRawBufferPointer(
                    rebasing: payload.memory[offset..<offset + Int(size)])
                do throws(BitstreamError) {
                    let picture = try CodedPicture(
                        of: unit.assumingMemoryBound(to: UInt8.self).span, format.codec)
                    return picture.accessPoint != .none && !picture.beginsNumbering
                } catch {
                    // It has passed the checks of received pictures.
                    return false
                }
            }
        }
        return false
    }

    /// Notices about capture times that the camera states for these samples and that differ from the recorded ones.
    private mutating func statedTimes(_ samples: Samples) -> [IntakeNotice] {
        guard let session, !intake.isPlayedAgain,
            samples.runs.contains(where: { $0.camera != nil })
        else { return [] }
        let intake = intake
        return samples.runs.compactMap { run in
            stated.note(run, zeroUTC: session.zeroUTC.nanoseconds) {
                intake.sessionNanoseconds($0, epoch: samples.epoch)
            }.map { IntakeNotice.stated(run.track, $0) }
        }
    }

    /// A record of the present spool belongs to the session.
    private mutating func begin(with sequence: UInt64) { first = min(first ?? sequence, sequence) }

    /// Drops samples: the ledger records their number and time.
    private mutating func leaveOut(
        _ samples: Samples, _ cause: String, _ text: String, at now: Instant
    ) -> [Action] {
        progress.lostSamples.addClamped(UInt64(samples.count))
        if leftOut.last.addingReportingOverflow(1).partialValue != samples.firstSequence {
            leftOut.ranges += 1
        }
        leftOut.last = samples.lastSequence
        let stamp = samples.runs.first?.dtsNanoseconds.first ?? 0
        let start = intake.sessionNanoseconds(stamp, epoch: samples.epoch)
        return ledger(
            .gap, at: now, sequences: samples.firstSequence...samples.lastSequence
        ) {
            $0.cause = cause
            $0.startNanoseconds = start
            $0.samples = UInt64(samples.count)
            $0.text = text
        } + [
            .released(source: name, samples.amount),
            .lost(source: name, cause: cause, samples: UInt64(samples.count)),
        ]
    }

    /// Samples are missing, for a reason that the agent reports.
    mutating func record(_ gap: GapRecord, at now: Instant) -> [Action] {
        progress.lostSamples.addClamped(gap.samples)
        begin(with: gap.sequences.lowerBound)
        through = gap.sequences.upperBound
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
        return entry + [note(.warning, "\(what) missing (\(gap.cause)): \(gap.text)")]
    }

    /// A track's format changes with the next record.
    /// - Parameter isKnown: whether a ledger already has its number.
    mutating func record(
        _ update: TrackUpdate, isKnown: Bool = false, at now: Instant
    ) -> [Action] {
        if !isKnown { begin(with: update.sequence) }
        through = update.sequence
        let others = segmenter.upcomingTracks.filter { $0.kind != update.format.kind }
        segmenter.setFormats(
            (others + [update.format]).sorted { $0.kind.rawValue < $1.kind.rawValue })
        return ledger(
            .format, at: now, sequences: isKnown ? nil : update.sequence...update.sequence
        ) {
            $0.track = update.format.kind.description
            $0.text = update.format.summary
        } + [note(.info, "now \(update.format.summary)")]
    }

    /// The source is complete.
    /// - Parameter isKnown: whether a ledger already has its number.
    mutating func record(
        _ goodbye: Goodbye, isKnown: Bool = false, clocks: AgentClocks, at now: Instant
    ) -> [Action] {
        if !isKnown { begin(with: goodbye.sequence) }
        through = goodbye.sequence
        hasSaidGoodbye = true
        let actions = close(clocks: clocks, at: now)
        let line = ledgerAtOnce(
            .goodbye, at: now, sequences: isKnown ? nil : goodbye.sequence...goodbye.sequence
        ) {
            $0.text = goodbye.text
        }
        return actions + line + [
            note(.info, "complete (\(goodbye.text)): \(progress.summary)")
        ]
    }

    /// Records have arrived that an earlier session has: they are no gap in this one.
    mutating func recordEarlier(_ sequences: ClosedRange<UInt64>, at now: Instant) -> [Action] {
        through = max(through, sequences.upperBound)
        let spool = spool.description
        // The records are on disk already: none becomes durable with this line.
        return ledgerAtOnce(.earlier, at: now) {
            $0.firstSequence = sequences.lowerBound
            $0.lastSequence = sequences.upperBound
            $0.spool = spool
            $0.text = "recorded in an earlier session"
        }
    }

    /// Other collectors have these records of its spools: they are no gap.
    private mutating func recordHeld(
        _ held: [(spool: SpoolID, records: HeldRange)], at now: Instant
    ) -> [Action] {
        var actions: [Action] = []
        for (owner, records) in held {
            let sequences = records.sequences
            if owner == spool { through = max(through, sequences.upperBound) }
            actions += ledgerAtOnce(.held, at: now, sequences: sequences) {
                $0.spool = owner.description
                $0.collector = records.collector
                $0.text = "acknowledged by another collector, and no longer on the box"
            }
            actions.append(
                note(
                    .info,
                    "records \(sequences.lowerBound) to \(sequences.upperBound) are held by \(records.collector)"
                ))
        }
        return actions
    }

    /// Another collector recorded it in another session before.
    mutating func recordRelation(
        to other: OfferedSession, zero: Int64, at now: Instant
    ) -> [Action] {
        guard !related.contains(other.clock.session), related.count < Self.relations else {
            return []
        }
        related.insert(other.clock.session)
        return ledgerAtOnce(.related, at: now) {
            $0.collector = other.collector
            $0.session = other.clock.session
            $0.offsetNanoseconds = zero.clampedSubtracting(other.zeroNanoseconds)
            $0.boundNanoseconds = UInt64(other.errorNanoseconds)
            $0.text = "recorded in another session by another collector before"
        }
    }

    /// A line about the session as a whole.
    mutating func noted(_ text: String, at now: Instant) -> [Action] {
        ledgerAtOnce(.resumed, at: now) { $0.text = text }
    }

    /// Whether ``tick(clocks:at:)`` has something to do.
    func isTickDue(at now: Instant) -> Bool {
        guard hasJoined else { return false }
        return fold.isWaiting || segmenter.dueNanoseconds.map { now.monotonic >= $0 } ?? false
    }

    /// Writes pending data that has waited too long.
    mutating func tick(clocks: AgentClocks, at now: Instant) -> [Action] {
        guard hasJoined else { return [] }
        let waited = fold.isWaiting ? fold.tick(now: now.monotonic).map(line) : []
        return waited + actions(segmenter.tick(now: now.monotonic), clocks: clocks, at: now)
    }

    /// Writes everything pending, and leaves the files open for the next collector.
    mutating func suspend(clocks: AgentClocks, at now: Instant) -> [Action] {
        guard hasJoined else { return [] }
        return actions(segmenter.suspend(), clocks: clocks, at: now) + fold.end().map(line)
    }

    /// Finishes the source's files.
    mutating func close(clocks: AgentClocks, at now: Instant) -> [Action] {
        // Clock measurements after its Goodbye do not belong to its recording.
        let wasClosed = isClosed
        isClosed = true
        progress.isComplete = true
        let last = actions(segmenter.end(), clocks: clocks, at: now)
        guard hasJoined, !wasClosed else { return last }
        let findings = stated.end().map { IntakeNotice.stated($0, $1) }
        let notices = noticed(
            findings + diary.close(clocks, of: introduction.clockOwner), at: now)
        return last + notices + fold.end().map(line)
    }
}

extension SourceRecorder {
    /// - Parameter arrived: session time of their arrival.
    private mutating func noteDelay(of samples: Samples, arrived: Int64) {
        guard !intake.isPlayedAgain, let newest = progress.newestNanoseconds else {
            return isBehind = false
        }
        // Samples of an earlier boot are from a clock that may be unknown.
        isBehind =
            samples.epoch != introduction.epochs.last?.number
            || arrived.clampedSubtracting(newest) > Self.presentNanoseconds
    }

    private mutating func count(_ piece: PlannedPiece) {
        progress.payloadBytes += UInt64(piece.range.count)
        for run in piece.runs {
            switch run.track {
            case .video: progress.pictures += UInt64(run.samples.count)
            case .audio: progress.soundPackets += UInt64(run.samples.count)
            }
        }
        let newest = piece.runs.compactMap { run in
            run.samples.last.map { segmenter.upcomingNanoseconds($0.pts, run.track) }
        }.max()
        if let newest {
            progress.newestNanoseconds = max(progress.newestNanoseconds ?? newest, newest)
        }
    }

    /// Ledger and log lines for notices of the intake about clocks and timestamps.
    private mutating func noticed(_ notices: [IntakeNotice], at now: Instant) -> [Action] {
        var actions: [Action] = []
        for notice in notices {
            actions += ledger(notice.kind, at: now, notice.fill)
            if notice.isWarning { actions.append(note(.warning, notice.text)) }
        }
        return actions
    }

    /// Adds to a fragment the clock exchanges received since the previous one; returns the lines to log.
    private mutating func writeDown(
        _ clocks: AgentClocks, in fragment: inout FragmentPlan, at now: Instant
    ) -> [Action] {
        let epoch = fragment.context.epoch
        let clock = ClockID(owner: introduction.clockOwner, epoch: epoch)
        var notices = diary.turn(to: epoch, zero: fragment.context.collectorZeroNanoseconds)
        fragment.context.exchanges = diary.takeExchanges(of: clock, clocks)
        if let stamp = fragment.pieces.first?.runs.first?.samples.first?.agentDTSNanoseconds,
            let session = intake.sessionNanoseconds(stamp, epoch: epoch)
        {
            notices += diary.notices(of: clock, clocks, at: stamp, session: session)
        }
        return noticed(notices, at: now)
    }

    private mutating func actions(
        _ steps: [Segmenter.Action], clocks: AgentClocks, at now: Instant
    ) -> [Action] {
        guard let session else { return [] }
        return steps.flatMap { step -> [Action] in
            switch step {
            case .open(let number, let plan):
                let isFilled =
                    intake.isPlayedAgain && bytesSinceOpening >= settings.budgets.fileBytes
                    && plan.originNanoseconds % settings.segmentNanoseconds == 0
                if !isFilled {
                    files.use(1, now: now.monotonic)
                    if files.pauseNanoseconds(now: now.monotonic) > 0 { isOverFiles = true }
                }
                bytesSinceOpening = 0
                let key = SegmentKey(
                    SourceKey(session: session.name, source: name),
                    origin: session.zeroUTC.advanced(by: plan.originNanoseconds))
                openSegments[number] = key
                return [.job(.open(key, plan, sessionZero: session.zeroUTC))]
            case .append(let number, var fragment):
                guard let key = openSegments[number] else {
                    preconditionFailure("a file is opened before it is written to")
                }
                let lines = writeDown(clocks, in: &fragment, at: now)
                bytesSinceOpening += fragment.sizeBytes
                return [.job(.append(key, fragment))] + lines
            case .finish(let number):
                return openSegments.removeValue(forKey: number).map { [.job(.finish($0))] } ?? []
            }
        }
    }

    /// Adds a line to the ledger, within its budget.
    private mutating func ledger(
        _ kind: LedgerEntry.Kind, at now: Instant, sequences: ClosedRange<UInt64>? = nil,
        _ fill: (inout LedgerEntry) -> Void
    ) -> [Action] {
        fold.add(
            entry(kind, at: now, sequences: sequences, fill), sequences: sequences,
            now: now.monotonic
        ).map(line)
    }

    /// Adds a line to the ledger immediately, unless the ledger would become unreadable.
    private mutating func ledgerAtOnce(
        _ kind: LedgerEntry.Kind, at now: Instant, sequences: ClosedRange<UInt64>? = nil,
        _ fill: (inout LedgerEntry) -> Void
    ) -> [Action] {
        let entry = entry(kind, at: now, sequences: sequences, fill)
        guard fold.addAtOnce(entry, now: now.monotonic) else { return [] }
        return [line(LedgerFold.Line(entry: entry, sequences: sequences.map { [$0] } ?? []))]
    }

    private mutating func entry(
        _ kind: LedgerEntry.Kind, at now: Instant, sequences: ClosedRange<UInt64>?,
        _ fill: (inout LedgerEntry) -> Void
    ) -> LedgerEntry {
        var entry = LedgerEntry(kind: kind, at: now.utc)
        if let sequences {
            entry.firstSequence = sequences.lowerBound
            entry.lastSequence = sequences.upperBound
            entry.spool = spool.description
        }
        fill(&entry)
        if kind == .gap, entry.track != TrackKind.audio.description { isInterrupted = true }
        return entry
    }

    private func line(_ line: LedgerFold.Line) -> Action {
        guard let session else { preconditionFailure("a ledger belongs to a session") }
        // A line may have been pending, and belong to the previous spool.
        let own = line.entry.spool.flatMap(SpoolID.init(hexadecimal:)) ?? spool
        let records =
            line.sequences.isEmpty
            ? nil : PersistedRecords(source: name, spool: own, sequences: line.sequences)
        return .job(
            .note(
                SourceKey(session: session.name, source: name), line.entry, records: records))
    }

    private func note(_ level: SessionRecorder.Note.Level, _ text: String) -> Action {
        .note(SessionRecorder.Note(level: level, source: name, session: session?.name, text: text))
    }
}
