package import Media
import MP4

/// Divides one source's samples into segments and fragments. A value: it owns no file, no clock and no bytes.
///
/// **Segments.** Segment *k* begins at *k* × segment length on the session's timeline, for every source alike. A file ends at the
/// first picture at or after the next such instant where decoding can start, and sound is cut at that picture's time, to the
/// packet. A sound-only source is cut at the packet itself. Where a track's format changes, a file of its own begins at
/// that instant, because one file has one description per track. Where it is the sound's alone, that file begins with the next
/// picture where decoding can start, and with the sound that has come meanwhile: the pictures until then are in the file before.
///
/// **Fragments** begin at every keyframe, and after at most ``SegmenterSettings/fragmentNanoseconds``.
///
/// Sound arrives a little before or after the picture of the same instant. Two rules keep the cut exact: close to a
/// boundary, sound ahead of the picture waits for the next fragment; and after a cut the old file stays open until sound has
/// passed it (or ``SegmenterSettings/soundPatienceNanoseconds`` have).
///
/// **What an index can say.** A sample's duration has 32 bits of ticks, and readers take so many samples of a track. A file ends before
/// a pause that is longer (``FragmentLimits/durationTicks``), and before it has more samples; a fragment is divided where it would have
/// more than readers take.
package struct Segmenter<Payload: Sendable>: Sendable {
    package enum Action: Sendable {
        /// A file begins.
        case open(segment: Int, SegmentPlan)
        /// A fragment is complete.
        case append(segment: Int, FragmentPlan<Payload>)
        /// No sample will come for this file any more.
        case finish(segment: Int)
    }

    struct Segment {
        var number: Int
        var originNanoseconds: Int64
        /// It has a place of its own, and not the grid's: it begins with the first thing that it presents.
        var isOffGrid: Bool
        /// The instant from which the next keyframe belongs to the next segment.
        var endNanoseconds: Int64
        var isOpen = false
        /// Per track, the earliest decoding time that the open file can hold: its media timeline begins there.
        var earliest: [TrackKind: Int64] = [:]
        /// So much earlier there is room for what an encoder gives before its first sound: ticks of the sound's timescale.
        var primingRoom: Int64 = 0
        /// Per track, the decoding time of the last sample that it was given: no file goes back in time.
        private var latest: [TrackKind: Int64] = [:]
        /// How many samples of each track this segmenter has given it.
        private var counts: [TrackKind: Int] = [:]

        init(
            number: Int, originNanoseconds: Int64, isOffGrid: Bool, endNanoseconds: Int64
        ) {
            self.number = number
            self.originNanoseconds = originNanoseconds
            self.isOffGrid = isOffGrid
            self.endNanoseconds = endNanoseconds
        }

        mutating func note(_ piece: PlannedPiece<Payload>) {
            for run in piece.runs {
                if let last = run.samples.last { note(run.track, dts: last.dts) }
                counts[run.track, default: 0] += run.samples.count
            }
        }

        mutating func note(_ track: TrackKind, dts: Int64) {
            latest[track] = max(latest[track] ?? dts, dts)
        }

        func isEarly(_ sample: PlannedSample, _ track: TrackKind) -> Bool {
            if let latest = latest[track], sample.dts <= latest { return true }
            guard let earliest = earliest[track] else { return false }
            let room = track == .audio && sample.flags.contains(.priming) ? primingRoom : 0
            return sample.dts < earliest - room
        }

        func isEarly(_ piece: PlannedPiece<Payload>) -> Bool {
            piece.runs.contains { run in
                run.samples.first.map { isEarly($0, run.track) } ?? false
            }
        }

        /// Whether the pause before a sample is longer than the file's index can say.
        func isFar(_ sample: PlannedSample, _ track: TrackKind) -> Bool {
            latest[track].map {
                sample.dts.clampedSubtracting($0) > FragmentLimits.durationTicks
            } ?? false
        }

        /// Whether the file's index has room for a run: nothing of it is far, and there are not too many samples.
        func holds(_ run: PlannedRun) -> Bool {
            guard let first = run.samples.first else { return true }
            return !isFar(first, run.track)
                && counts[run.track, default: 0] + run.samples.count <= Segmenter.samplesPerFile
        }

        /// Whether a file is to end at the next picture where decoding can start, before it has too many samples.
        var isNearlyFull: Bool { counts.values.contains { $0 > Segmenter.samplesPerFile / 8 * 7 } }
    }

    /// A segment whose pictures are complete, waiting for the last sound before its cut.
    private struct Closing {
        var segment: Segment
        var cutNanoseconds: Int64
        var sinceNanoseconds: Int64
        var number: Int { segment.number }
    }

    /// A file of its own for what came too late for the one that is open.
    private struct Aside {
        var segment: Segment
        var sinceNanoseconds: Int64
    }

    /// What an earlier segmenter left of a source's part in a session.
    package struct Resumption: Hashable, Sendable {
        /// Session time of the files that are there, nanoseconds, cut to the milliseconds of their names.
        package var usedOrigins: [Int64]
        /// The file that goes on, as the first segment.
        package var open: SegmentPlan?
        /// Where the tracks stand in it.
        package var ends: [TrackKind: TrackEnd]

        package init(
            usedOrigins: [Int64], open: SegmentPlan?, ends: [TrackKind: TrackEnd] = [:]
        ) {
            self.usedOrigins = usedOrigins
            self.open = open
            self.ends = ends
        }
    }

    let settings: SegmenterSettings
    private var formats: [TrackKind: TrackFormat]
    /// Formats that begin with the next sample.
    private var nextFormats: [TrackKind: TrackFormat]?
    var context: FragmentContext?
    var segment: Segment?
    private var closing: Closing?
    private var aside: Aside?
    /// Sound in another format than the open file's, until a file can begin with a picture.
    private var waiting: WaitingAudio<Payload>?
    var pending = PendingFragment<Payload>()
    /// The milliseconds of session time that files are named for.
    private var usedMilliseconds: Set<Int64> = []
    private var segmentCount = 0
    var lastVideoEndNanoseconds: Int64?

    /// A segmenter for a source with these tracks.
    package init(settings: SegmenterSettings, formats: [TrackFormat]) {
        self.settings = settings
        self.formats = Dictionary(uniqueKeysWithValues: formats.map { ($0.kind, $0) })
    }

    /// The number of the file that a segmenter goes on with.
    package static var resumedSegment: Int { 1 }

    /// A segmenter that goes on where an earlier one was cut off.
    package init(settings: SegmenterSettings, formats: [TrackFormat], resuming: Resumption) {
        self.init(settings: settings, formats: formats)
        usedMilliseconds = Set(resuming.usedOrigins.map { $0 / 1_000_000 })
        guard let plan = resuming.open else { return }
        self.formats = Dictionary(
            uniqueKeysWithValues: plan.tracks.map { ($0.format.kind, $0.format) })
        segmentCount = Self.resumedSegment
        var open = Segment(
            number: segmentCount, originNanoseconds: plan.originNanoseconds, isOffGrid: false,
            endNanoseconds: gridEnd(after: plan.originNanoseconds))
        open.isOpen = true
        open.earliest = Self.earliest(plan)
        for (track, end) in resuming.ends { open.note(track, dts: end.dtsTicks) }
        segment = open
    }

    /// What waits for its fragment to be complete.
    package var pendingAmount: MediaAmount {
        var amount = pending.pieces.amount()
        if let waiting { amount += waiting.pieces.amount() }
        return amount
    }

    /// The tracks as they are now.
    package var tracks: [TrackFormat] {
        TrackKind.allCases.compactMap { formats[$0] }
    }

    /// The tracks as they will be from the next sample on.
    package var upcomingTracks: [TrackFormat] {
        let formats = nextFormats ?? formats
        return TrackKind.allCases.compactMap { formats[$0] }
    }

    /// Takes note of the tracks' formats; when they differ, the next sample begins a file.
    package mutating func setFormats(_ new: [TrackFormat]) {
        let byKind = Dictionary(new.map { ($0.kind, $0) }, uniquingKeysWith: { $1 })
        nextFormats = byKind == formats && waiting == nil ? nil : byKind
        if segment == nil { adoptFormats() }
    }

    private mutating func adoptFormats() {
        if let nextFormats { formats = nextFormats }
        nextFormats = nil
    }

    /// Takes in one piece, whose samples follow those before it.
    /// - Parameter now: the caller's monotonic clock, nanoseconds.
    package mutating func add(
        _ piece: PlannedPiece<Payload>, context new: FragmentContext, now: Int64
    ) -> [Action] {
        var actions: [Action] = []
        if let context, context.spool != new.spool || context.epoch != new.epoch {
            beginWithWaiting(into: &actions)
            closePending(into: &actions)
        }
        context = new
        for part in split(piece) { addPart(part, now: now, to: &actions) }
        return actions
    }

    private mutating func addPart(
        _ piece: PlannedPiece<Payload>, now: Int64, to actions: inout [Action]
    ) {
        if let waiting, waiting.formats != nextFormats { beginWithWaiting(into: &actions) }
        if !isChanging(.audio), formats[.video] != nil, lastVideoEndNanoseconds != nil,
            let sound = piece.runs.first(where: { $0.track == .audio }),
            segment?.holds(sound) == false
        {
            // As if its format changed: the next file begins with a picture from which decoding can start.
            nextFormats = nextFormats ?? formats
        }
        if isOnlyAudioChanging {
            changeAudio(with: piece, now: now, to: &actions)
        } else {
            place([piece], now: now, to: &actions)
        }
    }

    /// Has pieces go where they belong, in the formats that are known.
    private mutating func place(
        _ pieces: [PlannedPiece<Payload>], now: Int64, to actions: inout [Action]
    ) {
        var pieces = pieces
        if let closing {
            if pieces.contains(where: hasChangedAudio) {
                // All sound in the old format has come.
                actions.append(.finish(segment: closing.number))
                self.closing = nil
            } else {
                pieces = feed(closing, pieces, now: now, to: &actions)
            }
        }
        pieces = setAside(pieces, from: segment, now: now, to: &actions)
        guard let first = pieces.first else { return }
        if segment == nil {
            begin(at: firstPresented(first))
            pieces[0] = settled(first)
        }
        if let cut = cut(at: first) {
            divide(at: cut, with: pieces, now: now, to: &actions)
            return
        }
        if mustClose(before: first) {
            closePending(next: first, into: &actions)
            // That may have opened the file, which then begins where it begins.
            pieces = setAside(pieces, from: segment, now: now, to: &actions)
        }
        for piece in pieces { append(piece, now: now) }
    }

    /// Closes what has waited too long: an agent that went silent must not leave a second of media in memory.
    package mutating func tick(now: Int64) -> [Action] {
        var actions: [Action] = []
        if let closing, now - closing.sinceNanoseconds >= settings.soundPatienceNanoseconds {
            actions.append(.finish(segment: closing.number))
            self.closing = nil
        }
        if let aside, now - aside.sinceNanoseconds >= settings.stragglerNanoseconds {
            finishAside(into: &actions)
        }
        if let waiting, now - waiting.sinceNanoseconds >= settings.videoPatienceNanoseconds {
            beginWithWaiting(into: &actions)
        }
        if let since = pending.sinceNanoseconds, now - since >= settings.idleNanoseconds {
            closePending(into: &actions)
        }
        return actions
    }

    /// Closes the fragment and every file: the source has ended, or the session has.
    package mutating func end() -> [Action] {
        var actions: [Action] = []
        beginWithWaiting(into: &actions)
        closePending(into: &actions)
        if let closing { actions.append(.finish(segment: closing.number)) }
        closing = nil
        finishAside(into: &actions)
        if let segment, segment.isOpen { actions.append(.finish(segment: segment.number)) }
        segment = nil
        lastVideoEndNanoseconds = nil
        return actions
    }
}

