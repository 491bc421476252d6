import Media
import MP4

/// What one file holds, found by reading the heads of its fragments; of the end, which a power cut may have torn, the media too.
struct SegmentSurvey: Sendable {
    /// What a power cut can damage: only what was written since the last `fdatasync`, a second before. This is as much as a
    /// backlog brings in that time, at over 200 Mbit/s; media further in front have been durable.
    static let unsettledBytes: Int64 = 32 << 20
    /// As many fragments may lie behind a flaw that counts as torn: what a live source writes in some seconds. Behind bit rot
    /// there are more, and they are worth keeping.
    static let unsettledFragments = 8

    /// A fragment that is whole.
    struct Fragment: Sendable {
        var range: Range<Int64>
        var spool: SpoolID
        var runs: [RunOnDisk]
        var media: Range<Int64>
        var pieces: [FragmentRecord.Piece]
        /// None in records that do not say where zero was.
        var clock: RecordedClock?
    }

    /// Where the file is not what was written.
    struct Flaw: Sendable {
        var offset: Int64
        var reason: String
    }

    let isFinished: Bool
    let sizeBytes: Int64
    private(set) var fragments: [Fragment] = []
    /// The byte behind the last whole fragment.
    private(set) var validEnd: Int64
    private(set) var flaw: Flaw?
    /// Fragments that lie behind the flaw, readable or not.
    private var fragmentsBehindFlaw = 0
    private(set) var sessionZero: UTCTime?
    private(set) var plan: SegmentPlan?
    /// The digest of the last whole fragment's `moof`.
    private(set) var chain: Digest
    private let movie: Movie

    /// Reads a file.
    /// - Throws: when it cannot be read, or does not begin as a recording.
    init(of source: DescriptorSource) throws(MP4Error) {
        var scanner = try FragmentScanner(source)
        let layout = scanner.layout
        movie = layout.initialMovie
        isFinished = layout.isFinished
        sizeBytes = source.sizeBytes
        validEnd = layout.fragments.lowerBound
        let header = layout.initialMovie.header
        chain = Digest(of: try source.read(at: header.offset, count: Int(header.sizeBytes)))
        while let fragment = try scanner.next() {
            do throws(FragmentRecord.Malformed) {
                try append(fragment)
            } catch {
                flaw = Flaw(offset: fragment.range.lowerBound, reason: error.description)
                break
            }
            let moof = fragment.moof
            chain = Digest(of: try source.read(at: moof.lowerBound, count: moof.count))
            validEnd = fragment.range.upperBound
        }
        if flaw == nil, case .damaged(let error) = scanner.stop {
            flaw = Flaw(offset: validEnd, reason: "\(error)")
        }
        guard !isFinished else { return }
        try checkUnsettled(source)
        if let flaw, sizeBytes - flaw.offset <= Self.unsettledBytes {
            fragmentsBehindFlaw = Self.countRecords(
                in: try source.read(at: flaw.offset, count: Int(sizeBytes - flaw.offset)))
        }
    }

    /// Whether what is wrong, if anything, is what a power cut can have torn.
    var isTornOnly: Bool {
        guard let flaw else { return true }
        return sizeBytes - flaw.offset <= Self.unsettledBytes
            && fragmentsBehindFlaw <= (fragments.isEmpty ? 0 : Self.unsettledFragments)
    }

    /// The formats that the file declares.
    var formats: [TrackFormat] { movie.tracks.compactMap(\.format) }

    private mutating func append(_ fragment: ScannedFragment) throws(FragmentRecord.Malformed) {
        let payloads = fragment.userBoxes.filter { $0.userType == FragmentRecord.userType }
        guard let payload = payloads.first?.payload, payloads.count == 1 else {
            throw .init(description: "a fragment with \(payloads.count) records of its origin")
        }
        let record = try FragmentRecord(parsing: payload)
        guard record.chain == chain else {
            throw .init(description: "the chain of digests is broken before this fragment")
        }
        if plan == nil { begin(record) }
        let runs = record.pieces.flatMap(\.runs).filter { $0.samples > 0 }
        guard runs.count == fragment.runs.count,
            zip(runs, fragment.runs).allSatisfy({
                $0.track == $1.track && Int($0.samples) == $1.samples.count
            })
        else { throw .init(description: "a record of other samples than there are") }
        // No digest covers the head of the last fragment yet. What of it did not reach the disk before a power cut is zeros, and no
        // sample is written that has no bytes or lasts no time.
        guard
            fragment.runs.allSatisfy({ run in
                run.samples.allSatisfy { $0.sizeBytes > 0 && $0.duration > 0 }
            })
        else { throw .init(description: "a fragment whose head has zeros in the place of samples") }
        fragments.append(
            Fragment(
                range: fragment.range,
                spool: record.spool,
                runs: zip(runs, fragment.runs).map(place), media: fragment.media,
                pieces: record.pieces, clock: Self.clock(of: record)))
    }

    /// How the agent's clock was mapped in a fragment.
    private static func clock(of record: FragmentRecord) -> RecordedClock? {
        guard let zero = record.collectorZeroNanoseconds, let run = record.pieces.last?.runs.last
        else { return nil }
        var clock = record.clock
        clock.offsetNanoseconds = run.appliedOffsetNanoseconds &- zero
        return RecordedClock(
            epoch: record.epoch, clock: clock, agentNanoseconds: run.firstDTSNanoseconds)
    }

    /// The file's description, as it was given to its writer.
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

    /// Compares the media that may not have been durable with their digests, and takes back what differs and all behind it.
    private mutating func checkUnsettled(_ source: DescriptorSource) throws(MP4Error) {
        let settled = sizeBytes - Self.unsettledBytes
        guard let first = fragments.firstIndex(where: { $0.range.upperBound > settled }) else {
            return
        }
        for index in first..<fragments.count {
            let fragment = fragments[index]
            let media = try source.read(
                at: fragment.media.lowerBound, count: fragment.media.count)
            guard !Self.match(media, fragment.pieces) else { continue }
            flaw = Flaw(
                offset: fragment.range.lowerBound, reason: "media are not what was received")
            validEnd = fragment.range.lowerBound
            fragments.removeSubrange(index...)
            if let last = fragments.last {
                let head = last.range.lowerBound..<last.media.lowerBound
                // The header of `mdat` stands between `moof` and the media.
                chain = Digest(of: try source.read(at: head.lowerBound, count: head.count - 8))
            }
            return
        }
    }

    /// How many fragment records begin in `bytes`, by their user type.
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
