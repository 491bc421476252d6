import Archive
import Media
import Timing
import Wire

/// Maps one source's samples to the session's timeline: input are the agent's stamps, output are ticks of session time.
struct SourceIntake: Sendable {
    /// Bound of a timeline that is estimated from arrival times: more than any sane network delay.
    private static let guessBoundNanoseconds: Int64 = 10_000_000_000
    private static let followIntervalNanoseconds: Int64 = 1_000_000_000
    /// A new clock is followed more closely for this long, because its rate is still being learned.
    private static let learningNanoseconds: Int64 = 10_000_000_000
    private static let learningIntervalNanoseconds: Int64 = 200_000_000
    /// Audio packets are placed end to end as long as their stamps agree to within this many ticks (a tick is one sampling
    /// interval): rounding between clocks is not a gap.
    private static let soundToleranceTicks: Int64 = 2
    /// How far a live source's track may run ahead of the present, and how far from zero the samples of a replayed recording may
    /// be (thirty years). Within these limits, file names and all sums are valid, and readers accept the times
    /// (``RecordLimits``).
    private static let leadNanoseconds: Int64 = 3_600_000_000_000
    private static let replayedNanoseconds: Int64 = 30 * 365 * 86_400_000_000_000
    /// Maximum number of known epochs, including those in a Hello.
    private static let epochsKept = 2 * WireLimits.epochsPerAgent
    /// Default duration of a picture: 25 Hz.
    private static let nominalPictureTicks: Int64 = 3_600

    /// A message's samples, placed.
    struct Placed: Sendable {
        var piece: PlannedPiece
        var context: FragmentContext
        /// Times continue with another offset from these samples on, so they begin a file.
        var beginsFile = false
    }

    /// A correction that cannot be slewed in time.
    private enum Discontinuity {
        /// It takes effect with the first sample at which decoding can start, at or after this moment of the agent's clock.
        case due(sinceNanoseconds: Int64, isJump: Bool)
        /// It would put samples before earlier ones: it is slewed, regardless of the duration.
        case slewed
    }

    /// The timeline of one epoch.
    private struct FollowedTimeline {
        var pieces: EpochTimelines
        /// It is estimated from arrival times.
        var isGuessed = false
        /// It is the epoch's stored mapping, extrapolated: independent of the position of zero on the collector's
        /// clock.
        var isStored = false
        var discontinuity: Discontinuity?
        /// The applied correction of zero.
        var correctionNanoseconds: Int64 = 0
        /// When it was last updated from its clock, on the collector's clock.
        var followedNanoseconds: Int64?
        /// When it began, on the collector's clock; nil: before this collector.
        var begunNanoseconds: Int64?
        var jumpsSeen = 0
    }

    private var spool: SpoolID
    /// The owner of the clock exchanges that apply.
    private var owner: ClockOwner?
    private var epochs: [UInt32: EpochID]
    /// Replayed epochs, and their zero: nanoseconds since 1970, UTC.
    private var replayed: [EpochID: Int64] = [:]
    private var timelines: [EpochID: FollowedTimeline] = [:]
    private var trackClocks = PerTrack<TrackClock>()
    private var notices: [IntakeNotice] = []
    /// The epoch of the last placed sample, and its stamp on the agent's clock.
    private var newest: (epoch: EpochID, stamp: Int64)?
    /// Session time at which the tracks were resumed, until the present is known; and how far ahead of the present they
    /// were. After a restart, the server's wall clock may be behind, and zero is derived from it.
    private var standingNanoseconds: Int64?
    private var aheadNanoseconds: Int64 = 0
    /// The correction of zero, and those of epochs whose stored mapping contradicts it.
    private var correction = ZeroCorrection()
    private var ownCorrections: [EpochID: ZeroCorrection] = [:]

    init(spool: SpoolID, owner: ClockOwner?, epochs: [Epoch]) {
        self.spool = spool
        self.owner = owner
        self.epochs = Self.byNumber(epochs)
        noteReplayed(epochs)
    }

    private mutating func noteReplayed(_ epochs: [Epoch]) {
        for epoch in epochs { replayed[epoch.identity] = epoch.zeroUTCNanoseconds }
    }

    private static func byNumber(_ epochs: [Epoch]) -> [UInt32: EpochID] {
        Dictionary(epochs.map { ($0.number, $0.identity) }, uniquingKeysWith: { $1 })
    }