// MARK: - Cutting

extension Segmenter {
    /// The instant where this piece begins another file, if it does.
    private func cut(at piece: PlannedPiece<Payload>) -> Int64? {
        guard let segment else { return nil }
        if let run = piece.runs.first(where: { !isChanging($0.track) && !segment.holds($0) }) {
            return run.samples.first.map { nanoseconds($0.pts, run.track) }
        }
        if nextFormats != nil {
            guard let run = piece.runs.first(where: { isChanging($0.track) }) else { return nil }
            return run.samples.first.map { upcomingNanoseconds($0.pts, run.track) }
        }
        if let video = piece.runs.first(where: { $0.track == .video })?.samples.first {
            guard video.flags.contains(.keyframe) else { return nil }
            let instant = nanoseconds(video.pts, .video)
            return segment.isNearlyFull
                || instant + settings.toleranceNanoseconds >= segment.endNanoseconds
                ? instant : nil
        }
        // Sound alone decides where there are no pictures, or none any more.
        var end = segment.endNanoseconds
        if formats[.video] != nil { end += settings.videoPatienceNanoseconds }
        for run in piece.runs {
            for sample in run.samples where nanoseconds(sample.pts, run.track) >= end {
                return nanoseconds(sample.pts, run.track)
            }
        }
        return nil
    }

