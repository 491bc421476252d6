package import Archive
package import Media

/// Reads a source's samples, with video and audio merged by decoding time.
///
/// Audio and video of the same time are at most two fragments apart. If a track pauses, the other one waits for it at most
/// ``patienceNanoseconds``. Buffered samples are bounded by that, and by the pictures since the last keyframe while seeking to
/// ``from``.
package struct SampleReader {
    /// More than the maximum lag of audio in a file (two fragments).
    static let patienceNanoseconds: Int64 = 4_000_000_000

    private var fragments: FragmentReader
    private let from: Int64?
    private let to: Int64?
    private let tracks: Set<TrackKind>
    private var queues: [TrackKind: SampleQueue] = [:]
    /// Tracks of the files so far.
    private var known: Set<TrackKind> = []
    private var newestNanoseconds = Int64.min
    private var isAtEnd = false
    /// Pictures since the last keyframe at or before `from`.
    private var lead: [RecordedSample]? = []
    /// Pictures of a file that starts at or after `to`, up to one that is presented before `to`.
    private var tail: [RecordedSample] = []
    /// The last picture in file order.
    private var last: RecordedSample?
    /// The file of the last picture continues the previous one without a gap, so that its leading pictures can be decoded.
    private var isContinued = false

    /// - Parameters:
    ///   - from: session time, nanoseconds. Video starts with the last keyframe presented at or before it, or else with the first
    ///     keyframe; audio with the packet that is presented then.
    ///   - to: pictures decoded at or after it are omitted, and audio presented at or after it.
    ///   - tracks: the tracks to read.
    package init(
        _ source: RecordedSource, from: Int64? = nil, to: Int64? = nil,
        tracks: Set<TrackKind> = Set(TrackKind.allCases)
    ) {
        self.init(
            FragmentReader(source, from: from, to: to), from: from, to: to, tracks: tracks)
    }

    /// - Parameter fragments: limited to `to`; fragments before `from` may have been skipped.
    package init(
        _ fragments: FragmentReader, from: Int64?, to: Int64? = nil,
        tracks: Set<TrackKind> = Set(TrackKind.allCases)
    ) {
        self.fragments = fragments
        self.from = from
        self.to = to
        self.tracks = tracks
        if from == nil { lead = nil }
    }

    /// - Returns: the next sample; nil at the end.
    package mutating func next() throws(ArchiveError) -> RecordedSample? {
        while true {
            if let sample = takeDue() { return sample }
            guard !isAtEnd else { return nil }
            guard let fragment = try fragments.next() else {
                end()
                continue
            }
            takeIn(fragment)
            if let to, newestNanoseconds >= to.addingClamped(Self.patienceNanoseconds) { end() }
        }
    }

    private mutating func end() {
        isAtEnd = true
        // Nothing of the recording is presented at or after `from`.
        if let from, lead?.contains(where: { $0.endNanoseconds > from }) == false { lead = nil }
        flushLead()
    }

    private mutating func takeIn(_ fragment: RecordedFragment) {
        known.formUnion(fragment.file.formats.map(\.kind))
        for sample in fragment.samples where tracks.contains(sample.track) {
            newestNanoseconds = max(newestNanoseconds, sample.dtsNanoseconds)
            switch sample.track {
            case .video:
                // Later pictures that are presented earlier may reference this one.
                let picture = joined(sample)
                if let to, picture.dtsNanoseconds >= to { continue }
                takeIn(limited: picture)
            case .audio:
                if let to, sample.ptsNanoseconds >= to { continue }
                if let from, sample.endNanoseconds <= from { continue }
                append(sample)
            }
        }
    }

    /// The picture, which is not hidden if the previous file has its references (open GOPs); otherwise the file's first one begins anew.
    private mutating func joined(_ sample: RecordedSample) -> RecordedSample {
        var joined = sample
        if let last, last.file !== sample.file {
            let gap = sample.dtsNanoseconds.clampedSubtracting(
                last.dtsNanoseconds.clampedAdding(last.durationNanoseconds))
            isContinued =
                gap.magnitude <= last.durationNanoseconds.magnitude
                && last.file.format(.video) == sample.file.format(.video)
            joined.beginsAnew = !isContinued && sample.flags.contains(.keyframe)
        }
        last = sample
        if isContinued, sample.isHidden, !sample.flags.contains(.priming) {
            joined.isHidden = false
        }
        return joined
    }

    /// Keeps only what the leading pictures of a file that starts at or after `to` reference.
    private mutating func takeIn(limited picture: RecordedSample) {
        guard let to, let origin = picture.file.originNanoseconds, origin >= to else {
            return takeIn(picture: picture)
        }
        tail.append(picture)
        guard picture.ptsNanoseconds < to else { return }
        for held in tail { takeIn(picture: held) }
        tail = []
    }

    private mutating func takeIn(picture: RecordedSample) {
        guard lead != nil, let from else { return append(picture) }
        if picture.flags.contains(.keyframe) {
            if picture.ptsNanoseconds <= from {
                lead = [picture]
                return
            }
            flushLead()
            return append(picture)
        }
        // Pictures before the first keyframe cannot be decoded.
        if lead?.isEmpty == false { lead?.append(picture) }
        // PTS is not before DTS: no later keyframe is presented before `from`.
        if picture.dtsNanoseconds >= from, lead?.isEmpty == false { flushLead() }
    }

    private mutating func flushLead() {
        let pictures = lead ?? []
        lead = nil
        for picture in pictures { append(picture) }
    }

    private mutating func append(_ sample: RecordedSample) {
        queues[sample.track, default: SampleQueue()].insert(sample)
    }

    /// The queued sample with the lowest decoding time, if no earlier one can follow.
    private mutating func takeDue() -> RecordedSample? {
        var due: (track: TrackKind, time: Int64)?
        var isMissing = false
        for track in TrackKind.allCases where known.contains(track) && tracks.contains(track) {
            guard let first = queues[track]?.first else {
                isMissing = true
                continue
            }
            let time = first.dtsNanoseconds
            if due.map({ time < $0.time }) ?? true { due = (track, time) }
        }
        guard let due else { return nil }
        let isLate = newestNanoseconds >= due.time.addingClamped(Self.patienceNanoseconds)
        // Audio waits until the keyframe before `from` is known.
        guard isAtEnd || isLate && lead == nil || !isMissing else { return nil }
        return queues[due.track]?.popFirst()
    }
}

/// Queued samples of one track in decoding order.
private struct SampleQueue {
    private var samples: [RecordedSample] = []
    private var head = 0

    var first: RecordedSample? { head < samples.count ? samples[head] : nil }

    mutating func insert(_ sample: RecordedSample) {
        var place = samples.count
        // Late audio is in a separate file.
        while place > head, samples[place - 1].dtsTicks > sample.dtsTicks,
            samples[place - 1].timescale == sample.timescale
        {
            place -= 1
        }
        samples.insert(sample, at: place)
    }

    mutating func popFirst() -> RecordedSample? {
        guard let first else { return nil }
        head += 1
        if head == samples.count || head >= 1_024 {
            samples.removeFirst(head)
            head = 0
        }
        return first
    }
}

extension Int64 {
    /// Saturating addition.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
