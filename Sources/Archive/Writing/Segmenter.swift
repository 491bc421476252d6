package import Media
import MP4

/// Divides one source's samples into segments and fragments. A value: it owns no file, no clock and no bytes.
///
/// **Segments.** Segment *k* begins at *k* × segment length on the session's timeline, for every source. A file ends at the first
/// picture at or after the next such instant at which decoding can start; audio is cut at that picture's time, at packet
/// granularity. An audio-only source is cut at the packet itself. When a track's format changes, a separate file begins at that
/// instant, because one file has one description per track. When only the audio format changes, the new file begins with the next
/// picture at which decoding can start, and with the audio that arrived meanwhile: the pictures until then are in the previous
/// file.
///
/// **Fragments** begin at every keyframe, and after at most ``SegmenterSettings/fragmentNanoseconds``.
///
/// Audio arrives slightly before or after the picture of the same instant. Two rules keep the cut exact: close to a boundary,
/// audio ahead of the picture waits for the next fragment; and after a cut the old file stays open until audio has passed it (or
/// ``SegmenterSettings/soundPatienceNanoseconds`` have elapsed).
///
/// **Limits of an index.** A sample's duration has 32 bits of ticks, and readers limit the number of samples of a track. A file
/// ends before a longer pause (``FragmentLimits/durationTicks``), and before it would have more samples; a fragment is divided
/// where it would have more samples than readers accept.
package struct Segmenter: Sendable {
    package enum Action: Sendable {
        /// A file begins.
        case open(segment: Int, SegmentPlan)
        /// A fragment is complete.
        case append(segment: Int, FragmentPlan)
        /// No more samples follow for this file.
        case finish(segment: Int)
    }

    struct Segment {
        var number: Int
        var originNanoseconds: Int64
        /// Whether it begins with its first presented sample, not on the grid.
        var isOffGrid: Bool
        /// The instant from which the next keyframe belongs to the next segment.
        var endNanoseconds: Int64
        var isOpen = false
        /// The earliest decoding time of each track that the open file can contain: its media timeline begins there.
        var earliest = PerTrack<Int64>()
        /// Maximum lead over that of a track whose first sample was unknown when the file was opened, in its ticks: priming
        /// of audio, decoding times before the first presentation time of pictures.
        var room = PerTrack<Int64>()
        /// The decoding time of the last sample of each track in it: times in a file never decrease.
        private(set) var latest = PerTrack<Int64>()
        /// The number of samples of each track that this segmenter has put into it.
        private var counts = PerTrack<Int>()

        init(
            number: Int, originNanoseconds: Int64, isOffGrid: Bool, endNanoseconds: Int64
        ) {
            self.number = number
            self.originNanoseconds = originNanoseconds
            self.isOffGrid = isOffGrid
            self.endNanoseconds = endNanoseconds
        }

        mutating func note(_ piece: PlannedPiece) {
            for run in piece.runs {
                if let last = run.samples.last { note(run.track, dts: last.dts) }
                counts[run.track] = (counts[run.track] ?? 0) + run.samples.count
            }
        }

        mutating func note(_ track: TrackKind, dts: Int64) {
            latest[track] = max(latest[track] ?? dts, dts)
        }

        func isEarly(_ sample: PlannedSample, _ track: TrackKind) -> Bool {
            if let latest = latest[track], sample.dts <= latest { return true }
            guard let earliest = earliest[track] else { return false }
            let hasRoom =
                switch track {
                case .audio: sample.flags.contains(.priming)
                case .video: sample.pts >= earliest
                }
            return sample.dts < earliest - (hasRoom ? room[track] ?? 0 : 0)
        }

        /// Whether a sample is the file's first picture, is presented after the file's start, and is decoded before the time
        /// at which the open file begins.
        func lacksRoom(for sample: PlannedSample, _ track: TrackKind) -> Bool {
            guard track == .video, latest[track] == nil, let earliest = earliest[track] else {
                return false
            }
            return sample.flags.contains(.keyframe) && sample.pts >= earliest
                && isEarly(sample, track)
        }

        func isEarly(_ piece: PlannedPiece) -> Bool {
            piece.runs.contains { run in
                run.samples.first.map { isEarly($0, run.track) } ?? false
            }
        }

        /// Whether the pause before a sample is longer than the file's index can express.
        func isFar(_ sample: PlannedSample, _ track: TrackKind) -> Bool {
            latest[track].map {
                sample.dts.clampedSubtracting($0) > FragmentLimits.durationTicks
            } ?? false
        }

        /// Whether the file's index has room for a run: no pause in it is too long, and there are not too many samples.
        func holds(_ run: PlannedRun) -> Bool {
            guard let first = run.samples.first else { return true }
            return !isFar(first, run.track)
                && (counts[run.track] ?? 0) + run.samples.count <= Segmenter.samplesPerFile
        }

        /// Whether a file should end at the next picture at which decoding can start, before it has too many samples.
        var isNearlyFull: Bool { counts.values.contains { $0 > Segmenter.samplesPerFile / 8 * 7 } }
    }

    /// A segment whose pictures are complete, waiting for the last audio before its cut.
    private struct Closing {
        var segment: Segment
        var cutNanoseconds: Int64
        var sinceNanoseconds: Int64
        var number: Int { segment.number }
    }

    /// A separate file for samples that arrived too late for the open one.
    private struct Aside {
        var segment: Segment
        var sinceNanoseconds: Int64
    }

    /// The state of a source's part of a session after an earlier segmenter.
    package struct Resumption: Hashable, Sendable {
        /// Session time of the existing files, nanoseconds, truncated to the milliseconds of their names.
        package var usedOrigins: [Int64]
        /// The file to resume, as the first segment.
        package var open: SegmentPlan?
        /// The ends of the tracks in it.
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
    /// Maximum bytes that may wait for their fragment to be complete. They hold credit: if they were all of a source's
    /// credit, no further sample could arrive to end the fragment.
    package var roomBytes = Int.max
    private var formats: TrackFormats
    /// Formats that apply from the next sample on.
    private var nextFormats: TrackFormats?
    var context: FragmentContext?
    var segment: Segment?
    private var closing: Closing?
    private var aside: Aside?
    /// Audio in a format other than the open file's, until a file can begin with a picture.
    private var waiting: WaitingAudio?
    var pending = PendingFragment()
    /// The milliseconds of session time that are used in file names.
    private var usedMilliseconds: Set<Int64> = []
    private var segmentCount = 0
    var lastVideoEndNanoseconds: Int64?

    /// Creates a segmenter for a source with these tracks.
    package init(settings: SegmenterSettings, formats: [TrackFormat]) {
        self.settings = settings
        self.formats = TrackFormats(formats)
    }

    /// The number of the file that a segmenter resumes.
    package static var resumedSegment: Int { 1 }

    /// Creates a segmenter that resumes the work of an interrupted one.
    package init(settings: SegmenterSettings, formats: [TrackFormat], resuming: Resumption) {
        self.init(settings: settings, formats: formats)
        usedMilliseconds = Set(resuming.usedOrigins.map { $0 / 1_000_000 })
        guard let plan = resuming.open else { return }
        self.formats = TrackFormats(plan.tracks.map(\.format))
        segmentCount = Self.resumedSegment
        var open = Segment(
            number: segmentCount, originNanoseconds: plan.originNanoseconds, isOffGrid: false,
            endNanoseconds: gridEnd(after: plan.originNanoseconds))
        open.isOpen = true
        open.earliest = Self.earliest(plan)
        for (track, end) in resuming.ends { open.note(track, dts: end.dtsTicks) }
        segment = open
    }

    /// The memory use of samples that wait for their fragment to be complete.
    package var pendingAmount: MediaAmount {
        var amount = pending.pieces.amount()
        if let waiting { amount += waiting.pieces.amount() }
        return amount
    }

    /// Maximum size of a fragment at present.
    var fragmentBytes: Int { min(settings.fragmentBytes, roomBytes) }

    /// The present tracks.
    package var tracks: [TrackFormat] { formats.all }

    /// The tracks from the next sample on.
    package var upcomingTracks: [TrackFormat] { nextFormats?.all ?? formats.all }

    /// Sets the tracks' formats; when they differ, the next sample begins a file.
    package mutating func setFormats(_ new: [TrackFormat]) {
        let upcoming = TrackFormats(new)
        nextFormats = upcoming == formats && waiting == nil ? nil : upcoming
        if segment == nil { adoptFormats() }
    }

    /// Begins a file with the next sample at which decoding can start: its times do not continue those before it.
    package mutating func beginFile() {
        if segment != nil { nextFormats = nextFormats ?? formats }
    }

    private mutating func adoptFormats() {
        if let nextFormats { formats = nextFormats }
        nextFormats = nil
    }

    /// Adds one piece, whose samples follow the previous ones.
    /// - Parameter now: the caller's monotonic clock, nanoseconds.
    package mutating func add(
        _ piece: PlannedPiece, context new: FragmentContext, now: Int64
    ) -> [Action] {
        var actions: [Action] = []
        if let context, context.spool != new.spool || context.epoch != new.epoch {
            beginWithWaiting(into: &actions)
            closePending(isPause: true, into: &actions)
        }
        context = new
        if firstBreak(in: piece) == nil {
            addPart(piece, now: now, to: &actions)
        } else {
            for part in split(piece) { addPart(part, now: now, to: &actions) }
        }
        return actions
    }

    private mutating func addPart(
        _ piece: PlannedPiece, now: Int64, to actions: inout [Action]
    ) {
        if let waiting, waiting.formats != nextFormats { beginWithWaiting(into: &actions) }
        if !isChanging(.audio), formats.contains(.video), lastVideoEndNanoseconds != nil,
            let sound = piece.runs.first(where: { $0.track == .audio }),
            segment?.holds(sound) == false
        {
            // As with a format change: the next file begins with a picture at which decoding can start.
            nextFormats = nextFormats ?? formats
        }
        if isOnlyAudioChanging {
            changeAudio(with: piece, now: now, to: &actions)
        } else {
            place([piece], now: now, to: &actions)
        }
    }

    /// Puts pieces into their files, in the known formats.
    private mutating func place(
        _ pieces: [PlannedPiece], now: Int64, to actions: inout [Action]
    ) {
        var pieces = pieces
        if let closing {
            if pieces.contains(where: hasChangedAudio) {
                // All audio in the old format has arrived.
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
            closePending(next: first, now: now, into: &actions)
            // This may have opened the file, which determines its start.
            pieces = setAside(pieces, from: segment, now: now, to: &actions)
        }
        for piece in pieces { append(piece, now: now) }
    }

    /// The next time at which ``tick(now:)`` has an effect, if nothing else happens before; nil: none. On the caller's
    /// clock.
    package var dueNanoseconds: Int64? {
        var due: Int64?
        func add(_ since: Int64?, _ patience: Int64) {
            guard let end = since?.clampedAdding(patience) else { return }
            due = min(due ?? end, end)
        }
        add(pending.sinceNanoseconds, settings.idleNanoseconds)
        add(closing?.sinceNanoseconds, settings.soundPatienceNanoseconds)
        add(aside?.sinceNanoseconds, settings.stragglerNanoseconds)
        add(waiting?.sinceNanoseconds, settings.videoPatienceNanoseconds)
        return due
    }

    /// Writes samples that have waited too long: an agent that has stopped sending must not leave a second of media in
    /// memory.
    package mutating func tick(now: Int64) -> [Action] {
        guard let dueNanoseconds, now >= dueNanoseconds else { return [] }
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
            closePending(isPause: true, into: &actions)
        }
        return actions
    }

    /// Writes the fragment as it is, and leaves every file open for a segmenter that resumes the work.
    ///
    /// Audio whose file is known only with the next picture is left out, and so is audio that waits for a new format: it is
    /// not acknowledged, and the agent sends it again.
    package mutating func suspend() -> [Action] {
        var actions: [Action] = []
        if let segment, let videoEnd = lastVideoEndNanoseconds {
            let isNear = videoEnd + settings.fragmentNanoseconds >= segment.endNanoseconds
            _ = takeAudio(from: isNear ? videoEnd : segment.endNanoseconds)
        }
        closePending(into: &actions)
        return actions
    }

    /// Closes the fragment and every file: the source or the session has ended.
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
    /// The instant at which this piece begins another file, if it does.
    private func cut(at piece: PlannedPiece) -> Int64? {
        guard let segment else { return nil }
        if let run = piece.runs.first(where: { !isChanging($0.track) && !segment.holds($0) }) {
            return run.samples.first.map { nanoseconds($0.pts, run.track) }
        }
        if nextFormats != nil {
            let changed = piece.runs.first { isChanging($0.track) }
                .flatMap { run in
                    run.samples.first.map { upcomingNanoseconds($0.pts, run.track) }
                }
            return [changed, soundAfterPause(piece)].compactMap { $0 }.min()
        }
        if let video = piece.runs.first(where: { $0.track == .video })?.samples.first {
            guard video.flags.contains(.keyframe) else { return nil }
            let instant = nanoseconds(video.pts, .video)
            return segment.isNearlyFull || segment.lacksRoom(for: video, .video)
                || instant + settings.toleranceNanoseconds >= segment.endNanoseconds
                ? instant : nil
        }
        // Audio alone determines the cut without pictures, or when pictures have stopped.
        var end = segment.endNanoseconds
        if formats.contains(.video) { end += settings.videoPatienceNanoseconds }
        for run in piece.runs {
            for sample in run.samples where nanoseconds(sample.pts, run.track) >= end {
                return nanoseconds(sample.pts, run.track)
            }
        }
        return nil
    }

    /// The time at which a piece's audio continues after a pause, if it does, and no picture of the open file is later.
    ///
    /// An agent that reconnects with other pictures begins with audio that is a little earlier. It is not contiguous
    /// with the open file's audio, whose last packet would have to be extended to it. It belongs to the following
    /// pictures.
    private func soundAfterPause(_ piece: PlannedPiece) -> Int64? {
        guard !isChanging(.audio), var last = segment?.latest[.audio],
            let run = piece.runs.first(where: { $0.track == .audio })
        else { return nil }
        for sample in run.samples {
            let instant = nanoseconds(sample.pts, .audio)
            if nanoseconds(sample.dts.clampedSubtracting(last), .audio)
                >= settings.soundPauseNanoseconds, instant >= lastVideoEndNanoseconds ?? .min
            {
                return instant
            }
            last = sample.dts
        }
        return nil
    }

    /// Ends the file at `cut` and begins the next one there.
    private mutating func divide(
        at cut: Int64, with pieces: [PlannedPiece], now: Int64, to actions: inout [Action]
    ) {
        let startsAnew = nextFormats != nil
        let isAfterPause = startsAnew && pieces.contains { soundAfterPause($0) != nil }
        // A cut slightly before the next file's start: audio in between belongs to the previous file.
        let origin = place(of: cut, offGrid: startsAnew)
        let soundCut = max(cut, min(origin, cut + settings.toleranceNanoseconds))
        // Audio in different formats cannot share a file; audio in an unchanged format is cut, however late it arrives.
        let isAudioNew = isChanging(.audio)
        let carried = isAudioNew ? [] : takeAudio(from: soundCut)
        var after: [PlannedPiece] = []
        for piece in pieces {
            let parts = piece.divided { track, sample in
                track == .video || isAudioNew || nanoseconds(sample.pts, track) >= soundCut
            }
            for straggler in parts.before { append(straggler, now: now) }
            after += parts.after
        }
        // Samples after a pause do not determine the duration of the last samples before it.
        let next = isAfterPause ? nil : after.first.flatMap(inPresentFormats)
        // Sound that was ahead of the pictures is in the next file, and follows the last packet of this one.
        let following = carried + (next.map { [$0] } ?? [])
        closePending(
            next: next, following: following, isPause: isAfterPause, now: now, into: &actions)
        if let closing { actions.append(.finish(segment: closing.number)) }
        closing = nil
        if let old = segment, old.isOpen {
            let soundPassed = (carried + after).contains { $0.runs.contains { $0.track == .audio } }
            if !formats.contains(.audio) || soundPassed || isAudioNew {
                actions.append(.finish(segment: old.number))
            } else {
                closing = Closing(
                    segment: old, cutNanoseconds: soundCut, sinceNanoseconds: now)
            }
        }
        // Samples that arrive late from now on are in ticks of the new formats.
        if startsAnew { finishAside(into: &actions) }
        adoptFormats()
        begin(at: cut, offGrid: startsAnew)
        if let first = after.first { after[0] = settled(first, cut: cut) }
        appendAll(carried + after, now: now, into: &actions)
    }

    /// Adds pieces to the open file; a piece that it cannot contain begins another file.
    private mutating func appendAll(
        _ pieces: [PlannedPiece], now: Int64, into actions: inout [Action]
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

    /// Adds audio from before the cut to the previous file immediately; returns the rest.
    private mutating func feed(
        _ closing: Closing, _ pieces: [PlannedPiece], now: Int64,
        to actions: inout [Action]
    ) -> [PlannedPiece] {
        var before: [PlannedPiece] = []
        var after: [PlannedPiece] = []
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

    /// Whether the open file cannot contain a track's next samples, whose times may be in ticks of another timescale.
    private func isChanging(_ track: TrackKind) -> Bool {
        guard let nextFormats else { return false }
        return nextFormats[track] != formats[track]
    }

    private func hasChangedAudio(_ piece: PlannedPiece) -> Bool {
        isChanging(.audio) && piece.runs.contains { $0.track == .audio }
    }

    /// The part of a piece that is in the open file's formats, for its times only; nil when there is none.
    private func inPresentFormats(_ piece: PlannedPiece) -> PlannedPiece? {
        var present = piece
        present.runs.removeAll { isChanging($0.track) }
        return present.runs.isEmpty ? nil : present
    }

    /// Whether pictures continue in the open file's format and audio does not. The next file then begins with a picture at which
    /// decoding can start, because readers would skip the pictures before it.
    private var isOnlyAudioChanging: Bool {
        guard let nextFormats, segment != nil, lastVideoEndNanoseconds != nil else { return false }
        return formats.contains(.video) && nextFormats[.video] == formats[.video]
    }

    /// Holds audio in the new format until there is such a picture; pictures continue in their file.
    private mutating func changeAudio(
        with piece: PlannedPiece, now: Int64, to actions: inout [Action]
    ) {
        // All audio in the old format has arrived.
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
        if let waiting, waiting.sizeBytes > fragmentBytes {
            beginWithWaiting(into: &actions)
        }
    }

    /// Ends the open file, and begins one with the held audio and the picture that it waited for.
    private mutating func beginWithWaiting(
        _ pictures: [PlannedPiece] = [], into actions: inout [Action]
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

    /// Makes an off-grid file begin with its earliest presented sample: of two tracks in a new format, the second may arrive
    /// later and be earlier.
    mutating func settle(_ segment: inout Segment, with pieces: [PlannedPiece]) {
        guard segment.isOffGrid, let first = pieces.map(firstPresented).min(),
            first < segment.originNanoseconds
        else { return }
        usedMilliseconds.remove(segment.originNanoseconds / 1_000_000)
        let origin = place(of: first, offGrid: true)
        segment.originNanoseconds = min(origin, segment.originNanoseconds)
        usedMilliseconds.insert(segment.originNanoseconds / 1_000_000)
    }

    /// The origin of a file that begins with the samples at `instant`.
    private func place(of instant: Int64, offGrid: Bool) -> Int64 {
        var origin = gridEnd(after: instant) - settings.segmentNanoseconds
        if offGrid || isUsed(origin) { origin = instant }
        // Two files of one source never have the same name.
        while isUsed(origin) { origin += 1_000_000 }
        return origin
    }

    /// The grid's first instant after this one.
    private func gridEnd(after instant: Int64) -> Int64 {
        let length = settings.segmentNanoseconds
        // Two clocks agree to within their bounds, not to the nanosecond: an instant slightly before a boundary counts as at it.
        let settled = instant + settings.toleranceNanoseconds
        var index = settled / length
        if settled % length < 0 { index -= 1 }
        return (index + 1) * length
    }

    /// Whether a file already has this origin's name. Names have milliseconds of UTC, and the session's zero shifts the
    /// beginnings of these milliseconds: an origin that is less than a millisecond away may have the same name.
    private func isUsed(_ origin: Int64) -> Bool {
        let millisecond = origin / 1_000_000
        return (millisecond - 1...millisecond + 1).contains { usedMilliseconds.contains($0) }
    }

    /// The first piece of a file, changed so that its first picture is not presented before the file begins: readers
    /// would skip it, and every joint would lack a picture. The picture is moved by less than the tolerance, or to the start of a
    /// file whose first choice of name was in use; its fragment's bound includes that, and its stamp remains in the record.
    /// - Parameter cut: the instant at which the file was to begin.
    private func settled(_ piece: PlannedPiece, cut: Int64? = nil) -> PlannedPiece {
        guard let segment, let scale = formats.scales[.video],
            let run = piece.runs.firstIndex(where: { $0.track == .video }),
            let first = piece.runs[run].samples.first
        else { return piece }
        let origin = ticks(segment.originNanoseconds, scale)
        let distance = cut.map { segment.originNanoseconds - $0 } ?? 0
        let hair = ticks(max(settings.toleranceNanoseconds, distance), scale) + 1
        guard first.pts < origin, origin - first.pts <= hair else { return piece }
        var moved = piece
        moved.runs[run].samples[0].pts = origin
        moved.movedNanoseconds = nanoseconds(origin - first.pts, .video).magnitude
        return moved
    }

    /// Puts samples that are too early for the open file into a separate file, and returns the rest.
    ///
    /// A file's media timeline begins where its first fragment made it begin. Samples that arrive later and are before
    /// that (audio that was delayed by more than ``SegmenterSettings/soundPatienceNanoseconds``, or by a crash) must
    /// neither be lost nor stop the file.
    /// - Parameter orFar: whether to include samples after a pause that the file's index cannot express: a file that
    ///   only waits for its last audio does not continue after such a pause.
    private mutating func setAside(
        _ pieces: [PlannedPiece], from file: Segment?, orFar: Bool = false, now: Int64,
        to actions: inout [Action]
    ) -> [PlannedPiece] {
        func isEarly(_ sample: PlannedSample, _ track: TrackKind) -> Bool {
            // Such a picture begins a file, with the pictures that depend on it.
            guard let file, !isChanging(track), !file.lacksRoom(for: sample, track) else {
                return false
            }
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
        var early: [PlannedPiece] = []
        var rest: [PlannedPiece] = []
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

    /// Divides a piece so that keyframes, and pauses that no index can express, are only at the start of a part.
    private func split(_ piece: PlannedPiece) -> [PlannedPiece] {
        var parts: [PlannedPiece] = []
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

    /// The first position at which a piece has to be divided.
    private func firstBreak(
        in piece: PlannedPiece
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

    /// Maximum samples of a track in one file: what readers of its index accept.
    fileprivate static var samplesPerFile: Int { Int(SampleTable.maximumSamples) }

    func firstPresented(_ piece: PlannedPiece) -> Int64 {
        var earliest: Int64?
        for run in piece.runs {
            guard let last = run.samples.last else { continue }
            // A run of only priming begins at the presentation directly after it.
            let first = run.samples.first { !$0.flags.contains(.priming) }
            let instant = nanoseconds(first?.pts ?? last.pts + last.duration, run.track)
            earliest = min(earliest ?? instant, instant)
        }
        return max(earliest ?? 0, settings.presentedFromNanoseconds ?? .min)
    }
}

// MARK: - Times

extension Segmenter {
    /// Converts a track's ticks to nanoseconds, with the timescale of the next samples.
    package func upcomingNanoseconds(_ ticks: Int64, _ track: TrackKind) -> Int64 {
        let scale = nextFormats == nil ? formats.scales[track] : nextFormats?.scales[track]
        return (scale ?? .video).nanoseconds(ticks)
    }

    /// Converts a track's ticks to nanoseconds, with the timescale of the open file.
    func nanoseconds(_ ticks: Int64, _ track: TrackKind) -> Int64 {
        let scale = formats.scales[track] ?? nextFormats?.scales[track]
        return (scale ?? .video).nanoseconds(ticks)
    }

    func ticks(_ nanoseconds: Int64, _ scale: Timescale) -> Int64 {
        saturatingRescale(nanoseconds, from: .nanoseconds, to: scale)
    }
}
