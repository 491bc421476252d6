import Library
import Media
package import Recordings

/// Divides a source's recording into media segments while it grows.
///
/// A segment starts with a fragment at which decoding can start, and ends before the next such fragment: players of growing playlists
/// fail on segments that start between keyframes. Short groups are joined (``GroupJoining``). Audio before a file's first keyframe is
/// part of its first segment; video before it is omitted. The last group of a growing file is omitted until its end is known.
///
/// Listed segments never change. Audio of a file may arrive after the start of the next file, so segments of a file are listed when
/// all previous files are finished.
package struct MediaSegmentation: Sendable {
    /// Length up to which groups are joined.
    package static let targetNanoseconds: Int64 = 4_000_000_000
    /// A longer pause of the main track between two segments is a gap. Shorter ones are late pictures.
    package static let gapNanoseconds: Int64 = 500_000_000

    /// In the order of their origins.
    package private(set) var files: [SegmentFile] = []
    /// In the order of playback; only appended to.
    package private(set) var segments: [MediaSegment] = []
    /// The last of ``files``: those whose segments are not all listed.
    private var open: [FileSegmentation] = []
    private var isClosed = false

    package init() {}

    /// Segments of fragments that were read at once.
    /// - Parameter isGrowing: whether files that are not finished may still grow.
    package init(_ range: PlaybackRange, isGrowing: Bool) {
        for file in range.files {
            guard let index = beginFile(SegmentFile(file.file, key: file.key)) else { continue }
            for fragment in file.fragments { append(FragmentOutline(fragment), toFile: index) }
            if file.file.isFinished { finishFile(index) }
        }
        if !isGrowing { finish() }
    }

    /// No more segments will be added.
    package var isFinished: Bool { isClosed && open.isEmpty }

    /// The index of a file.
    package func index(ofFile name: String) -> Int? { files.lastIndex { $0.name == name } }

    /// Begins a file.
    /// - Returns: its index; nil when it begins before one that is known: a growing playlist is only appended to (RFC 8216
    ///   §6.2.1). Such a file (of a box that had been offline) is in the playlist that is made when the session is finished.
    package mutating func beginFile(_ file: SegmentFile) -> Int? {
        guard !isClosed, file.originNanoseconds >= files.last?.originNanoseconds ?? .min else {
            return nil
        }
        let index = files.count
        files.append(file)
        open.append(FileSegmentation(index, originNanoseconds: file.originNanoseconds))
        return index
    }

    /// Appends a fragment. One that was appended before, and one of a finished file, changes nothing.
    package mutating func append(_ fragment: FragmentOutline, toFile index: Int) {
        guard let place = place(ofFile: index) else { return }
        open[place].append(fragment)
        release()
    }

    /// The file is complete: its last group is a segment too.
    package mutating func finishFile(_ index: Int) {
        guard let place = place(ofFile: index) else { return }
        open[place].finish()
        release()
    }

    /// The recording is complete: all files are.
    package mutating func finish() {
        for place in open.indices { open[place].finish() }
        isClosed = true
        release()
    }

    private func place(ofFile index: Int) -> Int? {
        let place = index - (files.count - open.count)
        return open.indices.contains(place) ? place : nil
    }

    private mutating func release() {
        while !open.isEmpty {
            segments += open[0].takeReady()
            guard open[0].isFinished else { return }
            open.removeFirst()
        }
    }
}

/// The division of one file.
private struct FileSegmentation: Sendable {
    /// A duration must be positive, also with the times of a damaged file.
    private static let minimumNanoseconds: Int64 = 1_000_000

    private(set) var isFinished = false
    private let file: Int
    private let originNanoseconds: Int64
    private var joining = GroupJoining(targetNanoseconds: MediaSegmentation.targetNanoseconds)
    private var ready: [MediaSegment] = []
    private var pending: PendingSegment?
    /// Start of the audio that precedes the first picture: offset in the file, and time.
    private var leading: (offset: Int64, startNanoseconds: Int64)?

    init(_ file: Int, originNanoseconds: Int64) {
        self.file = file
        self.originNanoseconds = originNanoseconds
    }

    mutating func takeReady() -> [MediaSegment] {
        defer { ready.removeAll() }
        return ready
    }