    /// Ends the file at `cut` and begins the next one there.
    private mutating func divide(
        at cut: Int64, with pieces: [PlannedPiece<Payload>], now: Int64, to actions: inout [Action]
    ) {
        let startsAnew = nextFormats != nil
        // A cut that is a hair before the next file's beginning: sound in between belongs to the file before.
        let origin = place(of: cut, offGrid: startsAnew)
        let soundCut = max(cut, min(origin, cut + settings.toleranceNanoseconds))
        // Sound in one format cannot be in a file with another; sound that goes on as it was is cut, however late it comes.
        let isAudioNew = isChanging(.audio)
        let carried = isAudioNew ? [] : takeAudio(from: soundCut)
        var after: [PlannedPiece<Payload>] = []
        for piece in pieces {
            let parts = piece.divided { track, sample in
                track == .video || isAudioNew || nanoseconds(sample.pts, track) >= soundCut
            }
            for straggler in parts.before { append(straggler, now: now) }
            after += parts.after
        }
        closePending(next: after.first.flatMap(inPresentFormats), into: &actions)
        if let closing { actions.append(.finish(segment: closing.number)) }
        closing = nil
        if let old = segment, old.isOpen {
            let soundPassed = (carried + after).contains { $0.runs.contains { $0.track == .audio } }
            if formats[.audio] == nil || soundPassed || isAudioNew {
                actions.append(.finish(segment: old.number))
            } else {
                closing = Closing(
                    segment: old, cutNanoseconds: soundCut, sinceNanoseconds: now)
            }
        }
        // What comes late from now on is in ticks of the new formats.
        if startsAnew { finishAside(into: &actions) }
        adoptFormats()
        begin(at: cut, offGrid: startsAnew)
        if let first = after.first { after[0] = settled(first) }
        appendAll(carried + after, now: now, into: &actions)
    }

