package import Archive
import Media

/// The playlist of a live source with parts (LL-HLS): draft-pantos-hls-rfc8216bis §4.4.3.7–9, §4.4.4.9, §4.4.5.2–3, §6.2.
///
/// A value: parts go in, texts come out. It has no clock and no connections, and holds no media.
///
/// It has no `EXT-X-INDEPENDENT-SEGMENTS`, because a group of pictures longer than the target duration is divided.
/// Each part states whether it is independent.
package struct LivePlaylist: Sendable {
    /// The protocol version: `EXT-X-SKIP` needs 9 (draft-pantos-hls-rfc8216bis §8).
    package static let version = 9
    /// Limit of segments, which a source with frequent interruptions reaches.
    package static let maximumSegments = 200

    package let timing: LiveTiming
    /// No more parts will be appended.
    package private(set) var isFinished = false
    /// Incremented with every change, for caching rendered texts.
    package private(set) var revision: UInt64 = 0
    /// The name of the part that comes next: `EXT-X-PRELOAD-HINT`.
    package private(set) var nextName: PartAddress
    private let zero: UTCTime
    private let firstSequence: UInt64
    /// The last one is incomplete until the playlist is finished.
    private var segments: [LiveSegment] = []
    private var discontinuitySequence: UInt64 = 0
    /// Segments that were removed from the list and can still be fetched.
    private var departed: [DepartedSegment] = []
    /// Duration of all segments that were removed.
    private var departedNanoseconds: Int64 = 0

    /// - Parameters:
    ///   - timing: the same as that of the ``PartGatherer``.
    ///   - zero: of the session.
    ///   - firstSequence: the same as that of the ``PartGatherer``.
    package init(_ timing: LiveTiming, zero: UTCTime, firstSequence: UInt64 = 0) {
        self.timing = timing
        self.zero = zero
        self.firstSequence = firstSequence
        nextName = PartAddress(sequence: firstSequence, part: 0)
    }

    /// Appends the next part of a ``PartGatherer``, whose bytes must already be available.
    package mutating func append(_ part: LivePart) {
        precondition(!isFinished, "a finished playlist does not change")
        precondition(part.name == nextName, "parts are appended in their order")
        if part.address.part == 0 {
            completeLast(before: part)
            segments.append(LiveSegment(part))
        } else {
            segments[segments.count - 1].append(part)
        }
        nextName = PartAddress(sequence: part.address.sequence, part: part.address.part + 1)
        slide()
        revision += 1
    }

    /// The source has ended: `EXT-X-ENDLIST`.
    package mutating func finish() {
        guard !isFinished else { return }
        isFinished = true
        completeLast(before: nil)
        slide()
        revision += 1
    }

    /// Media sequence number of the oldest segment that has to be there for requests, with all its parts: segments remain
    /// available for some time after they have left the list (draft-pantos-hls-rfc8216bis §6.2.2).
    package var firstAvailableSequence: UInt64 {
        departed.first?.sequence ?? segments.first?.sequence ?? nextName.sequence
    }

    /// Bit rates of the listed segments; nil without any.
    package var bandwidth: Bandwidth? {
        let pieces = segments.map {
            Bandwidth.Piece(
                sizeBytes: Int64(clamping: $0.sizeBytes),
                durationNanoseconds: $0.lengthNanoseconds)
        }
        return Bandwidth(pieces, targetSeconds: timing.targetSeconds)
    }

    /// The response to a request at this time (draft-pantos-hls-rfc8216bis §6.2.5).
    package func answer(_ request: LiveRequest) -> LiveAnswer {
        // A finished playlist never blocks.
        if isFinished { return .playlist(text()) }
        if request.part != nil, request.sequence == nil {
            return .badRequest("_HLS_part without _HLS_msn")
        }
        if let reason = excess(request) { return .badRequest(reason) }
        guard let last = segments.last else {
            return .wait(untilSequence: firstSequence, part: 0)
        }
        // Players without support of parts fail on a playlist without a whole segment (FFmpeg, GStreamer, mpv). A blocking request
        // has read the playlist before.
        if request.sequence == nil, last.sequence == firstSequence {
            return .wait(untilSequence: firstSequence, part: nil)
        }
        if let sequence = request.sequence {
            // A part after the last one of its segment is the first one of the next segment.
            let isThere =
                sequence < last.sequence
                || sequence == last.sequence && request.part.map { $0 < last.count } ?? false
            guard isThere else { return .wait(untilSequence: sequence, part: request.part) }
        }
        return .playlist(text(skipsOldSegments: request.skipsOldSegments))
    }

    /// The error for a request that is too far ahead; nil: it is not.
    private func excess(_ request: LiveRequest) -> String? {
        guard let sequence = request.sequence else { return nil }
        let last = segments.last?.sequence ?? firstSequence
        let parts = segments.last?.count ?? 0
        // The last segment is incomplete: the limit is two more than the last complete one.
        guard sequence <= last.clampedAdding(1) else {
            return "_HLS_msn is more than two segments ahead"
        }
        guard let part = request.part, sequence >= last else { return nil }
        let limit = (sequence == last ? parts - 1 : 0) + timing.advancePartLimit
        return part > limit ? "_HLS_part is too far ahead" : nil
    }

    /// The playlist.
    /// - Parameter skipsOldSegments: a delta update (draft-pantos-hls-rfc8216bis §6.2.5.1), if there is something to be skipped.
    package func text(skipsOldSegments: Bool = false) -> String {
        let skipped = skipsOldSegments && !isFinished ? oldSegments : 0
        var text = header
        if skipped > 0 { text += "#EXT-X-SKIP:SKIPPED-SEGMENTS=\(skipped)\n" }
        for index in segments.indices.dropFirst(skipped) {
            let segment = segments[index]
            let isOther =
                index == 0 || segments[index - 1].initialization != segment.initialization
            text += segment.head(zero: zero, hasMap: isOther) + segment.body
        }
        if isFinished {
            text += "#EXT-X-ENDLIST\n"
        } else {
            let uri = LiveResource.part(nextName).uri
            text += "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"\(uri)\"\n"
        }
        return text
    }

    private var header: String {
        var control = AttributeList()
        control.add("CAN-BLOCK-RELOAD", unquoted: "YES")
        for (name, duration) in [
            ("CAN-SKIP-UNTIL", timing.skipBoundaryNanoseconds),
            ("HOLD-BACK", timing.holdBackNanoseconds),
            ("PART-HOLD-BACK", timing.partHoldBackNanoseconds),
        ] {
            control.add(name, microseconds: microseconds(duration))
        }
        var parts = AttributeList()
        parts.add("PART-TARGET", microseconds: microseconds(timing.partTargetNanoseconds))
        return """
            #EXTM3U
            #EXT-X-VERSION:\(Self.version)
            #EXT-X-TARGETDURATION:\(timing.targetSeconds)
            #EXT-X-SERVER-CONTROL:\(control.text)
            #EXT-X-PART-INF:\(parts.text)
            #EXT-X-MEDIA-SEQUENCE:\(segments.first?.sequence ?? firstSequence)
            #EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuitySequence)

            """
    }

    /// Duration of the list.
    private var lengthNanoseconds: Int64 { segments.map(\.lengthNanoseconds).clampedSum }

    /// Number of segments that end before the skip boundary.
    private var oldSegments: Int {
        let boundary = timing.skipBoundaryNanoseconds + timing.roundingNanoseconds
        var distance = lengthNanoseconds
        var count = 0
        for segment in segments where segment.isComplete {
            distance -= segment.lengthNanoseconds
            guard distance > boundary else { break }
            count += 1
        }
        return count
    }

    private mutating func completeLast(before next: LivePart?) {
        guard !segments.isEmpty else { return }
        segments[segments.count - 1].complete(before: next, timing)
    }

    /// Removes segments before the window.
    private mutating func slide() {
        var length = lengthNanoseconds
        while let first = segments.first, first.isComplete, segments.count > 1 {
            let rest = length - first.lengthNanoseconds
            let isBeyond =
                rest >= timing.windowNanoseconds
                || segments.count > Self.maximumSegments && rest >= timing.leastWindowNanoseconds
            guard isBeyond else { break }
            length = rest
            segments.removeFirst()
            departedNanoseconds.addClamped(first.lengthNanoseconds)
            if first.isDiscontinuous { discontinuitySequence += 1 }
            departed.append(
                DepartedSegment(
                    sequence: first.sequence,
                    atNanoseconds: departedNanoseconds.clampedAdding(length)))
        }
        let now = departedNanoseconds.clampedAdding(length)
        let kept = departed.drop {
            now.clampedSubtracting($0.atNanoseconds) > timing.availabilityNanoseconds
        }
        departed = Array(kept.suffix(Self.maximumSegments))
        var distance: Int64 = 0
        for index in segments.indices.reversed() {
            distance.addClamped(segments[index].lengthNanoseconds)
            if distance > timing.partWindowNanoseconds { segments[index].unlistParts() }
        }
    }
}

