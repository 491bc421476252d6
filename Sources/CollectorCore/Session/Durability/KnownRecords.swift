import Archive
import Media
import Wire

/// What was on disk when the collector started, for as long as agents may send it again.
///
/// An agent resumes after the last record up to which everything is on disk. Of what follows, some may be there too: sound
/// waits for pictures, lines of a ledger wait for nothing, and a message may have been divided between two fragments.
struct KnownRecords: Sendable {
    /// What a message with samples is.
    enum Verdict: Sendable {
        /// Nothing of it is known.
        case new
        /// These parts of it are to be recorded; so much is on disk already.
        case partlyKnown([(Samples, PartialMessage)], known: MediaAmount)
    }

    private var spools: [String: [RecordedSpool]]
    /// By source and spool: what of it the present session has, or says of it that an earlier one has it.
    private var told: [String: [[UInt8]: SequenceSet]] = [:]
    /// By source and spool: the newest sample of each track that was given out to be recorded.
    private var recorded: [String: [[UInt8]: [TrackKind: UInt64]]] = [:]

    /// - Parameter session: the session that goes on; its ledgers speak of everything that is known of its own spools.
    init(_ spools: [String: [RecordedSpool]] = [:], session: RecoveredSession? = nil) {
        // Where everything up to the last record is there, agents go on behind it.
        self.spools = spools.compactMapValues { own in
            let open = own.filter { $0.sequences.highest > 0 }
            return open.isEmpty ? nil : open
        }
        for source in session?.sources ?? [] {
            let name = source.entry.name
            for known in self.spools[name] ?? [] where source.spools.contains(known.spool) {
                told[name, default: [:]][known.spool] = known.sequences
            }
        }
    }

    /// A source goes on behind what is on disk of it, as if the collector had just been started.
    /// - Parameters:
    ///   - recorded: all that is on disk.
    ///   - own: what of it is in the present session.
    mutating func add(_ recorded: [RecordedSpool], own: [RecordedSpool], of source: String) {
        for known in recorded {
            // Where nothing was to be looked up any more, everything was told.
            let before = index(of: source, known.spool) == nil ? known.sequences : nil
            var all = before ?? told[source]?[known.spool] ?? SequenceSet()
            if let own = own.first(where: { $0.spool == known.spool }) {
                all.formUnion(own.sequences)
            }
            told[source, default: [:]][known.spool] = all
        }
        // All that was given out is on disk, or comes again.
        self.recorded[source] = nil
        let open = recorded.filter { $0.sequences.highest > 0 }
        spools[source] = open.isEmpty ? nil : open
    }

    /// The spools of a source whose agent has not gone past what was on disk of them.
    func spools(of source: String) -> [[UInt8]] { spools[source]?.map(\.spool) ?? [] }

    /// Looks at samples that have come.
    mutating func judge(_ samples: Samples, of source: String, spool: [UInt8]) -> Verdict {
        guard let index = index(of: source, spool), let known = spools[source]?[index] else {
            return .new
        }
        guard samples.firstSequence <= known.sequences.highest else {
            // The first that is past all of it; from here on nothing has to be looked up.
            let rest = PartialMessage(
                ends: ends(of: TrackKind.allCases, before: samples.firstSequence, of: source, known)
            )
            forget(index, of: source)
            return .partlyKnown([(samples, rest)], known: MediaAmount())
        }
        return divide(samples, by: known, of: source)
    }

    /// The numbers of a record that are not on disk.
    func missing(
        _ sequences: ClosedRange<UInt64>, of source: String, spool: [UInt8]
    ) -> [ClosedRange<UInt64>] {
        guard let index = index(of: source, spool), let known = spools[source]?[index] else {
            return [sequences]
        }
        return known.sequences.missing(in: sequences)
    }