    /// Adds pieces to the open file; one that it cannot hold begins another.
    private mutating func appendAll(
        _ pieces: [PlannedPiece<Payload>], now: Int64, into actions: inout [Action]
    ) {
        for piece in pieces {
            if let segment, !piece.runs.allSatisfy(segment.holds) {
                closePending(into: &actions)
                if let segment = self.segment, segment.isOpen {
                    actions.append(.finish(segment: segment.number))
                }
                begin(at: firstPresented(piece), offGrid: true)
            }
            append(piece, now: now)
        }
    }

    /// Sound that still belongs to the file before the cut goes there at once; the rest is returned.
    private mutating func feed(
        _ closing: Closing, _ pieces: [PlannedPiece<Payload>], now: Int64,
        to actions: inout [Action]
    ) -> [PlannedPiece<Payload>] {
        var before: [PlannedPiece<Payload>] = []
        var after: [PlannedPiece<Payload>] = []
        for piece in pieces {
            let parts = piece.divided { track, sample in
                track == .video || nanoseconds(sample.pts, track) >= closing.cutNanoseconds
            }
            before += parts.before
            after += parts.after
        }
        let own = setAside(
            before, from: closing.segment, orFar: true, now: now, to: &actions)
        for piece in own { self.closing?.segment.note(piece) }
        appendNow(own, to: closing.number, into: &actions)
        if after.contains(where: { $0.runs.contains { $0.track == .audio } }) {
            actions.append(.finish(segment: closing.number))
            self.closing = nil
        }
        return after
    }

