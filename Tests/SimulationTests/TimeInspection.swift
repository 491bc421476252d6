import Archive
import MP4
import Media

/// Compares the times of a simulated archive with capture times.
struct TimeInspection {
    /// Capture times of one source's samples, on the true clock.
    typealias Captured = [UInt8: [Int64]]

    private let captured: Captured
    /// Zero on the true clock.
    private let zero: Int64
    private(set) var violations: [String] = []
    private(set) var samples = 0
    private(set) var greatestErrorNanoseconds: Int64 = 0

    init(_ session: String, in layout: ArchiveLayout, zero: Int64, captured: Captured) throws {
        self.captured = captured
        self.zero = zero
        for source in try layout.sourceNames(session) {
            // A restarted box may still have samples of its previous clock, which can no longer be measured: they are
            // placed by arrival.
            let isGuessed = try Ledger.read(layout.ledger(session, source)).entries.contains {
                $0.kind == .time && $0.text?.contains("before any clock exchange") == true
            }
            guard !isGuessed else { continue }
            for path in try layout.segmentPaths(session, source) {
                try DescriptorSource.withFile(path) { try read($0, path) }
            }
        }
    }

    private mutating func read(_ source: DescriptorSource, _ path: String) throws {
        var scanner = try FragmentScanner(source)
        let movie = scanner.layout.initialMovie
        let mapping = try RetimingRecord.inForce(source, scanner.layout)
        var retiming = mapping.map { FileRetiming($0, movie: movie) }
        while var fragment = try scanner.next() {
            let recorded = fragment.runs
            let media = try source.read(
                at: fragment.media.lowerBound, count: fragment.media.count)
            let record = try FragmentRecord(
                parsing: fragment.userBoxes.first?.payload ?? [])
            retiming?.apply(to: &fragment)
            for (run, old) in zip(fragment.runs, recorded) {
                let track = movie.tracks.first { $0.kind == run.track }
                for (sample, before) in zip(run.samples, old.samples) {
                    let start = Int(sample.offset - fragment.media.lowerBound)
                    let bytes = media[start..<start + Int(sample.sizeBytes)]
                    guard let id = SimulatedCamera.identify(bytes, run.track), let track else {
                        continue
                    }
                    let session =
                        record.segmentOriginNanoseconds
                        + (sample.dts - track.mediaTimeShift) * 1_000_000_000
                        / Int64(track.timescale.ticksPerSecond)
                    let bound =
                        mapping?.track(run.track)?.boundNanoseconds(at: before.dts)
                        ?? record.clock.boundNanoseconds
                    check(id, session, bound, track.timescale, path)
                }
            }
        }
    }

    private mutating func check(
        _ id: SimulatedCamera.SampleID, _ session: Int64, _ bound: UInt64, _ scale: Timescale,
        _ path: String
    ) {
        guard let times = captured[id.source], Int(id.number) < times.count else { return }
        samples += 1
        let error = session - (times[Int(id.number)] - zero)
        greatestErrorNanoseconds = max(greatestErrorNanoseconds, abs(error))
        // A bound is the clock's. The track's grid is added: up to four ticks for continuous sound.
        let ticks = 5 * 1_000_000_000 / Int64(scale.ticksPerSecond)
        // A fragment's bound is that of its first sample; this is the growth in a second.
        let growth: Int64 = 600_000
        guard error.magnitude > bound.clampedAdding(UInt64(ticks + growth)) else { return }
        if violations.count < 5 {
            violations.append(
                "\(path.split(separator: "/").suffix(2).joined(separator: "/")): sample \(id) is "
                    + "off by \(error) ns, and its bound is \(bound) ns")
        }
    }
}
