import Archive
import MP4
import Media

/// A fragment of one archive, or a part of it.
struct MergedPart: Sendable {
    /// Index of the copy in the session.
    var copy: Int
    var file: RecordedFile
    var record: FragmentRecord?
    /// Byte range of `moof` and `mdat`.
    var range: Range<Int64>
    var pieces: [RecordedPiece]
    /// The whole fragment is used.
    var isWhole: Bool
    var term: UInt64
    /// The lowest sequence number; nil if the record is unreadable.
    var firstSequence: UInt64?
    /// Decoding time of its first sample, session time in nanoseconds.
    var timeNanoseconds: Int64

    /// Maximum error of its times: that of its record, or of the retiming that moved them.
    /// - Parameter recorded: the bound in its record; 0 stands for times that no clock has measured.
    func boundNanoseconds(recorded: UInt64) -> UInt64 {
        guard let retiming = file.retiming, recorded > 0 else { return recorded }
        let bound = pieces.lazy.flatMap(\.runs).compactMap { run -> UInt64? in
            guard let first = run.samples.first, let ticks = file.recordedTicks(of: first) else {
                return nil
            }
            return retiming.track(run.track)?.boundNanoseconds(at: ticks)
        }.max()
        guard let bound else { return recorded }
        return retiming.addsBounds ? recorded.clampedAdding(bound) : bound
    }

    /// Order of reading: by number within a spool, otherwise by time.
    func precedes(_ other: MergedPart) -> Bool {
        if let record, let spool = other.record?.spool, spool == record.spool,
            let first = firstSequence, let second = other.firstSequence, first != second
        {
            return first < second
        }
        return (timeNanoseconds, copy) < (other.timeNanoseconds, other.copy)
    }
}

/// Merges fragments of several archives' files of one segment, each record once.
///
/// Merging continues when the files have grown; the order so far does not change.
struct FragmentJoiner: Sendable {
    /// A file to merge.
    struct Input: Sendable {
        /// Index of the copy in the session.
        var copy: Int
        /// The archive's name.
        var archive: String
        /// Name of the file in listings.
        var name: String
        var shiftNanoseconds: Int64
        var file: RecordedFile
        /// The records of a previous segment's file that are read with this segment; nil: it is a file of this segment.
        var only: [SpoolID: SequenceSet]?
        /// Records of this file that are read with the next segment instead.
        var without: [SpoolID: SequenceSet] = [:]

        /// The parts of a range that are read from this file.
        func read(_ range: ClosedRange<UInt64>, of spool: SpoolID) -> [ClosedRange<UInt64>] {
            if let only { return only[spool]?.present(in: range) ?? [] }
            return without[spool]?.missing(in: range) ?? [range]
        }
    }

    private struct Stream: Sendable {
        var input: Int
        var cursor: FileCursor
        /// The next fragment.
        var fragment: RecordedFragment?
        /// The parts of it to read, in order.
        var parts: ArraySlice<MergedPart> = []
        /// A read error occurred.
        var isBroken = false
        /// Term of its last part.
        var term: UInt64 = 0
    }

    /// A record is read from a lower-ranked archive only after this time has passed on the timeline, because collectors that
    /// record the same samples are not equally fast.
    static let settlingNanoseconds: Int64 = 4_000_000_000

    private let inputs: [Input]
    private var streams: [Stream]
    private var taken: [SpoolID: SequenceSet] = [:]
    private(set) var sections: [MergedSection] = []
    /// The last section of each input.
    private var places: [Int: Int] = [:]
    private let omit: @Sendable (ArchiveError, _ path: String) -> Void

    /// - Parameter omit: receives the error of a file whose rest is left out.
    init(
        _ inputs: [Input], omit: @escaping @Sendable (ArchiveError, _ path: String) -> Void
    ) throws(ArchiveError) {
        self.inputs = inputs
        self.omit = omit
        streams = []
        for (index, input) in inputs.enumerated() {
            streams.append(Stream(input: index, cursor: try FileCursor(input.file)))
        }
    }

    /// Merges the available fragments.
    /// - Parameters:
    ///   - chosen: the copies to read, according to the present contents of the files.
    ///   - isOver: whether the files are complete; otherwise, a fragment that may get a predecessor waits.
    mutating func advance(
        _ chosen: ChosenRecords, isOver: Bool
    ) throws(ArchiveError) {
        for stream in streams.indices {
            if let fragment = streams[stream].fragment {
                streams[stream].parts = parts(of: fragment, streams[stream].input, chosen)[...]
            }
        }
        while true {
            var next: Int?
            for stream in streams.indices {
                fill(stream, chosen)
                guard let part = streams[stream].parts.first else { continue }
                if let best = next.flatMap({ streams[$0].parts.first }), !part.precedes(best) {
                    continue
                }
                next = stream
            }
            guard let next, let part = streams[next].parts.first else { return }
            if !isOver, mustWait(part, of: next) { return }
            streams[next].parts.removeFirst()
            streams[next].term = part.term
            try put(part, of: streams[next].input)
        }
    }

    /// Whether a higher-ranked archive may still receive the same records.
    private func mustWait(_ part: MergedPart, of stream: Int) -> Bool {
        let isAwaited = streams.contains { other in
            let input = inputs[other.input]
            return input.copy < part.copy && input.only == nil && !input.file.isFinished
                && !other.isBroken
                && other.parts.isEmpty && other.term >= part.term
        }
        guard isAwaited else { return false }
        var ahead = streams[stream].cursor
        do throws(ArchiveError) {
            while let fragment = try ahead.next() {
                let time = fragment.samples.lazy.map(\.dtsNanoseconds).max() ?? .min
                if time.clampedSubtracting(part.timeNanoseconds) >= Self.settlingNanoseconds {
                    return false
                }
            }
        } catch {
            // The error is reported when the fragment is read.
            return true
        }
        return true
    }