    /// Whether the open file cannot hold what comes of a track, whose times are in ticks of another timescale perhaps.
    private func isChanging(_ track: TrackKind) -> Bool {
        nextFormats.map { $0[track] != formats[track] } ?? false
    }

    private func hasChangedAudio(_ piece: PlannedPiece<Payload>) -> Bool {
        isChanging(.audio) && piece.runs.contains { $0.track == .audio }
    }

    /// What of a piece is in the open file's formats, for its times alone; nil when nothing is.
    private func inPresentFormats(_ piece: PlannedPiece<Payload>) -> PlannedPiece<Payload>? {
        var present = piece
        present.runs.removeAll { isChanging($0.track) }
        return present.runs.isEmpty ? nil : present
    }

    /// Pictures go on in the open file's format, and sound does not: the next file begins with a picture from which decoding can
    /// start, because readers would leave out those before it.
    private var isOnlyAudioChanging: Bool {
        guard let nextFormats, segment != nil, lastVideoEndNanoseconds != nil else { return false }
        return formats[.video] != nil && nextFormats[.video] == formats[.video]
    }

    /// Keeps sound in the new format until there is such a picture; pictures go where they always went.
    private mutating func changeAudio(
        with piece: PlannedPiece<Payload>, now: Int64, to actions: inout [Action]
    ) {
        // All sound in the old format has come.
        if let closing { actions.append(.finish(segment: closing.number)) }
        closing = nil
        guard let nextFormats else { return }
        let (pictures, sound) = piece.divided { track, _ in track == .audio }
        if !sound.isEmpty {
            var all = waiting ?? WaitingAudio(formats: nextFormats, sinceNanoseconds: now)
            all.add(sound)
            waiting = all
        }
        if pictures.contains(where: isKeyframe) {
            waiting = waiting ?? WaitingAudio(formats: nextFormats, sinceNanoseconds: now)
            return beginWithWaiting(pictures, into: &actions)
        }
        place(pictures, now: now, to: &actions)
        if let waiting, waiting.sizeBytes > settings.fragmentBytes {
            beginWithWaiting(into: &actions)
        }
    }

    /// Ends the open file, and begins one with the sound that waits and the pictures that it waited for.
    private mutating func beginWithWaiting(
        _ pictures: [PlannedPiece<Payload>] = [], into actions: inout [Action]
    ) {
        guard let sound = waiting else { return }
        waiting = nil
        closePending(next: pictures.first, into: &actions)
        if let segment, segment.isOpen { actions.append(.finish(segment: segment.number)) }
        finishAside(into: &actions)
        formats = sound.formats
        if nextFormats == formats { nextFormats = nil }
        let pieces = pictures + sound.pieces
        begin(at: pieces.map(firstPresented).min() ?? 0, offGrid: true)
        appendAll(pieces, now: sound.sinceNanoseconds, into: &actions)
    }

    /// Begins a segment with the samples at `instant`.
    private mutating func begin(at instant: Int64, offGrid: Bool = false) {
        segment = newSegment(at: instant, offGrid: offGrid)
    }

    private mutating func newSegment(at instant: Int64, offGrid: Bool) -> Segment {
        let origin = place(of: instant, offGrid: offGrid)
        usedMilliseconds.insert(origin / 1_000_000)
        segmentCount += 1
        return Segment(
            number: segmentCount, originNanoseconds: origin, isOffGrid: offGrid,
            endNanoseconds: gridEnd(after: instant))
    }

