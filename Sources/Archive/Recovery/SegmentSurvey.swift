import Media
import MP4
import Timing

/// The content of one file, from the headers of its fragments. At the end, which a power cut may have torn, the media are checked
/// too.
package struct SegmentSurvey: Sendable {
    /// The largest part of a file's end that a power cut can have damaged: a writer never has more data that is not durable.
    /// Usually, the fragments state a smaller size (``FragmentRecord/durableBytes``).
    package static let unsettledBytes: Int64 = 32 << 20
    /// The unit in which a power cut loses what was written: the rest of a page that did not reach the disk reads as zeros.
    private static let pageBytes: Int64 = 4_096
    /// Minimum run of zeros at a page boundary that counts as lost data. A shorter one may be media.
    private static let shortestZeros = 64
    /// Maximum number of fragments after a flaw that still counts as torn: a few seconds of a live source. After bit
    /// rot there are more, which are worth keeping.
    static let unsettledFragments = 8

    /// A complete fragment.
    struct Fragment: Sendable {
        var range: Range<Int64>
        var spool: SpoolID
        var runs: [RunOnDisk]
        var media: Range<Int64>
        var pieces: [FragmentRecord.Piece]
        /// Nil in records that do not contain the zero.
        var clock: RecordedClock?
        /// Exchanges with that clock, and the collector's zero that they refer to.
        var exchanges: [ClockExchange] = []
        var collectorZeroNanoseconds: Int64?
        /// See ``FragmentRecord/durableBytes``.
        var durableBytes: Int64 = 0
        /// Record numbers of all fragments, if this is a part of a summary; otherwise empty.
        var numbers: [ClosedRange<UInt64>] = []

        /// The `moof`; the header of `mdat` is between it and the media.
        var head: Range<Int64> { range.lowerBound..<media.lowerBound - 8 }
        /// The lowest number; nil without records.
        var lowest: UInt64? {
            (numbers + runs.map(\.sequences)).map(\.lowerBound).min()
        }
    }

    /// The newest exchanges of a clock, from which its skew is estimated: some minutes, and a burst.
    private static let exchangesPerClock = 256
    /// Maximum number of epochs of a file whose clocks are kept, the newest: a box that restarts a few times.
    private static let clocksPerFile = 8

    /// The first damage in the file.
    struct Flaw: Sendable {
        var offset: Int64
        var reason: String
        /// The end of the fragment at that offset; nil: its head is unreadable.
        var end: Int64?
        /// Whether whole pages of it are zeros, as after a power cut.
        var hasLostPage = false
    }

    let isFinished: Bool
    let sizeBytes: Int64
    /// The fragments; those before ``summarised`` as one for each part of the summary.
    private(set) var fragments: [Fragment] = []
    /// The summary after which the survey continued; nil: it began with the first fragment.
    private(set) var summarised: SegmentSummary?
    /// The byte after the last complete fragment.
    private(set) var validEnd: Int64
    private(set) var flaw: Flaw?
    /// Fragments after the flaw, readable or not.
    private var fragmentsBehindFlaw = 0
    private(set) var sessionZero: UTCTime?
    private(set) var plan: SegmentPlan?
    /// The digest of the last complete fragment's `moof`.
    private(set) var chain: Digest
    /// Whether the flaw is a digest mismatch of the previous head.
    private var isChainBroken = false
    private let movie: Movie

    /// Reads a file.
    /// - Parameter summary: summary of a file's start; ignored if it is not of this file.
    /// - Throws: when it cannot be read, or does not begin like a recording.
    init(of source: DescriptorSource, after summary: SegmentSummary? = nil) throws(MP4Error) {
        try self.init(heads: source, after: summary)
        try checkEnd(source)
    }

    /// Reads a file of which the end may be in memory only.
    /// - Parameter readAnew: called with the size of the file's beginning that is on the disk for certain; later reads return
    ///   what the disk has of the rest.
    static func onDisk(
        of source: DescriptorSource, after summary: SegmentSummary?, readAnew: (Int64) -> Void
    ) throws(MP4Error) -> SegmentSurvey {
        var survey = try SegmentSurvey(heads: source, after: summary)
        let end = survey.durableEnd
        readAnew(end)
        guard let kept = survey.fragments.lastIndex(where: { $0.range.upperBound <= end }) else {
            return try SegmentSurvey(of: source)
        }
        try survey.takeBack(after: kept, source)
        var scanner = try FragmentScanner(source)
        scanner.skip(to: survey.validEnd)
        try survey.scan(&scanner, source)
        try survey.checkEnd(source)
        return survey
    }

    /// Reads the heads of a file's fragments, and no media.
    private init(
        heads source: DescriptorSource, after summary: SegmentSummary?
    ) throws(MP4Error) {
        var scanner = try FragmentScanner(source)
        let layout = scanner.layout
        movie = layout.initialMovie
        isFinished = layout.isFinished
        sizeBytes = source.sizeBytes
        validEnd = layout.fragments.lowerBound
        let header = layout.initialMovie.header
        chain = Digest(of: try source.read(at: header.offset, count: Int(header.sizeBytes)))
        if let summary, try begin(after: summary, source) { scanner.skip(to: validEnd) }
        try scan(&scanner, source)
    }

    /// Checks the part of a growing file that may not have been durable.
    private mutating func checkEnd(_ source: DescriptorSource) throws(MP4Error) {
        guard !isFinished else { return }
        try checkUnsettled(source)
        if let flaw, sizeBytes - flaw.offset <= Self.unsettledBytes {
            let behind = try source.read(at: flaw.offset, count: Int(sizeBytes - flaw.offset))
            fragmentsBehindFlaw = Self.countRecords(in: behind)
            self.flaw?.hasLostPage = Self.hasLostPage(behind, of: flaw)
            if isChainBroken { try checkHeadBeforeFlaw(source) }
        }
    }

    /// The number of fragments.
    var fragmentCount: UInt32 {
        guard let summarised else { return UInt32(fragments.count) }
        return summarised.fragments + UInt32(fragments.count - summarised.parts.count)
    }

    /// Data about the fragments for later surveys; nil without any.
    var summary: SegmentSummary? {
        var summary = summarised ?? SegmentSummary()
        for fragment in fragments.dropFirst(summarised?.parts.count ?? 0) {
            summary.add(fragment, chain: chain)
        }
        return summary.fragments > 0 ? summary : nil
    }

    /// Continues from a summary, if the fragment that it ends with is in the file.
    private mutating func begin(
        after summary: SegmentSummary, _ source: DescriptorSource
    ) throws(MP4Error) -> Bool {
        guard validEnd <= summary.head.lowerBound, summary.end <= sizeBytes else { return false }
        var scanner = try FragmentScanner(source)
        guard summary.end <= scanner.layout.fragments.upperBound else { return false }
        scanner.skip(to: summary.head.lowerBound)
        guard let last = try scanner.next(), last.moof == summary.head,
            last.range.upperBound == summary.end, last.sequenceNumber == summary.fragments,
            Digest(of: try source.read(at: last.moof.lowerBound, count: last.moof.count))
                == summary.chain
        else { return false }
        do throws(FragmentRecord.Malformed) {
            let payload = last.userBoxes.first { $0.userType == FragmentRecord.userType }?.payload
            begin(try FragmentRecord(parsing: payload ?? []))
        } catch {
            return false
        }
        fragments = summary.parts.map { part in
            Fragment(
                range: summary.head.lowerBound..<summary.end, spool: part.spool,
                runs: part.runs, media: summary.head.upperBound + 8..<summary.end, pieces: [],
                clock: part.clock, exchanges: part.exchanges,
                collectorZeroNanoseconds: part.collectorZeroNanoseconds,
                durableBytes: summary.end, numbers: part.numbers.ranges)
        }
        summarised = summary
        validEnd = summary.end
        chain = summary.chain
        return true
    }

    /// Reads the `moof` boxes of the fragments from the scanner's position on.
    private mutating func scan(
        _ scanner: inout FragmentScanner<DescriptorSource>, _ source: DescriptorSource
    ) throws(MP4Error) {
        while let fragment = try scanner.next() {
            do throws(FragmentRecord.Malformed) {
                try append(fragment)
            } catch {
                flaw = Flaw(
                    offset: fragment.range.lowerBound, reason: error.description,
                    end: fragment.range.upperBound)
                break
            }
            let moof = fragment.moof
            chain = Digest(of: try source.read(at: moof.lowerBound, count: moof.count))
            validEnd = fragment.range.upperBound
        }
        if flaw == nil, case .damaged(let error) = scanner.stop {
            flaw = Flaw(offset: validEnd, reason: "\(error)")
        }
    }

    /// Size of the file's beginning that was durable before its last fragments were written.
    ///
    /// The last fragment's value is not trusted: no digest covers its head yet.
    private var durableEnd: Int64 {
        max(summarised?.end ?? 0, fragments.dropLast().last?.durableBytes ?? 0)
    }

    /// Drops the fragments after the one with an index, and the damage among them.
    private mutating func takeBack(
        after kept: Int, _ source: DescriptorSource
    ) throws(MP4Error) {
        fragments.removeSubrange((kept + 1)...)
        validEnd = fragments[kept].range.upperBound
        chain = try digestOfHead(fragments[kept], source)
        flaw = nil
        isChainBroken = false
    }

    /// Whether the flaw, if any, can be the result of a power cut.
    var isTornOnly: Bool {
        guard let flaw else { return true }
        return sizeBytes - flaw.offset <= Self.unsettledBytes
            && (flaw.hasLostPage
                || fragmentsBehindFlaw <= (fragments.isEmpty ? 0 : Self.unsettledFragments))
    }

    /// The formats declared in the file.
    var formats: [TrackFormat] { movie.tracks.compactMap(\.format) }

    private mutating func append(_ fragment: ScannedFragment) throws(FragmentRecord.Malformed) {
        let payloads = fragment.userBoxes.filter { $0.userType == FragmentRecord.userType }
        guard let payload = payloads.first?.payload, payloads.count == 1 else {
            throw .init(description: "a fragment with \(payloads.count) fragment records")
        }
        let record = try FragmentRecord(parsing: payload)
        guard record.chain == chain else {
            isChainBroken = true
            throw .init(description: "the chain of digests is broken before this fragment")
        }
        let durable = Int64(clamping: record.durableBytes ?? 0)
        guard durable <= fragment.range.lowerBound else {
            throw .init(description: "a fragment record that calls itself durable")
        }
        if plan == nil { begin(record) }
        let runs = record.pieces.flatMap(\.runs).filter { $0.samples > 0 }
        guard runs.count == fragment.runs.count,
            zip(runs, fragment.runs).allSatisfy({
                $0.track == $1.track && Int($0.samples) == $1.samples.count
            })
        else { throw .init(description: "a fragment record that does not match the samples") }
        // No digest covers the header of the last fragment yet. Parts of it that did not reach the disk before a power cut are
        // zeros, and no written sample has zero bytes or zero duration.
        guard
            fragment.runs.allSatisfy({ run in
                run.samples.allSatisfy { $0.sizeBytes > 0 && $0.duration > 0 }
            })
        else { throw .init(description: "a fragment header with zeros instead of samples") }
        fragments.append(
            Fragment(
                range: fragment.range,
                spool: record.spool,
                runs: zip(runs, fragment.runs).map(place), media: fragment.media,
                pieces: record.pieces, clock: Self.clock(of: record),
                exchanges: record.exchanges,
                collectorZeroNanoseconds: record.collectorZeroNanoseconds,
                durableBytes: durable))
    }

    /// The last clock model of each epoch, in the order of their last fragments; the newest ``clocksPerFile`` at most.
    var clocks: [RecordedClock] {
        var seen: Set<EpochID> = []
        var clocks: [RecordedClock] = []
        for index in fragments.indices.reversed() {
            guard let clock = fragments[index].clock, seen.insert(clock.epoch).inserted else {
                continue
            }
            clocks.append(extrapolable(clock, endingAt: index))
            if clocks.count == Self.clocksPerFile { break }
        }
        return clocks.reversed()
    }

    /// A fragment's clock model, with the skew and the growth of the bound from the exchanges before it.
    private func extrapolable(_ clock: RecordedClock, endingAt last: Int) -> RecordedClock {
        let zero = fragments[last].collectorZeroNanoseconds
        var exchanges: [ClockExchange] = []
        for fragment in fragments[...last].reversed() where exchanges.count < Self.exchangesPerClock
        {
            guard fragment.clock?.epoch == clock.epoch, fragment.collectorZeroNanoseconds == zero
            else { continue }
            exchanges = fragment.exchanges + exchanges
        }
        return clock.extrapolable(with: exchanges)
    }

    /// The clock model in a fragment.
    static func clock(of record: FragmentRecord) -> RecordedClock? {
        guard let zero = record.collectorZeroNanoseconds, let run = record.pieces.last?.runs.last
        else { return nil }
        var clock = record.clock
        clock.offsetNanoseconds = run.appliedOffsetNanoseconds &- zero
        return RecordedClock(
            epoch: record.epoch, clock: clock, agentNanoseconds: run.firstDTSNanoseconds)
    }

    /// The file's description, as it was passed to its writer.
    private mutating func begin(_ record: FragmentRecord) {
        sessionZero = record.sessionZero
        let origin = record.segmentOriginNanoseconds
        plan = SegmentPlan(
            originNanoseconds: origin,
            tracks: movie.tracks.compactMap { track in
                guard let format = track.format else { return nil }
                return SegmentPlan.Track(
                    format: format,
                    originTicks: saturatingRescale(
                        origin, from: .nanoseconds, to: format.timescale),
                    shiftTicks: track.mediaTimeShift)
            })
    }

    /// A run with its end on the session's timeline.
    private func place(_ run: FragmentRecord.Run, _ scanned: ScannedRun) -> RunOnDisk {
        let track = plan?.tracks.first { $0.format.kind == run.track }
        let last = scanned.samples.last
        return RunOnDisk(
            track: run.track,
            sequences: run.firstSequence...run.firstSequence + UInt64(run.samples) - 1,
            end: TrackEnd(
                dtsTicks: (last?.dts ?? 0) - (track?.shiftTicks ?? 0) + (track?.originTicks ?? 0),
                durationTicks: Int64(last?.duration ?? 1),
                timescale: track?.format.timescale ?? .video))
    }

    /// Compares the media that may not have been durable with their digests, and drops the first damaged fragment and
    /// all later ones.
    private mutating func checkUnsettled(_ source: DescriptorSource) throws(MP4Error) {
        let settled = max(sizeBytes - Self.unsettledBytes, durableEnd)
        guard let first = fragments.firstIndex(where: { $0.range.upperBound > settled }) else {
            return
        }
        for index in first..<fragments.count {
            let fragment = fragments[index]
            let media = try source.read(
                at: fragment.media.lowerBound, count: fragment.media.count)
            guard !Self.match(media, fragment.pieces) else { continue }
            let flaw = Flaw(
                offset: fragment.range.lowerBound, reason: "media differ from what was received",
                end: fragment.range.upperBound)
            return try takeBack(index, flaw, source)
        }
    }

    /// Drops the last whole fragment if a power cut has changed its head.
    private mutating func checkHeadBeforeFlaw(_ source: DescriptorSource) throws(MP4Error) {
        guard let last = fragments.last?.range, flaw?.offset == last.upperBound,
            last.upperBound > durableEnd
        else { return }
        let changed = Flaw(
            offset: last.lowerBound, reason: "a fragment whose head has zeros",
            end: last.upperBound, hasLostPage: true)
        let bytes = try source.read(at: last.lowerBound, count: last.count)
        guard Self.hasLostPage(bytes, of: changed) else { return }
        try takeBack(fragments.count - 1, changed, source)
    }

    /// Drops a fragment and all later ones.
    private mutating func takeBack(
        _ index: Int, _ flaw: Flaw, _ source: DescriptorSource
    ) throws(MP4Error) {
        self.flaw = flaw
        validEnd = flaw.offset
        fragments.removeSubrange(index...)
        if let last = fragments.last { chain = try digestOfHead(last, source) }
    }

    private func digestOfHead(
        _ fragment: Fragment, _ source: DescriptorSource
    ) throws(MP4Error) -> Digest {
        Digest(of: try source.read(at: fragment.head.lowerBound, count: fragment.head.count))
    }

    /// Whether a page of a flawed fragment is zeros, within the fragment.
    /// - Parameter bytes: from the flaw's offset on.
    private static func hasLostPage(_ bytes: [UInt8], of flaw: Flaw) -> Bool {
        let nextPage = (flaw.offset / pageBytes + 1) * pageBytes
        // The fragment's end is unknown if its head is lost: the zeros may be the head.
        let end = min(flaw.end ?? nextPage + pageBytes, flaw.offset + Int64(bytes.count))
        var page = flaw.offset
        var next = nextPage
        while page < end {
            let part = bytes[Int(page - flaw.offset)..<Int(min(next, end) - flaw.offset)]
            if part.count >= shortestZeros, part.allSatisfy({ $0 == 0 }) { return true }
            page = next
            next += pageBytes
        }
        return false
    }

    /// The number of fragment records in `bytes`, found by their user type.
    private static func countRecords(in bytes: [UInt8]) -> Int {
        let type = FragmentRecord.userType
        return bytes.withUnsafeBytes { all in
            var count = 0
            var position = 0
            while position + type.count <= all.count {
                if all[position] == type[0],
                    all[position..<position + type.count].elementsEqual(type)
                {
                    count += 1
                }
                position += 1
            }
            return count
        }
    }

    private static func match(_ media: [UInt8], _ pieces: [FragmentRecord.Piece]) -> Bool {
        var offset = 0
        for piece in pieces {
            let end = offset + Int(piece.sizeBytes)
            guard end <= media.count,
                media[offset..<end].withUnsafeBytes({ Digest(of: $0) }) == piece.digest
            else { return false }
            offset = end
        }
        return offset == media.count
    }
}
