import Archive

/// A parsed media playlist and its violations of RFC 8216 and draft-pantos-hls-rfc8216bis.
///
/// It is stricter than players are: tags that this program does not use are unknown, and recommendations are required.
struct PlaylistRules {
    enum Rule: String, CaseIterable {
        /// `#EXTM3U` is the first line.
        case firstLine
        /// Lines are not empty and have no control characters (§4.1).
        case characters
        case unknownTag
        case duplicateTag
        /// A tag of the header behind a segment, a URI without its tags, tags without their URI.
        case misplacedTag
        case attributes
        /// The version is present and not less than the tags need (§7).
        case version
        case targetDuration
        /// A rounded duration is not more than the target duration (§4.3.3.1).
        case overTarget
        /// Ranges of one resource follow each other.
        case byteRange
        /// A segment of another resource has another initialization section, and the first has one.
        case map
        /// Dates agree with the durations between them; the first segment and those behind discontinuities have one.
        case date
        case dateRange
        /// Another resource begins behind a discontinuity.
        case discontinuity
        /// `EXT-X-ENDLIST` is the last line, of a `VOD` always.
        case ending
        case playlistType
        /// Parts need `EXT-X-PART-INF`, that needs `PART-HOLD-BACK`.
        case partInfo
        /// A part is not longer than the part target.
        case partTooLong
        /// A part is not shorter than 85 % of it, unless it is independent or the last of its segment.
        case partTooShort
        case serverControl
        /// `PART-HOLD-BACK` is at least three part targets, which is recommended.
        case partHoldBack
        /// Parts are listed in the last three target durations only.
        case partAge
        /// Exactly one part is hinted, which is not listed.
        case hint
        case skip

        /// Media sequence numbers and discontinuity sequence numbers never fall.
        case sequence
        /// Target durations and part targets never change.
        case target
        /// A listed segment does not change.
        case changed
        /// Playlists with a type, and finished ones, keep all segments.
        case appendOnly
        /// A playlist is not made shorter than three target durations.
        case removal
        /// The hinted part is the next one.
        case hintKept
        case dateRangeChanged
    }

    struct Finding: CustomStringConvertible {
        var rule: Rule
        var line: Int
        var text: String
        var description: String { "line \(line): \(rule): \(text)" }
    }

    struct Part: Equatable {
        var uri: String
        var microseconds: Int64
        var isIndependent: Bool
    }

    struct Segment: Equatable {
        var sequence: UInt64 = 0
        var discontinuity: UInt64 = 0
        var uri = ""
        var microseconds: Int64 = 0
        var range: Range<Int64>?
        var map: String?
        var isDiscontinuous = false
        var dateNanoseconds: Int64?
        var parts: [Part] = []
        /// Line number in the text.
        var line = 0

        /// Without its parts and its line.
        var core: Segment {
            var core = self
            core.parts = []
            core.line = 0
            return core
        }
    }

    private(set) var findings: [Finding] = []
    private(set) var segments: [Segment] = []
    /// The parts of the segment that is not complete.
    private(set) var open: Segment?
    private(set) var dateRanges: [String: AttributeReading] = [:]
    private(set) var targetSeconds: Int64 = 0
    private(set) var mediaSequence: UInt64 = 0
    private(set) var discontinuitySequence: UInt64 = 0
    private(set) var type: String?
    private(set) var isEnded = false
    private(set) var partTarget: Int64?
    private(set) var hint: String?
    /// Segments that a delta update leaves out.
    private(set) var skipped = 0

    private var control: AttributeReading?
    private var version: Int64?
    private var neededVersion: Int64 = 1
    private var line = 0
    private var headerTags: Set<String> = []
    /// The segment whose URI has not been read yet, and its tags.
    private var draft = Segment()
    private var draftTags: Set<String> = []
    private var map: String?

