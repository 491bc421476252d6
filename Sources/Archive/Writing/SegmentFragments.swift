import Media
import MP4

// Forms fragments from the pieces of a file.

extension Segmenter {
    func mustClose(before piece: PlannedPiece) -> Bool {
        guard !pending.pieces.isEmpty else { return false }
        return isKeyframe(piece) || span(with: piece) > settings.fragmentNanoseconds
            || pending.samples + piece.samples > FragmentLimits.samples
            || pending.pieces.count >= FragmentRecord.maximumPieces
            || pending.sizeBytes + piece.range.count > fragmentBytes
    }

    mutating func append(_ piece: PlannedPiece, now: Int64) {
        pending.pieces.append(piece)
        segment?.note(piece)
        pending.sizeBytes += piece.range.count
        pending.samples += piece.samples
        pending.add(context, moved: piece.movedNanoseconds)
        if pending.sinceNanoseconds == nil { pending.sinceNanoseconds = now }
        for run in piece.runs {
            guard let first = run.samples.first, let last = run.samples.last else { continue }
            if pending.startNanoseconds[run.track] == nil {
                pending.startNanoseconds[run.track] = nanoseconds(first.dts, run.track)
            }
            if run.track == .video {
                lastVideoEndNanoseconds = nanoseconds(last.dts + last.duration, .video)
            }
        }
    }

    /// Removes audio at or after an instant from the pending fragment.
    mutating func takeAudio(from instant: Int64) -> [PlannedPiece] {
        var kept: [PlannedPiece] = []
        var taken: [PlannedPiece] = []
        // The decoding order is preserved.
        var hasTaken = false
        for piece in pending.pieces {
            let parts = piece.divided { track, sample in
                guard track == .audio else { return false }
                hasTaken = hasTaken || nanoseconds(sample.pts, track) >= instant
                return hasTaken
            }
            kept += parts.before
            taken += parts.after
        }
        if !taken.isEmpty {
            pending.pieces = kept
            pending.sizeBytes = kept.reduce(0) { $0 + $1.range.count }
            pending.samples = kept.reduce(0) { $0 + $1.samples }
        }
        return taken
    }

    /// Writes the pending fragment, if there is one.
    /// - Parameters:
    ///   - next: the piece that follows.
    ///   - following: the pieces that follow, which determine the duration of the last samples; nil: `next`.
    ///   - now: from which sound waits that is kept for the next fragment; nil: it has waited since the fragment began.
    ///   - isPause: whether no samples follow for now. Audio that ends slightly before the pictures is then extended to
    ///     their end: at a pause, some players (Chromium's HLS) wait forever for the audio of the last pictures.
    mutating func closePending(
        next: PlannedPiece? = nil, following: [PlannedPiece]? = nil, isPause: Bool = false,
        now: Int64? = nil, into actions: inout [Action]
    ) {
        guard !pending.pieces.isEmpty, let context = pending.context, var current = segment else {
            return
        }
        var carried: [PlannedPiece] = []
        let since = now ?? pending.sinceNanoseconds
        if let next, let videoEnd = lastVideoEndNanoseconds, awaitsPictures(after: videoEnd) {
            if !isKeyframe(next), videoEnd + settings.fragmentNanoseconds >= current.endNanoseconds
            {
                carried = takeAudio(from: videoEnd)
            } else if following == nil {
                // Sound far ahead of the pictures: its file is known with the picture that begins the next one.
                carried = takeAudio(from: current.endNanoseconds)
            }
        }
        var pieces = pending.pieces
        pending = PendingFragment()
        if !pieces.isEmpty {
            setDurations(&pieces, next: carried + (following ?? next.map { [$0] } ?? []))
            if isPause { prolongSound(of: &pieces) }
            if !current.isOpen {
                let known = pieces + (next.map { [$0] } ?? [])
                settle(&current, with: known)
                if settings.presentedFromNanoseconds == nil {
                    for format in tracks
                    where !known.contains(where: { $0.runs.contains { $0.track == format.kind } }) {
                        current.room[format.kind] = room(for: format)
                    }
                }
                let plan = plan(current, pieces, next: next)
                current.isOpen = true
                current.earliest = Self.earliest(plan, room: current.room)
                segment = current
                actions.append(.open(segment: current.number, plan))
            }
            for fragment in fragments(of: pieces, context) {
                actions.append(.append(segment: current.number, fragment))
            }
        }
        for piece in carried { append(piece, now: since ?? 0) }
    }