    /// Has a file with a place of its own begin with the earliest that it presents: of two tracks in a new format, the second may
    /// come later, and be earlier.
    mutating func settle(_ segment: inout Segment, with pieces: [PlannedPiece<Payload>]) {
        guard segment.isOffGrid, let first = pieces.map(firstPresented).min(),
            first < segment.originNanoseconds
        else { return }
        usedMilliseconds.remove(segment.originNanoseconds / 1_000_000)
        let origin = place(of: first, offGrid: true)
        segment.originNanoseconds = min(origin, segment.originNanoseconds)
        usedMilliseconds.insert(segment.originNanoseconds / 1_000_000)
    }

    /// Where a file that begins with the samples at `instant` has its origin.
    private func place(of instant: Int64, offGrid: Bool) -> Int64 {
        var origin = gridEnd(after: instant) - settings.segmentNanoseconds
        if offGrid || isUsed(origin) { origin = instant }
        // Two files of one source never share a name.
        while isUsed(origin) { origin += 1_000_000 }
        return origin
    }

    /// The grid's first instant after this one.
    private func gridEnd(after instant: Int64) -> Int64 {
        let length = settings.segmentNanoseconds
        // Two clocks agree to within their bounds, not to the nanosecond: a hair before a boundary is at it.
        let settled = instant + settings.toleranceNanoseconds
        var index = settled / length
        if settled % length < 0 { index -= 1 }
        return (index + 1) * length
    }

    /// Whether a file has this origin's name already. Names have milliseconds of UTC, whose beginnings the session's
    /// zero moves: an origin that is less than one away may have the same.
    private func isUsed(_ origin: Int64) -> Bool {
        let millisecond = origin / 1_000_000
        return (millisecond - 1...millisecond + 1).contains { usedMilliseconds.contains($0) }
    }

    /// The first piece of a file, whose first picture is not presented before the file begins: readers would leave it out,
    /// and every joint would lack a picture. It is a hair that the picture is moved by; its stamp stays in the record.
    private func settled(_ piece: PlannedPiece<Payload>) -> PlannedPiece<Payload> {
        guard let segment, let format = formats[.video],
            let run = piece.runs.firstIndex(where: { $0.track == .video }),
            let first = piece.runs[run].samples.first
        else { return piece }
        let origin = ticks(segment.originNanoseconds, format.timescale)
        let hair = ticks(settings.toleranceNanoseconds, format.timescale) + 1
        guard first.pts < origin, origin - first.pts <= hair else { return piece }
        var moved = piece
        moved.runs[run].samples[0].pts = origin
        return moved
    }

    /// Puts samples that are earlier than the open file can hold into a file of their own, and returns the rest.
    ///
    /// A file's media timeline begins where its first fragment made it begin, and goes on from there. What comes later and lies
    /// before that (sound that was more than ``SegmenterSettings/soundPatienceNanoseconds`` late, or that a crash had kept
    /// back) must neither be lost nor stop the file.
    /// - Parameter orFar: also what comes after a pause that the file's index cannot say: a file that is only waiting for its last
    ///   sound does not go on with another one.
    private mutating func setAside(
        _ pieces: [PlannedPiece<Payload>], from file: Segment?, orFar: Bool = false, now: Int64,
        to actions: inout [Action]
    ) -> [PlannedPiece<Payload>] {
        let changing = TrackKind.allCases.filter(isChanging)
        func isEarly(_ sample: PlannedSample, _ track: TrackKind) -> Bool {
            guard let file, !changing.contains(track) else { return false }
            return file.isEarly(sample, track) || orFar && file.isFar(sample, track)
        }
        let hasEarly = pieces.contains { piece in
            piece.runs.contains { run in run.samples.first.map { isEarly($0, run.track) } ?? false }
        }
        guard hasEarly else {
            if aside != nil, pieces.contains(where: { $0.runs.contains { $0.track == .audio } }) {
                finishAside(into: &actions)
            }
            return pieces
        }
        var early: [PlannedPiece<Payload>] = []
        var rest: [PlannedPiece<Payload>] = []
        for piece in pieces {
            let parts = piece.divided { track, sample in !isEarly(sample, track) }
            early += parts.before
            rest += parts.after
        }
        if let aside,
            early.contains(where: { piece in
                aside.segment.isEarly(piece) || !piece.runs.allSatisfy(aside.segment.holds)
            })
        {
            finishAside(into: &actions)
        }
        var own =
            aside
            ?? Aside(
                segment: newSegment(
                    at: early.map(firstPresented).min() ?? 0, offGrid: true), sinceNanoseconds: now)
        if aside == nil {
            let plan = plan(own.segment, early)
            own.segment.earliest = Self.earliest(plan)
            actions.append(.open(segment: own.segment.number, plan))
        }
        for piece in early { own.segment.note(piece) }
        aside = own
        appendNow(early, to: own.segment.number, into: &actions)
        return rest
    }