    init(_ text: String) {
        let lines = text.utf8.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).map { String(decoding: $0, as: UTF8.self) }
        for (index, content) in lines.enumerated() {
            line = index + 1
            if index == lines.count - 1, content.isEmpty { break }
            take(content)
        }
        if lines.last != "" { report(.characters, "no line feed at the end") }
        end()
        number()
        checkHeader()
        checkSegments()
        checkDates()
        checkParts()
    }

    var rules: Set<Rule> { Set(findings.map(\.rule)) }

    private mutating func report(_ rule: Rule, _ text: String, line: Int? = nil) {
        findings.append(Finding(rule: rule, line: line ?? self.line, text: text))
    }

    // MARK: Lines

    private mutating func take(_ content: String) {
        if line == 1 {
            if content != "#EXTM3U" { report(.firstLine, content) }
            return
        }
        let isPlain = content.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control && $0 != "\u{FEFF}"
        }
        if content.isEmpty || !isPlain { report(.characters, content) }
        if isEnded { report(.ending, "'\(content)' behind the end") }
        guard content.hasPrefix("#") else { return take(uri: content) }
        let colon = content.utf8.firstIndex(of: UInt8(ascii: ":"))
        let name = String(content[..<(colon ?? content.endIndex)])
        let value = colon.map { String(content[content.utf8.index(after: $0)...]) }
        take(tag: name, value ?? "")
    }

    private mutating func take(tag name: String, _ value: String) {
        switch name {
        case "#EXT-X-VERSION", "#EXT-X-TARGETDURATION", "#EXT-X-MEDIA-SEQUENCE",
            "#EXT-X-DISCONTINUITY-SEQUENCE", "#EXT-X-PLAYLIST-TYPE",
            "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-SERVER-CONTROL", "#EXT-X-PART-INF",
            "#EXT-X-SKIP":
            if !headerTags.insert(name).inserted { report(.duplicateTag, name) }
            if !segments.isEmpty || !draftTags.isEmpty { report(.misplacedTag, name) }
            take(header: name, value)
        case "#EXTINF", "#EXT-X-BYTERANGE", "#EXT-X-DISCONTINUITY", "#EXT-X-MAP",
            "#EXT-X-PROGRAM-DATE-TIME":
            if !draftTags.insert(name).inserted { report(.duplicateTag, name) }
            take(segment: name, value)
        case "#EXT-X-PART":
            if draftTags.contains("#EXTINF") { report(.misplacedTag, name) }
            draftTags.insert(name)
            take(part: value)
        case "#EXT-X-DATERANGE":
            take(dateRange: value)
        case "#EXT-X-PRELOAD-HINT":
            guard let attributes = AttributeReading(value),
                attributes.plain("TYPE") == "PART", let uri = attributes.quoted("URI")
            else { return report(.attributes, value) }
            if hint != nil { report(.hint, "a second hint") }
            hint = uri
        case "#EXT-X-ENDLIST":
            isEnded = true
        default:
            report(.unknownTag, name)
        }
    }

    private mutating func take(header name: String, _ value: String) {
        switch name {
        case "#EXT-X-VERSION":
            version = Int64(value)
        case "#EXT-X-TARGETDURATION":
            targetSeconds = Int64(value) ?? 0
            if targetSeconds < 1 { report(.targetDuration, value) }
        case "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-DISCONTINUITY-SEQUENCE":
            guard let number = UInt64(value) else { return report(.attributes, value) }
            if name == "#EXT-X-MEDIA-SEQUENCE" {
                mediaSequence = number
            } else {
                discontinuitySequence = number
            }
        case "#EXT-X-PLAYLIST-TYPE":
            type = value
            if value != "VOD", value != "EVENT" { report(.playlistType, value) }
        case "#EXT-X-SERVER-CONTROL":
            control = AttributeReading(value)
            if control == nil { report(.attributes, value) }
        case "#EXT-X-PART-INF":
            partTarget = AttributeReading(value)?.microseconds("PART-TARGET")
            if partTarget == nil { report(.attributes, value) }
        case "#EXT-X-SKIP":
            neededVersion = max(neededVersion, 9)
            guard let count = AttributeReading(value)?.plain("SKIPPED-SEGMENTS"),
                let number = Int(count), number > 0
            else { return report(.attributes, value) }
            skipped = number
        default:
            if !value.isEmpty { report(.attributes, value) }
        }
    }

    private mutating func take(segment name: String, _ value: String) {
        switch name {
        case "#EXTINF":
            guard value.hasSuffix(","),
                let duration = AttributeReading.decimal(String(value.dropLast()))
            else { return report(.attributes, value) }
            neededVersion = max(neededVersion, 3)
            draft.microseconds = duration
        case "#EXT-X-BYTERANGE":
            neededVersion = max(neededVersion, 4)
            let numbers = value.split(separator: "@").map { Int64($0) }
            guard numbers.count == 2, let length = numbers[0], let start = numbers[1], length > 0,
                start >= 0
            else { return report(.byteRange, value) }
            draft.range = start..<start + length
        case "#EXT-X-MAP":
            neededVersion = max(neededVersion, 6)
            map = AttributeReading(value)?.quoted("URI")
            if map == nil { report(.attributes, value) }
        case "#EXT-X-PROGRAM-DATE-TIME":
            draft.dateNanoseconds = Self.nanoseconds(value)
            if draft.dateNanoseconds == nil { report(.date, value) }
        default:
            draft.isDiscontinuous = true
            if !value.isEmpty { report(.attributes, value) }
        }
    }

    private mutating func take(part value: String) {
        neededVersion = max(neededVersion, 6)
        guard let attributes = AttributeReading(value), let uri = attributes.quoted("URI"),
            let duration = attributes.microseconds("DURATION")
        else { return report(.attributes, value) }
        draft.parts.append(
            Part(
                uri: uri, microseconds: duration,
                isIndependent: attributes.plain("INDEPENDENT") == "YES"))
    }

    private mutating func take(dateRange value: String) {
        guard let attributes = AttributeReading(value), let id = attributes.quoted("ID"),
            !id.isEmpty
        else { return report(.dateRange, value) }
        if dateRanges.updateValue(attributes, forKey: id) != nil {
            report(.dateRange, "'\(id)' twice")
        }
        if attributes.quoted("START-DATE").flatMap(Self.nanoseconds) == nil {
            report(.dateRange, "no START-DATE in \(value)")
        }
        if attributes.microseconds("DURATION") == nil {
            report(.dateRange, "no DURATION in \(value)")
        }
        for (name, attribute) in attributes.values where name.hasPrefix("X-") {
            guard case .plain(let number) = attribute else { continue }
            if !AttributeReading.isDecimal(number) {
                report(.dateRange, "\(name) is neither a string nor a number")
            }
        }
        // Half a kilobyte, and no variable of EXT-X-DEFINE.
        if value.utf8.count > 1_000 || value.contains("{$") { report(.dateRange, value) }
    }

    private mutating func take(uri: String) {
        let isURI = uri.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
        if !isURI { report(.characters, uri) }
        if !draftTags.contains("#EXTINF") { report(.misplacedTag, "\(uri) without EXTINF") }
        draft.uri = uri
        draft.line = line
        finishDraft(isFirst: segments.isEmpty)
        segments.append(draft)
        draft = Segment()
        draftTags = []
    }

    /// Checks a segment against the previous one.
    private mutating func finishDraft(isFirst: Bool) {
        draft.map = map
        if isFirst {
            if map == nil, skipped == 0 { report(.map, "none for the first segment") }
            return
        }
        guard let range = draft.range, let last = segments.last, let before = last.range else {
            return
        }
        if last.uri == draft.uri {
            if range.lowerBound != before.upperBound {
                report(.byteRange, "\(range) behind \(before)")
            }
            return
        }
        if !draftTags.contains("#EXT-X-MAP") { report(.map, "none for \(draft.uri)") }
        if !draft.isDiscontinuous { report(.discontinuity, "none before \(draft.uri)") }
    }

    private mutating func end() {
        if draftTags.contains("#EXTINF") || !draftTags.isEmpty && draft.parts.isEmpty {
            report(.misplacedTag, "\(draftTags.sorted()) without a URI")
        }
        guard !draft.parts.isEmpty else { return }
        draft.line = line
        finishDraft(isFirst: segments.isEmpty)
        open = draft
    }

    private mutating func number() {
        var discontinuity = discontinuitySequence
        for index in segments.indices {
            segments[index].sequence = mediaSequence + UInt64(skipped + index)
            if segments[index].isDiscontinuous { discontinuity += 1 }
            segments[index].discontinuity = discontinuity
        }
        guard var last = open else { return }
        last.sequence = mediaSequence + UInt64(skipped + segments.count)
        last.discontinuity = discontinuity + (last.isDiscontinuous ? 1 : 0)
        open = last
    }

    // MARK: The whole

    private mutating func checkHeader() {
        if version.map({ $0 < neededVersion }) ?? true {
            report(.version, "needs \(neededVersion)", line: 1)
        }
        if !headerTags.contains("#EXT-X-TARGETDURATION") {
            report(.targetDuration, "none", line: 1)
        }
        if type == "VOD", !isEnded { report(.ending, "a VOD without an end") }
        if type != nil, mediaSequence != 0 || skipped > 0 {
            report(.playlistType, "segments were removed", line: 1)
        }
        let hasParts = open != nil || segments.contains { !$0.parts.isEmpty }
        if hasParts || hint != nil, partTarget == nil { report(.partInfo, "no EXT-X-PART-INF") }
        let target = targetSeconds * 1_000_000
        if let partTarget {
            let holdBack = control?.microseconds("PART-HOLD-BACK")
            if holdBack == nil { report(.partInfo, "no PART-HOLD-BACK", line: 1) }
            if let holdBack, holdBack < 2 * partTarget {
                report(.serverControl, "PART-HOLD-BACK", line: 1)
            }
            if let holdBack, holdBack < 3 * partTarget {
                report(.partHoldBack, "\(holdBack) µs", line: 1)
            }
            if control?.plain("CAN-BLOCK-RELOAD") != "YES" {
                report(.serverControl, "CAN-BLOCK-RELOAD", line: 1)
            }
            if !isEnded, hint == nil { report(.hint, "none") }
        }
        if let holdBack = control?.microseconds("HOLD-BACK"), holdBack < 3 * target {
            report(.serverControl, "HOLD-BACK", line: 1)
        }
        let skipUntil = control?.microseconds("CAN-SKIP-UNTIL")
        if let skipUntil, skipUntil < 6 * target {
            report(.serverControl, "CAN-SKIP-UNTIL", line: 1)
        }
        if isEnded, hint != nil { report(.hint, "in a playlist that has ended") }
        if skipped > 0 {
            let length = segments.reduce(partsLength) { $0 + $1.microseconds }
            if skipUntil.map({ length < $0 }) ?? true {
                report(.skip, "what remains is within the skip boundary")
            }
        }
    }

    private var partsLength: Int64 { open?.parts.reduce(0) { $0 + $1.microseconds } ?? 0 }

    private mutating func checkSegments() {
        for segment in segments {
            let seconds = (segment.microseconds + 500_000) / 1_000_000
            if segment.microseconds < 1 || seconds > targetSeconds {
                report(.overTarget, "\(segment.microseconds) µs", line: segment.line)
            }
        }
    }

    private mutating func checkDates() {
        var expected: Int64?
        var segmentsSinceDate = 0
        for segment in segments + (open.map { [$0] } ?? []) {
            segmentsSinceDate = segment.dateNanoseconds == nil ? segmentsSinceDate + 1 : 0
            if segment.dateNanoseconds == nil, expected == nil || segment.isDiscontinuous {
                report(.date, "none", line: segment.line)
            }
            if segmentsSinceDate > 10 { report(.date, "none for long", line: segment.line) }
            if let date = segment.dateNanoseconds, let expected {
                let distance = date - expected
                // Dates have milliseconds. After a discontinuity, less than a second may be repeated (§6.2.1).
                let isRight =
                    segment.isDiscontinuous
                    ? distance > -1_000_000_000 : distance.magnitude <= 2_000_000
                if !isRight { report(.date, "off by \(distance) ns", line: segment.line) }
            }
            expected = (segment.dateNanoseconds ?? expected).map {
                $0 + segment.microseconds * 1_000
            }
        }
        if !dateRanges.isEmpty, !segments.contains(where: { $0.dateNanoseconds != nil }) {
            report(.dateRange, "without dates")
        }
    }

    private mutating func checkParts() {
        guard let partTarget else { return }
        let all = segments + (open.map { [$0] } ?? [])
        // From the beginning of a segment to the end of the playlist.
        var distance: Int64 = 0
        for segment in all.reversed() {
            let parts = segment.parts.reduce(0) { $0 + $1.microseconds }
            distance += segment.microseconds > 0 ? segment.microseconds : parts
            if !segment.parts.isEmpty, distance > 3 * targetSeconds * 1_000_000 {
                report(.partAge, "\(distance) µs from the end", line: segment.line)
            }
            for (index, part) in segment.parts.enumerated() {
                if part.microseconds > partTarget || part.microseconds < 1 {
                    report(.partTooLong, "\(part)", line: segment.line)
                }
                // Also in the incomplete segment, where a later part may still follow.
                let isLast = index == segment.parts.count - 1
                if part.microseconds * 100 < partTarget * 85, !part.isIndependent, !isLast {
                    report(.partTooShort, "\(part)", line: segment.line)
                }
                if part.uri == hint { report(.hint, "\(part.uri) is there already") }
            }
        }
    }

    /// RFC 3339 with milliseconds, UTC.
    static func nanoseconds(_ text: String) -> Int64? {
        guard text.utf8.count == 24, text.utf8.filter({ $0 == UInt8(ascii: ":") }).count == 2
        else { return nil }
        return UTCTime(fileName: text.replacing(":", with: "-"))?.nanoseconds
    }
}

