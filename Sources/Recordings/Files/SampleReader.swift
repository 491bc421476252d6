package import Archive
package import Media

/// Reads a source's samples, picture and sound merged in the order of their decoding times.
///
/// In a file, sound and pictures of one instant lie within a fragment or two of each other; where one of them pauses, the
/// other is waited for no longer than ``patienceNanoseconds``. That, and the pictures since the last keyframe while ``from`` is
/// looked for, is all that is in memory.
package struct SampleReader {
    /// Longer than sound can lag behind in a file (two fragments).
    static let patienceNanoseconds: Int64 = 4_000_000_000

    private var fragments: FragmentReader
    private let from: Int64?
    private let to: Int64?
    private let tracks: Set<TrackKind>
    private var queues: [TrackKind: SampleQueue] = [:]
    /// Tracks that the files so far have.
    private var known: Set<TrackKind> = []
    private var newestNanoseconds = Int64.min
    private var isAtEnd = false
    /// Pictures since the last keyframe at or before `from`.
    private var lead: [RecordedSample]? = []
    /// Pictures of a file that begins at `to` or later, until one of them is presented before `to`.
    private var tail: [RecordedSample] = []
    /// The last picture in the order of the files.
    private var last: RecordedSample?
    /// Whether the file of the last picture goes on where the one before ended, so that its leading pictures can be decoded.
    private var isContinued = false

    /// - Parameters:
    ///   - from: session time, nanoseconds. Pictures begin with the last keyframe that is presented at or before it, or the first there is;
    ///     sound with the packet that is heard then.
    ///   - to: pictures that are decoded then or later are left out, and sound that is heard then or later.
    ///   - tracks: those that are read.
    package init(
        _ source: RecordedSource, from: Int64? = nil, to: Int64? = nil,
        tracks: Set<TrackKind> = Set(TrackKind.allCases)
    ) {
        self.init(
            FragmentReader(source, from: from, to: to), from: from, to: to, tracks: tracks)
    }

    /// The same with a reader that has nothing after `to`, and may have skipped what is before `from`.
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

    /// The next sample; nil at the end.
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
        // A recording that ended before has nothing to be shown.
        if let from, lead?.contains(where: { $0.endNanoseconds > from }) == false { lead = nil }
        flushLead()
    }

    private mutating func takeIn(_ fragment: RecordedFragment) {
        known.formUnion(fragment.file.formats.map(\.kind))
        for sample in fragment.samples where tracks.contains(sample.track) {
            newestNanoseconds = max(newestNanoseconds, sample.dtsNanoseconds)
            switch sample.track {
            case .video:
                // Others that are presented before may refer to one that is presented after.
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

    /// The picture; it is not hidden where the file before has what it refers to (open groups).
    private mutating func joined(_ sample: RecordedSample) -> RecordedSample {
        if let last, last.file !== sample.file {
            let gap = sample.dtsNanoseconds.clampedSubtracting(
                last.dtsNanoseconds.clampedAdding(last.durationNanoseconds))
            isContinued =
                gap.magnitude <= last.durationNanoseconds.magnitude
                && last.file.format(.video) == sample.file.format(.video)
        }
        last = sample
        guard isContinued, sample.isHidden, !sample.flags.contains(.priming) else { return sample }
        var shown = sample
        shown.isHidden = false
        return shown
    }

    /// Of a file that begins at `to` or later, only what its leading pictures need.
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
        // Without a keyframe before them, nothing can be done with them.
        if lead?.isEmpty == false { lead?.append(picture) }
        // Presented after they are decoded: no later keyframe is presented before `from`.
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

    /// The earliest sample that is waiting, if none that is earlier can come.
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
        // While the keyframe before `from` is looked for, sound after it waits too.
        guard isAtEnd || isLate && lead == nil || !isMissing else { return nil }
        return queues[due.track]?.popFirst()
    }
}

/// Samples of one track that wait, in the order of their decoding times.
private struct SampleQueue {
    private var samples: [RecordedSample] = []
    private var head = 0

    var first: RecordedSample? { head < samples.count ? samples[head] : nil }

    mutating func insert(_ sample: RecordedSample) {
        var place = samples.count
        // Sound that was late is in a file of its own.
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
    /// The sum, kept within 64 bits.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