/// A segment that is not listed any more.
private struct DepartedSegment: Sendable {
    var sequence: UInt64
    /// The list's end on its own timeline when it was removed.
    var atNanoseconds: Int64
}

/// A segment of the list, complete or growing.
private struct LiveSegment: Sendable {
    let sequence: UInt64
    let initialization: Int
    let isDiscontinuous: Bool
    /// Number of its parts so far.
    private(set) var count = 0
    private(set) var sizeBytes = 0
    /// Nanoseconds of session time.
    private let startNanoseconds: Int64
    private var endNanoseconds: Int64
    /// Sum of its parts' durations.
    private var partsNanoseconds: Int64 = 0
    /// Nil: it is not complete.
    private var durationNanoseconds: Int64?
    /// Tags of its parts; empty once they are not listed.
    private var partTags = ""

    init(_ first: LivePart) {
        sequence = first.address.sequence
        initialization = first.initialization
        isDiscontinuous = first.isDiscontinuous
        startNanoseconds = first.nanoseconds.lowerBound
        endNanoseconds = first.nanoseconds.upperBound
        append(first)
    }

    var isComplete: Bool { durationNanoseconds != nil }

    /// Its duration in the playlist.
    var lengthNanoseconds: Int64 { durationNanoseconds ?? partsNanoseconds }