extension PlaylistRules {
    /// Rules that the next version of a playlist breaks.
    func findings(after old: PlaylistRules) -> [Finding] {
        var found: [Finding] = []
        func report(_ rule: Rule, _ text: String) {
            found.append(Finding(rule: rule, line: 0, text: text))
        }
        if mediaSequence < old.mediaSequence
            || discontinuitySequence < old.discontinuitySequence
        {
            report(.sequence, "\(mediaSequence) behind \(old.mediaSequence)")
        }
        if targetSeconds != old.targetSeconds || partTarget != old.partTarget {
            report(.target, "\(targetSeconds) s")
        }
        let before = Dictionary(uniqueKeysWithValues: old.segments.map { ($0.sequence, $0) })
        for segment in segments {
            guard let earlier = before[segment.sequence] else { continue }
            if segment.core != earlier.core { report(.changed, "\(segment) was \(earlier)") }
        }
        let isTyped = type != nil || old.isEnded
        if isTyped, type != old.type || segments.count < old.segments.count {
            report(.appendOnly, "\(segments.count) segments of \(old.segments.count)")
        }
        if old.isEnded, segments.count != old.segments.count || !isEnded {
            report(.appendOnly, "it had ended")
        }
        if mediaSequence > old.mediaSequence, length < 3 * targetSeconds * 1_000_000 {
            report(.removal, "\(length) µs are left")
        }
        for (id, attributes) in old.dateRanges {
            guard let now = dateRanges[id] else {
                if isTyped { report(.dateRangeChanged, "\(id) is gone") }
                continue
            }
            if now.values != attributes.values { report(.dateRangeChanged, id) }
        }
        checkParts(after: old, report)
        return found
    }