    /// Parts of a record that are on disk, and of which the present session says nothing yet: an earlier one has them.
    mutating func takeUntold(
        _ sequences: ClosedRange<UInt64>, of source: String, spool: [UInt8]
    ) -> [ClosedRange<UInt64>] {
        guard let index = index(of: source, spool), let known = spools[source]?[index] else {
            return []
        }
        var said = told[source]?[spool] ?? SequenceSet()
        for missing in known.sequences.missing(in: sequences) { said.insert(missing) }
        let untold = said.missing(in: sequences)
        for range in untold {
            told[source, default: [:]][spool, default: SequenceSet()].insert(range)
        }
        return untold
    }

    /// What the present session lacks of a spool in front of something that it has.
    func holes(of source: String, spool: [UInt8], behind last: UInt64) -> [ClosedRange<UInt64>] {
        guard index(of: source, spool) != nil, let own = told[source]?[spool], own.highest > last
        else { return [] }
        return own.missing(in: last + 1...own.highest)
    }

    /// All that is known of a spool.
    func sequences(of source: String, spool: [UInt8]) -> SequenceSet {
        index(of: source, spool).flatMap { spools[source]?[$0].sequences } ?? SequenceSet()
    }

    /// The next session has nothing yet.
    mutating func sessionEnded() { told = [:] }

    private func index(of source: String, _ spool: [UInt8]) -> Int? {
        guard !spools.isEmpty else { return nil }
        return spools[source]?.firstIndex { $0.spool == spool }
    }

    private mutating func forget(_ index: Int, of source: String) {
        let spool = spools[source]?.remove(at: index).spool ?? []
        if spools[source]?.isEmpty == true { spools[source] = nil }
        told[source]?[spool] = nil
        recorded[source]?[spool] = nil
    }

    /// Where tracks stand before a record, if that is on disk: a track of which something was recorded since goes on behind it.
    private func ends(
        of tracks: [TrackKind], before sequence: UInt64, of source: String, _ known: RecordedSpool
    ) -> [TrackKind: TrackEnd] {
        var ends: [TrackKind: TrackEnd] = [:]
        for track in tracks {
            guard let (end, number) = known.end(of: track, before: sequence) else { continue }
            let newest = recorded[source]?[known.spool]?[track] ?? 0
            if newest < number || newest >= sequence { ends[track] = end }
        }
        return ends
    }

    private mutating func divide(
        _ samples: Samples, by known: RecordedSpool, of source: String
    ) -> Verdict {
        var parts: [(Samples, PartialMessage)] = []
        var amount = samples.amount
        var offset = 0
        var sequence = samples.firstSequence
        for run in samples.runs {
            let numbers = sequence...sequence + UInt64(run.count) - 1
            for missing in known.sequences.missing(in: numbers) {
                let start = Int(missing.lowerBound - sequence)
                let range = start..<start + Int(missing.upperBound - missing.lowerBound) + 1
                var part = samples
                part.firstSequence = missing.lowerBound
                part.runs = [run.part(range)]
                let rest = PartialMessage(
                    offsetBytes: offset + run.sizes[..<start].reduce(0) { $0 + Int($1) },
                    ends: ends(of: [run.track], before: missing.lowerBound, of: source, known))
                recorded[source, default: [:]][known.spool, default: [:]][run.track] =
                    missing.upperBound
                parts.append((part, rest))
                amount -= part.amount
            }
            offset += run.sizeBytes
            sequence = numbers.upperBound + 1
        }
        return .partlyKnown(parts, known: amount)
    }
}

extension SampleRun {
    /// Some of the run's samples.
    fileprivate func part(_ range: Range<Int>) -> SampleRun {
        SampleRun(
            track: track, sizes: Array(sizes[range]), dtsNanoseconds: Array(dtsNanoseconds[range]),
            ptsOffsetsNanoseconds: ptsOffsetsNanoseconds.isEmpty
                ? [] : Array(ptsOffsetsNanoseconds[range]),
            durationsNanoseconds: durationsNanoseconds.count == 1
                ? durationsNanoseconds : Array(durationsNanoseconds[range]),
            flags: flags.count == 1 ? flags : Array(flags[range]))
    }
}