    mutating func append(_ part: LivePart) {
        count += 1
        sizeBytes.addClamped(part.sizeBytes)
        partsNanoseconds.addClamped(part.durationNanoseconds)
        endNanoseconds = max(endNanoseconds, part.nanoseconds.upperBound)
        var attributes = AttributeList()
        attributes.add("DURATION", microseconds: microseconds(part.durationNanoseconds))
        attributes.add("URI", quoted: LiveResource.part(part.name).uri)
        if part.isIndependent { attributes.add("INDEPENDENT", unquoted: "YES") }
        partTags += "#EXT-X-PART:\(attributes.text)\n"
    }

    /// - Parameter next: the first part of the segment that follows; nil: none does.
    mutating func complete(before next: LivePart?, _ timing: LiveTiming) {
        var end = endNanoseconds
        if let next, !next.isDiscontinuous { end = next.nanoseconds.lowerBound }
        let duration = max(1_000_000, end.clampedSubtracting(startNanoseconds))
        // Only a single unit can be longer; a discontinuity follows it.
        durationNanoseconds = min(duration, timing.longestSegmentNanoseconds)
    }

    mutating func unlistParts() {
        if isComplete { partTags = "" }
    }

    /// Tags at its beginning. Every segment has its date and time, because any may become the first of the list.
    func head(zero: UTCTime, hasMap: Bool) -> String {
        var text = isDiscontinuous ? "#EXT-X-DISCONTINUITY\n" : ""
        if hasMap {
            text += "#EXT-X-MAP:URI=\"\(LiveResource.initialization(initialization).uri)\"\n"
        }
        return text + "#EXT-X-PROGRAM-DATE-TIME:\(zero.advanced(by: startNanoseconds))\n"
    }

    /// Its parts, and itself when it is complete.
    var body: String {
        guard let durationNanoseconds else { return partTags }
        let duration = secondsText(microseconds: microseconds(durationNanoseconds))
        return partTags + "#EXTINF:\(duration),\n\(LiveResource.segment(sequence).uri)\n"
    }
}