    private mutating func finishAside(into actions: inout [Action]) {
        if let aside { actions.append(.finish(segment: aside.segment.number)) }
        aside = nil
    }

    /// A piece in parts that have keyframes, and pauses that no index can say, only at their start.
    private func split(_ piece: PlannedPiece<Payload>) -> [PlannedPiece<Payload>] {
        var parts: [PlannedPiece<Payload>] = []
        var rest = [piece]
        while let next = rest.popLast() {
            guard let place = firstBreak(in: next) else {
                parts.append(next)
                continue
            }
            let divided = next.divided { track, sample in
                track == place.track && sample.dts >= place.dts
            }
            guard !divided.before.isEmpty else {
                parts.append(next)
                continue
            }
            parts += divided.before
            rest += divided.after.reversed()
        }
        return parts
    }

    /// Where a piece has to be divided first.
    private func firstBreak(
        in piece: PlannedPiece<Payload>
    ) -> (track: TrackKind, dts: Int64)? {
        for run in piece.runs {
            var last = run.samples.first?.dts
            for sample in run.samples.dropFirst() {
                let isKeyframe = run.track == .video && sample.flags.contains(.keyframe)
                let pause = sample.dts.clampedSubtracting(last ?? sample.dts)
                if isKeyframe || pause > FragmentLimits.durationTicks {
                    return (run.track, sample.dts)
                }
                last = sample.dts
            }
        }
        return nil
    }

    /// The most samples of a track in one file: as many as its index is read with.
    fileprivate static var samplesPerFile: Int { Int(SampleTable.maximumSamples) }

    func firstPresented(_ piece: PlannedPiece<Payload>) -> Int64 {
        var earliest: Int64?
        for run in piece.runs {
            guard let last = run.samples.last else { continue }
            // Priming alone announces what is presented right after it.
            let first = run.samples.first { !$0.flags.contains(.priming) }
            let instant = nanoseconds(first?.pts ?? last.pts + last.duration, run.track)
            earliest = min(earliest ?? instant, instant)
        }
        return max(earliest ?? 0, settings.presentedFromNanoseconds ?? .min)
    }
}

// MARK: - Times

extension Segmenter {
    /// A track's ticks in nanoseconds; of the samples that come next.
    package func upcomingNanoseconds(_ ticks: Int64, _ track: TrackKind) -> Int64 {
        let scale = (nextFormats ?? formats)[track]?.timescale ?? .video
        return saturatingRescale(ticks, from: scale, to: .nanoseconds)
    }

    /// A track's ticks in nanoseconds; of what the open file can hold.
    func nanoseconds(_ ticks: Int64, _ track: TrackKind) -> Int64 {
        let scale = (formats[track] ?? nextFormats?[track])?.timescale ?? .video
        return saturatingRescale(ticks, from: scale, to: .nanoseconds)
    }

    func ticks(_ nanoseconds: Int64, _ scale: Timescale) -> Int64 {
        saturatingRescale(nanoseconds, from: .nanoseconds, to: scale)
    }
}

/// A rescale whose result stays so far from the ends of 64 bits that sums and differences of two fit: 73 years in nanoseconds.
func saturatingRescale(_ value: Int64, from: Timescale, to: Timescale) -> Int64 {
    let limit: Int64 = 1 << 61
    do {
        return max(-limit, min(limit, try rescale(value, from: from, to: to)))
    } catch {
        return value < 0 ? -limit : limit
    }
}