    /// The agent has reconnected, possibly with other epochs and another spool. The tracks' times continue.
    mutating func resume(spool: SpoolID, owner: ClockOwner?, epochs: [Epoch]) {
        self.spool = spool
        self.owner = owner
        self.epochs = Self.byNumber(epochs)
        noteReplayed(epochs)
        forgetOldEpochs()
    }

    /// Bounds the number of known epochs: a box has a few boots in a session, and its Hello names those that are still needed.
    private mutating func forgetOldEpochs() {
        guard max(timelines.count, replayed.count) > Self.epochsKept else { return }
        let present = Set(epochs.values)
        timelines = timelines.filter { present.contains($0.key) }
        replayed = replayed.filter { present.contains($0.key) }
    }

    /// A source whose tracks continue from the point that an earlier collector reached.
    ///
    /// Until its agent has made new clock exchanges, its last clock model is extrapolated: a backlog arrives first.
    /// - Parameter zero: session zero on the collector's monotonic clock, nanoseconds.
    init(resuming source: RecoveredSource, zero: Int64, correction: ZeroCorrection) {
        // If it has no spool yet, a random one that no agent has.
        self.init(spool: source.spool ?? .random(), owner: nil, epochs: [])
        self.correction = correction
        goOn(after: source.ends, formats: source.formats)
        for clock in source.clocks {
            timelines[clock.epoch] = FollowedTimeline(
                pieces: EpochTimelines(
                    Timeline(
                        sessionZeroNanoseconds: zero, model: clock.placed.advanced(by: zero))),
                isStored: true)
        }
    }

    /// The position of zero on the collector's clock has become more accurate.
    /// - Parameter own: corrections of epochs whose stored mapping contradicts it.
    mutating func correct(_ new: ZeroCorrection, own: [EpochID: ZeroCorrection] = [:]) {
        correction = new
        ownCorrections = own
    }

    private func correction(of epoch: EpochID) -> ZeroCorrection {
        ownCorrections[epoch] ?? correction
    }

    /// The present on the session's timeline.
    /// - Parameter zero: session zero on the collector's monotonic clock when this collector began.
    func sessionNow(_ now: Int64, zero: Int64) -> Int64 {
        now.clampedSubtracting(zero).clampedAdding(correction.nanoseconds)
    }

    /// Samples after these ends are lost, and are sent again.
    mutating func goBack(to ends: [TrackKind: TrackEnd], formats: [TrackFormat]) {
        trackClocks = PerTrack()
        goOn(after: ends, formats: formats)
    }

    /// The next sample of each track follows the end that an earlier collector recorded.
    mutating func goOn(after ends: [TrackKind: TrackEnd], formats: [TrackFormat]) {
        for (track, end) in ends {
            let format = formats.first { $0.kind == track }
            var clock = trackClock(track, format)
            clock.goOn(
                afterDTSTicks: end.dtsTicks, durationTicks: end.durationTicks, of: end.timescale)
            trackClocks[track] = clock
        }
        standingNanoseconds = trackClocks.values.compactMap(\.endNanoseconds).max()
    }

    mutating func takeNotices() -> [IntakeNotice] {
        defer { notices.removeAll() }
        return notices
    }

