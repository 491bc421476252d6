package import Archive
import Library
package import Recordings

/// The media playlist of one recorded source: byte ranges of its files (RFC 8216 §4.3.3).
///
/// The text of segments is cached, so a playlist of ten hours is cheap. It is only appended to, up to `EXT-X-ENDLIST` (RFC 8216
/// §6.2.1). Date ranges of gaps precede the first segment that starts after them; one that becomes known later precedes the next
/// segment.
package struct MediaPlaylist: Sendable {
    /// The values of `EXT-X-PLAYLIST-TYPE` (RFC 8216 §4.3.3.5).
    package enum Kind: Hashable, Sendable {
        /// Unchanging: a finished recording.
        case vod
        /// Segments will be appended. When the recording is finished, `EXT-X-ENDLIST` is appended, and the type stays `EVENT`; new
        /// clients get a new `VOD` playlist.
        case event
    }

    package static let contentType = "application/vnd.apple.mpegurl"
    /// The protocol version: `EXT-X-MAP` in a playlist without `EXT-X-I-FRAMES-ONLY` needs 6 (RFC 8216 §7).
    package static let version = 7
    /// The least target duration. Groups of at most 4 s are joined to segments of at most 8 s, however irregular they are.
    package static let leastTargetSeconds: Int64 = 8
    /// Segments from one date and time to the next at most.
    private static let datePeriod = 5

    /// `EXT-X-TARGETDURATION`; see ``init(_:zero:leastTargetSeconds:)``.
    package private(set) var targetSeconds: Int64
    private let kind: Kind
    private let zero: UTCTime
    private var ranges = GapDateRanges()
    /// The text of the segments so far.
    private var body = ""
    /// Number of segments in ``body``.
    private var count = 0
    /// The file of the last one.
    private var file: Int?
    private var segmentsSinceDate = 0
    /// The last segment is longer than its listed duration.
    private var isDurationCut = false
    private var isFinished = false

    /// - Parameters:
    ///   - zero: of the session.
    ///   - leastTargetSeconds: lower bound of the target duration. All playlists of a multivariant playlist must have one target
    ///     duration (RFC 8216 §6.2.4).
    ///
    /// The target duration of an `EVENT` playlist is derived from its first segment: one and a half times its duration, and at least
    /// ``leastTargetSeconds``. It is the same in every process. A longer segment (a group of pictures with a long pause) is listed
    /// with the target duration, because players refuse longer ones; a discontinuity and a date-time follow it, which correct the
    /// time. A `VOD` playlist has all durations as they are, and a target duration of at least the longest one.
    package init(
        _ kind: Kind, zero: UTCTime, leastTargetSeconds: Int64 = Self.leastTargetSeconds
    ) {
        self.kind = kind
        self.zero = zero
        targetSeconds = max(1, leastTargetSeconds)
    }

    /// Appends the segments and gaps that are new.
    /// - Parameters:
    ///   - segmentation: the one of the previous call, with more segments.
    ///   - gaps: all gaps in the ledger.
    package mutating func update(_ segmentation: MediaSegmentation, gaps: [RecordedGap]) {
        precondition(segmentation.segments.count >= count, "a playlist is only appended to")
        ranges.take(gaps, isComplete: kind == .vod)
        for segment in segmentation.segments[count...] {
            append(segment, of: segmentation.files[segment.file])
        }
        isFinished = kind == .vod || segmentation.isFinished
    }

    /// The playlist; nil while it has no segment.
    package var text: String? {
        guard count > 0 else { return nil }
        var text = header
        text.reserveCapacity(text.utf8.count + body.utf8.count + 64)
        text += body
        if isFinished {
            var rest = ranges
            text += rest.takeTags(upTo: .max, zero: zero)
            text += "#EXT-X-ENDLIST\n"
        }
        return text
    }

    private var header: String {
        let type =
            switch kind {
            case .vod: "VOD"
            case .event: "EVENT"
            }
        return """
            #EXTM3U
            #EXT-X-VERSION:\(Self.version)
            #EXT-X-TARGETDURATION:\(targetSeconds)
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-PLAYLIST-TYPE:\(type)
            #EXT-X-INDEPENDENT-SEGMENTS

            """
    }

    private mutating func append(_ segment: MediaSegment, of file: SegmentFile) {
        let tags = ranges.takeTags(upTo: segment.startNanoseconds, zero: zero)
        body += tags
        let isFirst = count == 0
        let isOtherFile = self.file != segment.file
        let isDiscontinuous = !isFirst && (isOtherFile || segment.followsGap || isDurationCut)
        if isDiscontinuous { body += "#EXT-X-DISCONTINUITY\n" }
        if isOtherFile {
            let range = file.initializationBytes.map { ",BYTERANGE=\"\($0)@0\"" } ?? ""
            body += "#EXT-X-MAP:URI=\"\(file.initializationURI)\"\(range)\n"
            self.file = segment.file
        }
        if isFirst || isDiscontinuous || segmentsSinceDate >= Self.datePeriod {
            let date = zero.advanced(by: segment.startNanoseconds)
            body += "#EXT-X-PROGRAM-DATE-TIME:\(date)\n"
            segmentsSinceDate = 0
        }
        segmentsSinceDate += 1
        let length = duration(of: segment)
        body += "#EXTINF:"
        body += secondsText(microseconds: length)
        body += ",\n#EXT-X-BYTERANGE:"
        body += "\(segment.range.upperBound - segment.range.lowerBound)"
        body += "@\(segment.range.lowerBound)\n"
        body += file.mediaURI
        body += "\n"
        count += 1
    }

    /// `EXTINF`: rounded to a second, it must not exceed the target duration (RFC 8216 §4.3.3.1).
    private mutating func duration(of segment: MediaSegment) -> Int64 {
        // Positions are rounded, not durations: sums stay exact.
        let exact =
            microseconds(segment.endNanoseconds) - microseconds(segment.startNanoseconds)
        let duration = max(1, exact)
        let seconds = (duration + 500_000) / 1_000_000
        if count == 0 { targetSeconds = max(targetSeconds, (seconds * 3 + 1) / 2) }
        isDurationCut = false
        switch kind {
        case .vod:
            targetSeconds = max(targetSeconds, seconds)
        case .event:
            guard seconds > targetSeconds else { break }
            isDurationCut = true
            return targetSeconds * 1_000_000
        }
        return duration
    }
}