    /// Whether the pending fragment's sound may wait for the pictures of its time: they have not stopped, and the sound
    /// needs little memory.
    private func awaitsPictures(after videoEnd: Int64) -> Bool {
        if pending.pieces.contains(where: { $0.runs.contains { $0.track == .video } }) {
            return true
        }
        guard pending.sizeBytes <= fragmentBytes / 2,
            let (piece, run) = lastRun(of: .audio, in: pending.pieces),
            let sound = pending.pieces[piece].runs[run].samples.last
        else { return false }
        let lead = nanoseconds(sound.dts, .audio).clampedSubtracting(videoEnd)
        return lead <= settings.videoPatienceNanoseconds
    }

    /// Writes a fragment of these pieces immediately, into a file other than the open one.
    func appendNow(
        _ pieces: [PlannedPiece], to segment: Int, into actions: inout [Action]
    ) {
        guard !pieces.isEmpty, let context else { return }
        var pieces = pieces
        setDurations(&pieces, next: [])
        for fragment in fragments(of: pieces, context) {
            actions.append(.append(segment: segment, fragment))
        }
    }

    /// Pieces as one fragment, or as several when readers would reject one: audio that has waited for a picture arrives
    /// all together.
    private func fragments(
        of pieces: [PlannedPiece], _ context: FragmentContext
    ) -> [FragmentPlan] {
        var plans: [FragmentPlan] = []
        var rest = FragmentPlan(context: context, pieces: [])
        var samples = 0
        for piece in pieces {
            if !rest.pieces.isEmpty,
                samples + piece.samples > FragmentLimits.samples
                    || rest.pieces.count >= FragmentRecord.maximumPieces
            {
                plans.append(rest)
                rest.pieces.removeAll()
                // Clock exchanges are recorded once.
                rest.context.exchanges.removeAll()
                samples = 0
            }
            rest.pieces.append(piece)
            samples += piece.samples
        }
        return plans + [rest]
    }

    /// The file's description: tracks, and the shift of each media timeline so that no DTS is negative.
    /// - Parameter next: the pieces after the first fragment, which may contain the first audio.
    func plan(
        _ segment: Segment, _ pieces: [PlannedPiece], next: PlannedPiece? = nil
    ) -> SegmentPlan {
        // In case of hidden content, a track may begin after the first fragment, and long before the file's start.
        let hidden = settings.presentedFromNanoseconds.flatMap { _ in
            pieces.flatMap(\.runs).compactMap { run in
                run.samples.first.map { nanoseconds($0.dts, run.track) }
            }.min()
        }
        let tracks = tracks.map { format in
            let origin = ticks(segment.originNanoseconds, format.timescale)
            func first(_ piece: PlannedPiece) -> Int64? {
                piece.runs.compactMap { $0.track == format.kind ? $0.samples.first?.dts : nil }
                    .min()
            }
            let patience = ticks(settings.stragglerNanoseconds, format.timescale)
            let later = next.flatMap(first).flatMap { $0 >= origin - patience ? $0 : nil }
            let first = (pieces.compactMap(first) + [later].compactMap(\.self)).min()
            let start = first ?? hidden.map { ticks($0, format.timescale) }
            let shift = max(0, origin - (start ?? origin)) + (segment.room[format.kind] ?? 0)
            return SegmentPlan.Track(format: format, originTicks: origin, shiftTicks: shift)
        }
        return SegmentPlan(originNanoseconds: segment.originNanoseconds, tracks: tracks)
    }