    private mutating func fill(_ stream: Int, _ chosen: ChosenRecords) {
        while streams[stream].parts.isEmpty, !streams[stream].isBroken {
            do throws(ArchiveError) {
                guard let fragment = try streams[stream].cursor.next() else {
                    streams[stream].fragment = nil
                    return
                }
                streams[stream].fragment = fragment
                streams[stream].parts = parts(of: fragment, streams[stream].input, chosen)[...]
            } catch {
                // Earlier fragments are valid; other archives may have the rest.
                streams[stream].isBroken = true
                omit(error, inputs[streams[stream].input].file.path)
            }
        }
    }

    /// The parts of a fragment to read, divided where another archive's records come between.
    private func parts(
        of fragment: RecordedFragment, _ input: Int, _ chosen: ChosenRecords
    ) -> [MergedPart] {
        let copy = inputs[input].copy
        func part(_ pieces: [RecordedPiece], isWhole: Bool, term: UInt64) -> MergedPart {
            let samples = pieces.lazy.flatMap(\.runs).flatMap(\.samples)
            return MergedPart(
                copy: copy, file: fragment.file, record: fragment.record, range: fragment.range,
                pieces: pieces, isWhole: isWhole, term: term,
                firstSequence: samples.compactMap(\.sequence).min(),
                timeNanoseconds: samples.map(\.dtsNanoseconds).min() ?? 0)
        }
        // Without numbers, copies in other archives cannot be recognised.
        guard let spool = fragment.record?.spool else {
            return fragment.pieces.isEmpty
                ? [] : [part(fragment.pieces, isWhole: true, term: 0)]
        }
        let shares = chosen.shares(of: spool)
        var found: [(share: Int, pieces: [RecordedPiece])] = []
        var count = 0
        for piece in fragment.pieces {
            var own: [(share: Int, run: ReadRun)] = []
            for run in piece.runs {
                guard let first = run.samples.first?.sequence, let last = run.samples.last?.sequence
                else { continue }
                for wanted in chosen.parts(of: first...last, spool: spool, archive: copy) {
                    let fresh = taken[spool]?.missing(in: wanted.records) ?? [wanted.records]
                    for records in fresh.flatMap({ inputs[input].read($0, of: spool) }) {
                        own.append((wanted.share, run.limited(to: records)))
                    }
                }
            }
            let kept = own.reduce(0) { $0 + $1.run.samples.count }
            count += kept
            let isWhole = kept == piece.runs.reduce(0) { $0 + $1.samples.count }
            if isWhole, let share = own.first?.share, own.allSatisfy({ $0.share == share }) {
                Self.append(piece, share, to: &found)
                continue
            }
            for (share, run) in own {
                Self.append(
                    RecordedPiece(range: run.range, digest: nil, runs: [run]), share, to: &found)
            }
        }
        let all = fragment.pieces.reduce(0) { $0 + $1.runs.reduce(0) { $0 + $1.samples.count } }
        return found.map { share, pieces in
            part(pieces, isWhole: found.count == 1 && count == all, term: shares[share].term)
        }
    }

    private static func append(
        _ piece: RecordedPiece, _ share: Int,
        to found: inout [(share: Int, pieces: [RecordedPiece])]
    ) {
        if found.last?.share == share {
            found[found.count - 1].pieces.append(piece)
        } else {
            found.append((share, [piece]))
        }
    }

    private mutating func put(_ part: MergedPart, of input: Int) throws(ArchiveError) {
        if let spool = part.record?.spool {
            for run in part.pieces.flatMap(\.runs) {
                guard let first = run.samples.first?.sequence, let last = run.samples.last?.sequence
                else { continue }
                taken[spool, default: SequenceSet()].insert(first...last)
            }
        }
        // A file does not start with fragments of unknown origin.
        if sections.isEmpty, part.record == nil { return }
        let place = try place(of: part, input)
        places[input] = place
        try sections[place].append(part, from: inputs[input])
    }

    /// The section for a part: a new one if its archive started a new file, or the formats differ.
    private mutating func place(
        of part: MergedPart, _ input: Int
    ) throws(ArchiveError) -> Int {
        if let last = sections.indices.last {
            let isOwn = places[input] == last
            let hasOther = inputs.indices.contains {
                $0 != input && inputs[$0].copy == part.copy && places[$0] == last
                    && inputs[$0].only == nil && inputs[input].only == nil
            }
            if isOwn || !hasOther, sections[last].accepts(part) { return last }
            // Late audio has a separate file.
            if let known = places[input], known != last, sections[known].accepts(part),
                part.timeNanoseconds < sections[last].newestNanoseconds
            {
                return known
            }
        }
        sections.append(
            try MergedSection(beginningWith: part, from: inputs[input], inputs: inputs))
        return sections.count - 1
    }
}

extension ReadRun {
    /// The samples with these numbers.
    fileprivate func limited(to records: ClosedRange<UInt64>) -> ReadRun {
        guard let first = samples.first, let start = first.sequence,
            records.lowerBound > start
                || records.upperBound < start + UInt64(samples.count) - 1
        else { return self }
        var limited = self
        limited.samples = samples.filter { $0.sequence.map(records.contains) ?? false }
        if let own = limited.samples.first, let stamp = firstAgentDTSNanoseconds {
            limited.firstAgentDTSNanoseconds = stamp.clampedAdding(
                own.dtsNanoseconds.clampedSubtracting(first.dtsNanoseconds))
        }
        return limited
    }

    /// Byte range in the file.
    var range: Range<Int64> {
        let first = samples[0].offset
        return first..<samples.reduce(first) { $0 + Int64($1.sizeBytes) }
    }
}