    mutating func append(_ fragment: FragmentOutline) {
        guard !isFinished else { return }
        guard var segment = pending else {
            begin(with: fragment)
            return
        }
        guard fragment.range.lowerBound >= segment.range.upperBound else { return }
        if let start = fragment.decodableFromNanoseconds, let end = segment.shownEndNanoseconds {
            let jump = start.clampedSubtracting(end).magnitude
            let isJump =
                jump > MediaSegmentation.gapNanoseconds.magnitude
                || start <= segment.startNanoseconds
            let elapsed = start.clampedSubtracting(segment.startNanoseconds)
            let group = start.clampedSubtracting(segment.groupStartNanoseconds)
            var isDue = isJump
            if !isJump {
                isDue = joining.beginsSegment(elapsedNanoseconds: elapsed, groupNanoseconds: group)
            }
            if isDue {
                close(segment, next: start, isJump: isJump)
                pending = PendingSegment(fragment, start: start, followsGap: isJump)
                return
            }
            segment.groupStartNanoseconds = start
        }
        segment.extend(by: fragment)
        pending = segment
    }

    /// Looks for the file's first keyframe.
    private mutating func begin(with fragment: FragmentOutline) {
        guard let keyframe = fragment.decodableFromNanoseconds else {
            if let start = fragment.soundAloneFromNanoseconds {
                leading = leading ?? (fragment.range.lowerBound, start)
            } else {
                leading = nil
            }
            return
        }
        // Leading pictures before the file's start are only decoded.
        let start = max(min(keyframe, leading?.startNanoseconds ?? keyframe), originNanoseconds)
        var segment = PendingSegment(fragment, start: start, followsGap: false)
        if let leading { segment.begin(at: leading.offset) }
        pending = segment
    }

    mutating func finish() {
        guard !isFinished else { return }
        isFinished = true
        if let segment = pending, segment.shownEndNanoseconds != nil {
            close(segment, next: nil, isJump: false)
        }
        pending = nil
    }

    /// - Parameter next: when the next segment begins; nil: none follows in the file.
    private mutating func close(_ segment: PendingSegment, next: Int64?, isJump: Bool) {
        let start = segment.startNanoseconds
        var end = segment.ownEndNanoseconds
        if let next {
            // Sound may continue over a gap in the pictures.
            if !isJump { end = next } else if next > start { end = min(end, next) }
        }
        ready.append(
            MediaSegment(
                file: file, range: segment.range, startNanoseconds: start,
                durationNanoseconds: max(Self.minimumNanoseconds, end.clampedSubtracting(start)),
                followsGap: segment.followsGap))
    }
}

/// A segment whose end is not known yet.
private struct PendingSegment: Sendable {
    private(set) var range: Range<Int64>
    let startNanoseconds: Int64
    let followsGap: Bool
    /// When its last group begins.
    var groupStartNanoseconds: Int64
    private var mainEndNanoseconds: Int64?
    private var lastEndNanoseconds: Int64?

    init(_ fragment: FragmentOutline, start: Int64, followsGap: Bool) {
        range = fragment.range
        startNanoseconds = start
        self.followsGap = followsGap
        groupStartNanoseconds = start
        mainEndNanoseconds = fragment.mainEndNanoseconds
        lastEndNanoseconds = fragment.lastEndNanoseconds
    }

    /// End of the presented part of its main track; nil if none of it is presented.
    var shownEndNanoseconds: Int64? {
        mainEndNanoseconds.flatMap { $0 > startNanoseconds ? $0 : nil }
    }

    /// Its end without regard to the next segment: that of its video, unless its audio is longer by more than a gap.
    var ownEndNanoseconds: Int64 {
        let main = mainEndNanoseconds ?? startNanoseconds
        let last = max(main, lastEndNanoseconds ?? main)
        return last.clampedSubtracting(main) > MediaSegmentation.gapNanoseconds ? last : main
    }

    /// Includes bytes before the first fragment.
    mutating func begin(at offset: Int64) {
        range = min(offset, range.lowerBound)..<range.upperBound
    }

    mutating func extend(by fragment: FragmentOutline) {
        range = range.lowerBound..<fragment.range.upperBound
        if let end = fragment.mainEndNanoseconds {
            mainEndNanoseconds = max(mainEndNanoseconds ?? end, end)
        }
        if let end = fragment.lastEndNanoseconds {
            lastEndNanoseconds = max(lastEndNanoseconds ?? end, end)
        }
    }
}