    /// Updates a timeline from its agent's clock, at most once a second (a timeline is slewed slowly anyway), except at
    /// its beginning.
    ///
    /// Every correction is slewed. One that is too large for that, or follows a jump, is due as a discontinuity as
    /// well.
    private mutating func follow(
        _ clocks: AgentClocks, _ epoch: EpochID, _ timeline: inout FollowedTimeline, now: Int64
    ) {
        // A replayed timeline never changes.
        guard replayed[epoch] == nil else { return }
        let isLearning = now - (timeline.begunNanoseconds ?? now) < Self.learningNanoseconds
        let interval =
            isLearning ? Self.learningIntervalNanoseconds : Self.followIntervalNanoseconds
        let correction = correction(of: epoch)
        let isCorrected = timeline.correctionNanoseconds != correction.nanoseconds
        guard
            now - (timeline.followedNanoseconds ?? .min / 2) >= interval
                || isCorrected,
            let change = clocks.change(of: clockID(epoch))
        else { return }
        let isJump = change.jumps > timeline.jumpsSeen
        var at = isJump ? change.jumpedAtNanoseconds ?? change.atNanoseconds : change.atNanoseconds
        // A correction of zero applies to all moments of the agent's clock, so to every sample that follows.
        if isCorrected, !isJump, let newest, newest.epoch == epoch { at = min(at, newest.stamp) }
        let model = change.model.advanced(by: correction)
        let session = timeline.pieces.timeline(at: at).sessionNanoseconds(at: at)
        let rest = timeline.pieces.slew(to: model, at: at)
        if timeline.isGuessed {
            notices.append(
                .clockKnown(
                    epoch: epoch, movedByNanoseconds: rest, sessionNanoseconds: session))
        }
        let isNew = isJump || timeline.isGuessed || isCorrected
        timeline.followedNanoseconds = now
        timeline.jumpsSeen = change.jumps
        timeline.correctionNanoseconds = correction.nanoseconds
        timeline.isGuessed = false
        timeline.isStored = false
        if isJump {
            timeline.discontinuity = .due(sinceNanoseconds: at, isJump: true)
        } else if rest.magnitude <= Timeline.discontinuityNanoseconds.magnitude {
            if case .due(_, isJump: true) = timeline.discontinuity { return }
            timeline.discontinuity = nil
        } else if timeline.discontinuity == nil || isNew {
            timeline.discontinuity = .due(sinceNanoseconds: at, isJump: false)
        }
    }

    /// Applies a due discontinuity at a sample that can begin a file, unless it would put a sample before an earlier
    /// one.
    /// - Returns: whether the samples begin with another offset.
    private mutating func settle(
        _ timeline: inout FollowedTimeline, with samples: Samples, formats: [TrackFormat],
        clocks: AgentClocks, _ epoch: EpochID
    ) -> Bool {
        guard case .due(let since, _) = timeline.discontinuity,
            let start = samples.runs.compactMap(\.dtsNanoseconds.first).min(), start >= since,
            samples.beginsDecodable,
            !formats.contains(where: { $0.kind == .video })
                || samples.runs.contains(where: { $0.track == .video }),
            let change = clocks.change(of: clockID(epoch))
        else { return false }
        let fresh = Timeline(
            sessionZeroNanoseconds: timeline.pieces.sessionZeroNanoseconds,
            model: change.model.advanced(by: correction(of: epoch)))
        let present = timeline.pieces.timeline(at: start).sessionNanoseconds(at: start)
        let goesBack = samples.runs.contains { run in
            guard let first = run.dtsNanoseconds.first,
                let last = trackClocks[run.track]?.startNanoseconds
            else { return false }
            return fresh.sessionNanoseconds(at: first) <= last
        }
        let rest = fresh.sessionNanoseconds(at: start).clampedSubtracting(present)
        guard !goesBack else {
            timeline.discontinuity = .slewed
            notices.append(
                .clockBehind(
                    epoch: epoch, byNanoseconds: rest, sessionNanoseconds: present))
            return false
        }
        timeline.discontinuity = nil
        timeline.pieces.begin(fresh, since: start)
        notices.append(
            .clockJump(
                epoch: epoch, byNanoseconds: rest,
                sessionNanoseconds: fresh.sessionNanoseconds(at: since)))
        return true
    }

    /// The zero of a replayed timeline on the collector's clock; nil for samples of a live clock.
    func replayedZero(of samples: Samples, at now: Instant) -> Int64? {
        replayed[epoch(samples)].map {
            now.monotonic.clampedSubtracting(now.utc.nanoseconds.clampedSubtracting($0))
        }
    }

    /// The collector's time of the first presented sample, for the choice of a session's zero. If all samples are
    /// priming: the end of the priming.
    /// - Parameters:
    ///   - kind: only this track's samples count; nil: all.
    ///   - believable: the plausible range of capture times; other samples do not count.
    func firstPresented(
        in samples: Samples, of kind: TrackKind?, clocks: AgentClocks, now: Int64,
        believable: ClosedRange<Int64>
    ) -> Int64? {
        let model =
            clocks.model(of: clockID(epoch(samples)), at: stamp(samples))
            ?? guess(samples, now: now)
        var earliest: Int64?
        for run in samples.runs where kind == nil || run.track == kind {
            let presented = (0..<run.count).filter { !run.flags(at: $0).contains(.priming) }
            let last = run.count - 1
            let end = run.ptsNanoseconds(at: last) + run.durationNanoseconds(at: last)
            for stamp in presented.isEmpty ? [end] : presented.map(run.ptsNanoseconds) {
                let instant = model.collectorNanoseconds(at: stamp)
                guard believable.contains(instant) else { continue }
                earliest = min(earliest ?? instant, instant)
            }
        }
        return earliest
    }

