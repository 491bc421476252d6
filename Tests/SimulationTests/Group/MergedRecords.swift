import Archive
import MP4
import Media

/// The records of several archives as one: a record is known by its source, spool and number; the copy of the highest term counts,
/// and of equal ones that of the archive whose name sorts first.
struct MergedRecords {
    struct Key: Hashable {
        var source: String
        var spool: SpoolID
        var number: UInt64
    }

    private struct Copy {
        var archive: String
        var id: SimulatedCamera.SampleID
    }

    private struct Opening {
        var archive: String
        var after: UInt64
        var term: UInt64
    }

    private struct Held {
        var by: String
        var said: String
        var records: ClosedRange<UInt64>
        var source: String
        var spool: SpoolID
    }

    private var copies: [Key: [Copy]] = [:]
    private var openings: [String: [SpoolID: [Opening]]] = [:]
    private var held: [Held] = []
    /// By archive, source and spool: what its files and ledgers account for.
    private var accounted: [String: [String: [SpoolID: SequenceSet]]] = [:]
    private(set) var problems: [String] = []

    /// - Parameter archives: by name.
    init(_ archives: [String: ArchiveLayout]) throws {
        for (name, layout) in archives.sorted(by: { $0.key < $1.key }) {
            for session in try layout.sessionNames() {
                for source in try layout.sourceNames(session) {
                    for path in try layout.segmentPaths(session, source) {
                        try read(path, of: source, in: name)
                    }
                    for entry in try Ledger.read(layout.ledger(session, source)).entries {
                        note(entry, of: source, in: name)
                    }
                }
            }
        }
    }

    private mutating func read(_ path: String, of source: String, in archive: String) throws {
        try DescriptorSource.withFile(path) { file in
            var scanner = try FragmentScanner(file)
            while let fragment = try scanner.next() {
                let media = try file.read(
                    at: fragment.media.lowerBound, count: fragment.media.count)
                let record = try FragmentRecord(
                    parsing: fragment.userBoxes.first?.payload ?? [])
                for kind in TrackKind.allCases {
                    let numbers = record.pieces.flatMap(\.runs).filter { $0.track == kind }
                        .flatMap { $0.firstSequence..<$0.firstSequence + UInt64($0.samples) }
                    let samples = fragment.runs.filter { $0.track == kind }.flatMap(\.samples)
                    if numbers.count != samples.count {
                        problems.append("\(path): a record of other samples")
                    }
                    for (number, sample) in zip(numbers, samples) {
                        let start = Int(sample.offset - fragment.media.lowerBound)
                        let bytes = media[start..<start + Int(sample.sizeBytes)]
                        guard let id = SimulatedCamera.identify(bytes, kind) else { continue }
                        let key = Key(source: source, spool: record.spool, number: number)
                        copies[key, default: []].append(Copy(archive: archive, id: id))
                        account(number...number, of: source, record.spool, in: archive)
                    }
                }
            }
        }
    }

    private mutating func note(_ entry: LedgerEntry, of source: String, in archive: String) {
        for (spool, range) in entry.replacedRecords {
            account(range, of: source, spool, in: archive)
        }
        guard let spool = entry.spool.flatMap(SpoolID.init(hexadecimal:)) else { return }
        if entry.kind == .opened, let after = entry.after {
            openings[source, default: [:]][spool, default: []].append(
                Opening(archive: archive, after: after, term: entry.term ?? 0))
        }
        if entry.kind == .held, let collector = entry.collector {
            for range in entry.sequences {
                held.append(
                    Held(by: collector, said: archive, records: range, source: source, spool: spool)
                )
            }
        }
    }

    private mutating func account(
        _ range: ClosedRange<UInt64>, of source: String, _ spool: SpoolID, in archive: String
    ) {
        accounted[archive, default: [:]][source, default: [:]][spool, default: SequenceSet()]
            .insert(range)
    }

    private func term(of key: Key, in archive: String) -> UInt64 {
        openings[key.source]?[key.spool]?.filter { $0.archive == archive && $0.after < key.number }
            .last?.term ?? 0
    }

    /// How often each sample is in the whole.
    func samples(countsCopies: Bool) -> [SimulatedCamera.SampleID: Int] {
        var samples: [SimulatedCamera.SampleID: Int] = [:]
        for (key, copies) in copies {
            if countsCopies {
                for copy in copies { samples[copy.id, default: 0] += 1 }
                continue
            }
            let best = copies.max {
                let (a, b) = (term(of: key, in: $0.archive), term(of: key, in: $1.archive))
                return (a, $1.archive) < (b, $0.archive)
            }
            if let best { samples[best.id, default: 0] += 1 }
        }
        return samples
    }

    /// Number of records that are in more than one archive.
    var copied: Int { copies.values.count { Set($0.map(\.archive)).count > 1 } }
    /// Number of records that ledgers say others hold.
    var heldRecords: Int { held.reduce(0) { $0 + $1.records.count } }

    /// What must not be: copies that differ, two copies in one archive, a term of a spool in two archives, and records that an
    /// archive does not hold although another one says so.
    func violations(_ archives: Set<String>) -> [String] {
        var found = problems
        for (key, copies) in copies {
            if Set(copies.map(\.id)).count > 1 {
                found.append("\(key.source) record \(key.number): copies of different samples")
            }
            if Set(copies.map(\.archive)).count < copies.count {
                found.append("\(key.source) record \(key.number) is twice in one archive")
            }
        }
        for (source, spools) in openings {
            for (spool, openings) in spools {
                let byTerm = Dictionary(grouping: openings, by: \.term)
                for (term, own) in byTerm where Set(own.map(\.archive)).count > 1 {
                    found.append(
                        "\(source) spool \(spool) has the term \(term) in \(Set(own.map(\.archive)).sorted())"
                    )
                }
            }
        }
        for held in held where archives.contains(held.by) {
            let own = accounted[held.by]?[held.source]?[held.spool] ?? SequenceSet()
            if let lacking = own.missing(in: held.records).first {
                found.append(
                    "\(held.source): \(held.said) says that \(held.by) holds \(held.records), which lacks \(lacking)"
                )
            }
        }
        return found.sorted()
    }
}
