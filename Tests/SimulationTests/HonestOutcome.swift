import Archive
import Media
import MP4

/// The recordings of some sources, to compare runs with and without a hostile agent.
struct HonestOutcome {
    /// Bytes of each file, by its path in the sources' part of the archive.
    private(set) var files: [String: [UInt8]] = [:]
    /// Presentation time of each sample, nanoseconds since 1970.
    private(set) var times: [SimulatedCamera.SampleID: Int64] = [:]
    /// The sequences of each file's fragments.
    private(set) var fragments: [String: [[ClosedRange<UInt64>]]] = [:]

    init(_ layout: ArchiveLayout, of names: [String]) throws {
        for session in try layout.sessionNames() {
            let zero = try SessionManifest.read(layout.manifest(session)).zeroUTCNanoseconds
            for name in try layout.sourceNames(session) where names.contains(name) {
                let ledger = layout.ledger(session, name)
                files["\(session)/\(name)/ledger"] = try FileSystem.read(ledger, limit: 1 << 28)
                for path in try layout.segmentPaths(session, name) {
                    files[String(path.dropFirst(layout.sessions.count))] = try FileSystem.read(
                        path, limit: 1 << 28)
                    try note(path, zero, archive: layout.sessions.count)
                }
            }
        }
    }

    private mutating func note(_ path: String, _ zero: Int64, archive: Int) throws {
        try DescriptorSource.withFile(path) { source in
            let layout = try RecordingLayout(of: source)
            var scanner = try FragmentScanner(source)
            while let fragment = try scanner.next() {
                let media = try source.read(
                    at: fragment.media.lowerBound, count: fragment.media.count)
                let record = try fragment.userBoxes.first.map {
                    try FragmentRecord(parsing: $0.payload)
                }
                fragments[String(path.dropFirst(archive)), default: []].append(
                    record?.sequences ?? [])
                for run in fragment.runs {
                    guard
                        let track = layout.initialMovie.tracks.first(where: { $0.kind == run.track }
                        )
                    else { continue }
                    for sample in run.samples {
                        let start = Int(sample.offset - fragment.media.lowerBound)
                        guard
                            let id = SimulatedCamera.identify(
                                media[start..<start + Int(sample.sizeBytes)], run.track)
                        else { continue }
                        let ticks = sample.pts - track.mediaTimeShift
                        let session =
                            (record?.segmentOriginNanoseconds ?? 0)
                            + Int64(
                                (Double(ticks) / Double(track.timescale.ticksPerSecond) * 1e9)
                                    .rounded())
                        times[id] = zero + session
                    }
                }
            }
        }
    }

    /// The first difference in files; nil: none.
    func difference(from other: HonestOutcome) -> String? {
        let names = Set(files.keys).symmetricDifference(other.files.keys).sorted()
        if let name = names.first { return "\(name) is there beside one of them only" }
        for name in files.keys.sorted() where files[name] != other.files[name] {
            let first = zip(files[name] ?? [], other.files[name] ?? []).enumerated().first {
                $0.element.0 != $0.element.1
            }
            let place = first?.offset ?? min(files[name]?.count ?? 0, other.files[name]?.count ?? 0)
            guard name.hasSuffix("ledger") else {
                return "\(name) differs from byte \(place) on, \(files[name]?.count ?? 0) and "
                    + "\(other.files[name]?.count ?? 0) bytes: \(fragments[name] ?? []) and "
                    + "\(other.fragments[name] ?? [])"
            }
            func rest(_ outcome: HonestOutcome) -> String {
                String(
                    decoding: outcome.files[name]?.dropFirst(max(0, place - 80)).prefix(300) ?? [],
                    as: UTF8.self)
            }
            return "\(name) differs from byte \(place) on: …\(rest(self)) and …\(rest(other))"
        }
        return nil
    }

    /// The first sample that is missing or presented at another time; nil: none.
    func shift(from other: HonestOutcome, toleranceNanoseconds: Int64) -> String? {
        for (id, time) in times.sorted(by: { $0.key < $1.key }) {
            guard let there = other.times[id] else { return "sample \(id) is missing" }
            if (there - time).magnitude > toleranceNanoseconds.magnitude {
                return "sample \(id) is presented \(there - time) ns later"
            }
        }
        return nil
    }
}