    /// Whether a track of these samples is so far ahead of the present that no plausible time is left for them.
    mutating func isRunAhead(_ samples: Samples, nowNanoseconds: Int64) -> Bool {
        if let standing = standingNanoseconds {
            aheadNanoseconds = max(0, standing.clampedSubtracting(nowNanoseconds))
            standingNanoseconds = nil
        }
        let limit =
            replayed[epoch(samples)] == nil
            ? nowNanoseconds.clampedAdding(aheadNanoseconds).clampedAdding(Self.leadNanoseconds)
            : Self.replayedNanoseconds.clampedAdding(Self.leadNanoseconds)
        return samples.runs.contains { run in
            trackClocks[run.track]?.endNanoseconds.map { $0 > limit } ?? false
        }
    }

    /// Places a message's samples.
    ///
    /// - Parameters:
    ///   - formats: the source's tracks.
    ///   - clocks: the measurements of agents' clocks.
    ///   - zero: session zero on the collector's monotonic clock, nanoseconds.
    ///   - zeroUTC: the same instant.
    ///   - longest: maximum span of the samples, nanoseconds; samples with unusable stamps are not extrapolated
    ///     farther.
    ///   - now: the collector's monotonic clock, nanoseconds.
    mutating func place(
        _ samples: Samples, payload: any MediaPayload, formats: [TrackFormat], clocks: AgentClocks,
        zero: Int64, zeroUTC: UTCTime, longest: Int64 = .max, now: Int64
    ) -> Placed {
        let epoch = epoch(samples)
        // Taken out to change it in place, with one lookup.
        var timeline: FollowedTimeline
        if let known = timelines.removeValue(forKey: epoch) {
            timeline = known
            follow(clocks, epoch, &timeline, now: now)
        } else {
            timeline = begin(
                epoch, with: samples, clocks: clocks, zero: zero, zeroUTC: zeroUTC, now: now)
        }
        let beginsFile = settle(
            &timeline, with: samples, formats: formats, clocks: clocks, epoch)
        let isReplayed = replayed[epoch] != nil
        let present = present(of: timeline, samples, now: sessionNow(now, zero: zero))
        var sequence = samples.firstSequence
        var runs: [PlannedRun] = []
        runs.reserveCapacity(samples.runs.count)
        for run in samples.runs {
            let format = formats.first { $0.kind == run.track }
            runs.append(
                place(
                    run, on: &timeline.pieces, isReplayed: isReplayed, format: format,
                    firstSequence: sequence, longest: longest, nowNanoseconds: present))
            sequence += UInt64(run.count)
        }
        let stamp = stamp(samples)
        newest = (epoch, stamp)
        let piece = PlannedPiece(
            payload: payload, range: 0..<samples.payloadSizeBytes,
            digest: Digest(samples.payloadDigest), runs: runs)
        let placed = Placed(
            piece: piece,
            context: context(epoch, timeline, isReplayed: isReplayed, at: stamp),
            beginsFile: beginsFile)
        timelines[epoch] = timeline
        return placed
    }

    /// The present on the session's timeline, for the samples of an epoch. It is later than the clock's present while a
    /// correction is being slewed. With a stored mapping, it is at least the newest sample's time: no sample arrives
    /// before it was captured, and a restarted server's wall clock is less accurate.
    private func present(
        of timeline: FollowedTimeline, _ samples: Samples, now: Int64
    ) -> Int64 {
        // A closure: a key path with an optional part is interpreted at run time.
        guard let newest = samples.runs.compactMap({ $0.dtsNanoseconds.last }).max() else {
            return now
        }
        let mapping = timeline.pieces.timeline(at: newest)
        let late =
            timeline.isStored
            ? mapping.sessionNanoseconds(at: newest).clampedSubtracting(now)
            : mapping.appliedOffsetNanoseconds(at: newest)
                .clampedSubtracting(mapping.model(at: newest).offset(at: newest))
        return now.clampedAdding(max(0, min(late, Self.leadNanoseconds)))
    }