    /// Duration of the listed segments.
    var length: Int64 {
        segments.reduce(0) { $0 + $1.microseconds }
            + (open?.parts.reduce(0) { $0 + $1.microseconds } ?? 0)
    }

    private func checkParts(after old: PlaylistRules, _ report: (Rule, String) -> Void) {
        let all = segments + (open.map { [$0] } ?? [])
        let before = old.segments + (old.open.map { [$0] } ?? [])
        for segment in all where !segment.parts.isEmpty {
            guard let earlier = before.first(where: { $0.sequence == segment.sequence }) else {
                continue
            }
            if !segment.parts.starts(with: earlier.parts) {
                report(.changed, "parts of \(segment.sequence)")
            }
        }
        // The first part that the old version did not have.
        let known = Set(before.flatMap(\.parts).map(\.uri))
        let last = before.last(where: { !$0.parts.isEmpty })?.sequence ?? 0
        let new = all.filter { $0.sequence >= last }.flatMap(\.parts).first {
            !known.contains($0.uri)
        }
        if let new, let hint = old.hint, new.uri != hint {
            report(.hintKept, "\(new.uri) instead of \(hint)")
        }
    }

    /// The segments after a player applies a delta update to its previous version (draft-pantos-hls-rfc8216bis §6.3.7),
    /// without the parts that were omitted; nil when one is missing.
    func segments(completing old: PlaylistRules) -> [Segment]? {
        var result: [Segment] = []
        for sequence in mediaSequence..<mediaSequence + UInt64(skipped) {
            guard var segment = old.segments.first(where: { $0.sequence == sequence }) else {
                return nil
            }
            segment.parts = []
            result.append(segment)
        }
        let skippedDiscontinuities = UInt64(result.count(where: { $0.isDiscontinuous }))
        var map = result.last?.map
        for var segment in segments + (open.map { [$0] } ?? []) {
            segment.discontinuity += skippedDiscontinuities
            segment.map = segment.map ?? map
            map = segment.map
            result.append(segment)
        }
        return result
    }
}