    /// The earliest decoding time of each track, without the `room` that its file has before it.
    static func earliest(
        _ plan: SegmentPlan, room: PerTrack<Int64> = PerTrack()
    ) -> PerTrack<Int64> {
        PerTrack(
            uniqueKeysWithValues: plan.tracks.map {
                ($0.format.kind, $0.originTicks - $0.shiftTicks + (room[$0.format.kind] ?? 0))
            })
    }

    /// Ticks that a file reserves before its start for a track that has not begun when the file is opened. Otherwise its
    /// first sample would begin another file.
    private func room(for format: TrackFormat) -> Int64 {
        switch format {
        case .audio(let audio): return audio.codec.coding.maximumEncoderDelayFrames
        case .video(let video):
            // The first picture is decoded earlier than it is presented, by one picture for each reordered one.
            let reordered: UInt32
            do throws(BitstreamError) {
                reordered = try video.maximumReorderedFrames() ?? 2
            } catch {
                // A file begins with the first picture, if it needs room.
                reordered = 0
            }
            return ticks(Int64(reordered) * 500_000_000, format.timescale)
        }
    }

    /// Sets each sample's duration to its distance from the next one, where that is known.
    private func setDurations(
        _ pieces: inout [PlannedPiece], next: [PlannedPiece]
    ) {
        for track in TrackKind.allCases {
            var following = firstDTS(of: track, in: next)
            for piece in pieces.indices.reversed() {
                for run in pieces[piece].runs.indices.reversed()
                where pieces[piece].runs[run].track == track {
                    pieces[piece].runs[run].samples.withUnsafeMutableBufferPointer { samples in
                        for index in samples.indices.reversed() {
                            let dts = samples[index].dts
                            if let following, following > dts,
                                following - dts <= FragmentLimits.durationTicks
                            {
                                samples[index].duration = following - dts
                            }
                            following = dts
                        }
                    }
                }
            }
        }
    }

    /// Extends the last audio to the end of the last picture, if that is within a short time.
    private func prolongSound(of pieces: inout [PlannedPiece]) {
        guard let scale = tracks.first(where: { $0.kind == .audio })?.timescale,
            let (piece, run) = lastRun(of: .audio, in: pieces),
            let (shown, pictures) = lastRun(of: .video, in: pieces),
            let picture = pieces[shown].runs[pictures].samples.last,
            let sound = pieces[piece].runs[run].samples.last
        else { return }
        let missing =
            ticks(nanoseconds(picture.dts + picture.duration, .video), scale)
            - (sound.dts + sound.duration)
        guard missing > 0, missing <= ticks(settings.soundPauseNanoseconds, scale) else { return }
        let last = pieces[piece].runs[run].samples.count - 1
        pieces[piece].runs[run].samples[last].duration += missing
    }

    private func lastRun(
        of track: TrackKind, in pieces: [PlannedPiece]
    ) -> (piece: Int, run: Int)? {
        for piece in pieces.indices.reversed() {
            if let run = pieces[piece].runs.lastIndex(where: { $0.track == track }) {
                return (piece, run)
            }
        }
        return nil
    }

    /// The decoding time of a track's first sample.
    private func firstDTS(of track: TrackKind, in pieces: [PlannedPiece]) -> Int64? {
        for piece in pieces {
            for run in piece.runs where run.track == track { return run.samples.first?.dts }
        }
        return nil
    }

    func isKeyframe(_ piece: PlannedPiece) -> Bool {
        DecodingStart.isPossible(
            at: piece.runs.first { $0.track == .video }?.samples.first?.flags, hasVideo: true)
    }

    /// The duration of the pending fragment with this piece: of its pictures, or of its audio without pictures.
    private func span(with piece: PlannedPiece) -> Int64 {
        for track in TrackKind.allCases {
            if let start = pending.startNanoseconds[track],
                let last = piece.runs.first(where: { $0.track == track })?.samples.last
            {
                return nanoseconds(last.dts + last.duration, track) - start
            }
        }
        return 0
    }
}