    /// Creates the timeline of an epoch with its first samples.
    private mutating func begin(
        _ epoch: EpochID, with samples: Samples, clocks: AgentClocks, zero: Int64,
        zeroUTC: UTCTime, now: Int64
    ) -> FollowedTimeline {
        if let start = replayed[epoch] {
            let model = Self.fixed(zero &+ (start &- zeroUTC.nanoseconds))
            return FollowedTimeline(
                pieces: EpochTimelines(Timeline(sessionZeroNanoseconds: zero, model: model)),
                begunNanoseconds: now)
        }
        let model = clocks.model(of: clockID(epoch), at: stamp(samples))
        if model == nil { notices.append(.clockUnknown) }
        let known = model ?? guess(samples, now: now)
        if model != nil { keepOrder(of: epoch, samples, known, zero: zero) }
        let correction = correction(of: epoch)
        return FollowedTimeline(
            pieces: EpochTimelines(
                Timeline(
                    sessionZeroNanoseconds: zero, model: known.advanced(by: correction))),
            isGuessed: model == nil, correctionNanoseconds: correction.nanoseconds,
            followedNanoseconds: model == nil ? nil : now,
            begunNanoseconds: now, jumpsSeen: clocks.change(of: clockID(epoch))?.jumps ?? 0)
    }

    /// Moves zero for an epoch whose first samples would come to lie before earlier ones of the source, which were
    /// captured before. Only an inaccurate zero is moved, and by at most its maximum error.
    private mutating func keepOrder(
        of epoch: EpochID, _ samples: Samples, _ model: ClockModel, zero: Int64
    ) {
        let correction = correction(of: epoch)
        let timeline = Timeline(
            sessionZeroNanoseconds: zero, model: model.advanced(by: correction.nanoseconds))
        let missing = samples.runs.compactMap { run -> Int64? in
            guard let first = run.dtsNanoseconds.first,
                let end = trackClocks[run.track]?.endNanoseconds
            else { return nil }
            return end.clampedSubtracting(timeline.sessionNanoseconds(at: first))
        }.max()
        guard let missing, missing > 0, missing <= correction.errorNanoseconds else { return }
        ownCorrections[epoch] = ZeroCorrection(
            nanoseconds: correction.nanoseconds.clampedAdding(missing),
            errorNanoseconds: correction.errorNanoseconds)
    }

    private static func fixed(_ offset: Int64) -> ClockModel {
        ClockModel(
            referenceAgentNanoseconds: 0, offsetNanoseconds: offset, skewPPB: 0,
            boundNanoseconds: 0, boundGrowthPPB: 0, validFromAgentNanoseconds: 0)
    }

    private mutating func place(
        _ run: SampleRun, on timeline: inout EpochTimelines, isReplayed: Bool,
        format: TrackFormat?, firstSequence: UInt64, longest: Int64, nowNanoseconds: Int64
    ) -> PlannedRun {
        var clock = trackClock(run.track, format)
        var latest = Int64.max
        var faults: [StampFault: Int] = [:]
        let zero = timeline.sessionZeroNanoseconds
        var placed: [PlannedSample] = []
        placed.reserveCapacity(run.count)
        for index in 0..<run.count {
            let dts = run.dtsNanoseconds[index]
            let mapped = timeline.map(dts)
            let placement = clock.place(
                SampleStamps(
                    ptsNanoseconds: timeline.map(run.ptsNanoseconds(at: index)),
                    dtsNanoseconds: mapped,
                    durationNanoseconds: run.durationNanoseconds(at: index)),
                // A replayed sample may have nearly any time.
                nowNanoseconds: isReplayed
                    ? max(-Self.replayedNanoseconds, min(Self.replayedNanoseconds, mapped))
                    : nowNanoseconds, latestNanoseconds: latest)
            if index == 0, let end = clock.endNanoseconds { latest = end.clampedAdding(longest) }
            for fault in placement.faults { faults[fault, default: 0] += 1 }
            placed.append(
                PlannedSample(
                    sizeBytes: run.sizes[index], dts: placement.dtsTicks, pts: placement.ptsTicks,
                    duration: placement.durationTicks, flags: run.flags(at: index),
                    agentDTSNanoseconds: dts,
                    appliedOffsetNanoseconds: mapped &- dts &+ zero))
        }
        trackClocks[run.track] = clock
        for (fault, count) in faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            notices.append(.badStamps(run.track, fault, samples: count))
        }
        return PlannedRun(
            track: run.track, firstSequence: firstSequence, samples: placed, camera: run.camera)
    }

    private func trackClock(_ track: TrackKind, _ format: TrackFormat?) -> TrackClock {
        let timescale = format?.timescale ?? .video
        let before = trackClocks[track]
        if let before, before.timescale == timescale { return before }
        let nominal =
            if case .audio(let audio) = format {
                Int64(audio.packetFrames)
            } else {
                Self.nominalPictureTicks
            }
        let continuity: TrackClock.Continuity =
            switch track {
            case .video: .stamped
            case .audio: .endToEnd(toleranceTicks: Self.soundToleranceTicks)
            }
        var clock = TrackClock(
            timescale: timescale, continuity: continuity, nominalDurationTicks: nominal)
        if let before { clock.goOn(after: before) }
        return clock
    }

    /// Session time of an agent's stamp; nil before the first sample of its epoch.
    func sessionNanoseconds(_ stamp: Int64, epoch: UInt32) -> Int64? {
        epochs[epoch].flatMap { sessionNanoseconds(stamp, epoch: $0) }
    }

    /// The same for an epoch's identity.
    func sessionNanoseconds(_ stamp: Int64, epoch: EpochID) -> Int64? {
        timelines[epoch]?.pieces.timeline(at: stamp).sessionNanoseconds(at: stamp)
    }

    /// Whether the last placed sample is replayed.
    var isPlayedAgain: Bool { newest.map { replayed[$0.epoch] != nil } ?? false }

    /// The clock model of the last placed sample; nil before that, and for replayed samples.
    var presentClock: FragmentRecord.Clock? {
        guard let (epoch, stamp) = newest, replayed[epoch] == nil else { return nil }
        return context(epoch, timelines[epoch], isReplayed: false, at: stamp).clock
    }

    private func context(
        _ epoch: EpochID, _ followed: FollowedTimeline?, isReplayed: Bool, at stamp: Int64
    ) -> FragmentContext {
        let timeline = followed?.pieces.timeline(at: stamp)
        let bound =
            isReplayed ? 0 : UInt64(clamping: timeline?.boundNanoseconds(at: stamp) ?? .max)
        return FragmentContext(
            spool: spool, epoch: epoch,
            clock: FragmentRecord.Clock(
                offsetNanoseconds: timeline?.appliedOffsetNanoseconds(at: stamp) ?? 0,
                boundNanoseconds: bound,
                skewPartsPerBillion: timeline?.model(at: stamp).skewPPB ?? 0),
            collectorZeroNanoseconds: timeline?.sessionZeroNanoseconds ?? 0)
    }

    /// The estimate before the first exchange: the newest sample was captured just now.
    private func guess(_ samples: Samples, now: Int64) -> ClockModel {
        let newest = samples.runs.compactMap(\.dtsNanoseconds.last).max() ?? now
        return ClockModel(
            referenceAgentNanoseconds: newest, offsetNanoseconds: now &- newest, skewPPB: 0,
            boundNanoseconds: Self.guessBoundNanoseconds, boundGrowthPPB: ClockLimits.skewPPB,
            validFromAgentNanoseconds: newest)
    }

    private func clockID(_ epoch: EpochID) -> ClockID { ClockID(owner: owner, epoch: epoch) }

    private func epoch(_ samples: Samples) -> EpochID {
        guard let identity = epochs[samples.epoch] else {
            preconditionFailure("the link checks that a message's epoch was announced")
        }
        return identity
    }

    private func stamp(_ samples: Samples) -> Int64 {
        samples.runs.first?.dtsNanoseconds.first ?? 0
    }
}

extension ClockModel {
    /// The same clock against the session's timeline after a correction of zero; the bound contains the correction's error.
    fileprivate func advanced(by correction: ZeroCorrection) -> ClockModel {
        advanced(by: correction.nanoseconds, errorNanoseconds: correction.errorNanoseconds)
    }
}
