import Media
import MP4

extension FileVerifier {
    /// Compares the final `moov` with the fragments, sample by sample. If another index has replaced it, the new index must match
    /// the fragments and its own mapping, and the replaced one must match the fragments.
    mutating func compareIndices(
        _ source: some ByteSource, _ layout: RecordingLayout, fragmentsEnd: Int64
    ) throws(MP4Error) {
        let indices: IndexReplacement
        do throws(MP4Error) {
            indices = try IndexReplacement(of: source, layout: layout, fragmentsEnd: fragmentsEnd)
        } catch {
            damage("\(error)", at: fragmentsEnd)
            return
        }
        if indices.hasRemainder { try checkRemainder(after: indices.current.end, source) }
        let recorded = tracks.mapValues(\.samples)
        let timecode = layout.initialMovie.timecode
        let original = try Movie(reading: indices.original, from: source)
        var before = report.findings.count
        compare(original, with: recorded, nil)
        compareTimecode(original, timecode)
        if report.findings.count == before, let index {
            let expected = try index.movie(primingSamples: priming.counts)
            try compareBytes(original, source, with: expected)
        }
        guard indices.isReplaced else { return }
        let current = try Movie(reading: indices.current, from: source)
        compareTimecode(current, timecode)
        guard let box = current.userBoxes.first(where: { $0.userType == RetimingRecord.userType })
        else {
            damage("a replaced index without its mapping", at: indices.current.offset)
            return
        }
        do throws(MalformedRecord) {
            let record = try RetimingRecord(parsing: box.payload)
            report.retiming = FileReport.Retiming(record)
            before = report.findings.count
            compare(current, with: recorded, record)
            guard report.findings.count == before, index != nil else { return }
            do throws(MP4Error) {
                let expected = try Self.index(of: source, retimed: record, box)
                try compareBytes(current, source, with: expected)
            } catch {
                damage("\(error)", at: indices.current.offset)
            }
        } catch {
            damage("its retiming record is invalid: \(error)", at: indices.current.offset)
        }
    }

    /// The index that the fragments require after retiming.
    private static func index(
        of source: some ByteSource, retimed record: RetimingRecord, _ box: UserBox
    ) throws(MP4Error) -> [UInt8] {
        var scanner = try FragmentScanner(source)
        let initial = scanner.layout.initialMovie
        var builder = try FinalMovieBuilder(initialMovie: initial)
        var retiming = FileRetiming(record, movie: initial)
        while var fragment = try scanner.next() {
            retiming.apply(to: &fragment)
            try builder.append(fragment)
        }
        return try builder.movie(
            primingSamples: retiming.primingSamples, trailingBox: box.bytes)
    }

    /// Compares every byte of an index with the one that is built from the fragments.
    private mutating func compareBytes(
        _ movie: Movie, _ source: some ByteSource, with expected: [UInt8]
    ) throws(MP4Error) {
        let found = try source.read(
            at: movie.header.offset, count: Int(movie.header.sizeBytes))
        guard
            let difference = try MovieComparison.difference(
                found, at: movie.header.offset, expected: expected)
        else { return }
        let track =
            switch difference.handler {
            case "vide": " of the video track"
            case "soun": " of the audio track"
            case "tmcd": " of the timecode track"
            default: ""
            }
        damage(
            "the index and the fragments differ in '\(difference.box)'\(track)",
            at: difference.offset)
    }

    /// Checks the bytes after the active index: an interrupted replacement leaves a box that ends with the file, or zeros
    /// where its header was not written yet.
    private mutating func checkRemainder(
        after end: Int64, _ source: some ByteSource
    ) throws(MP4Error) {
        let count = source.sizeBytes - end
        let header = try source.read(at: end, count: Int(min(count, 8)))
        let isBox =
            header.count == 8
            && ["free", "moov"].contains { header[4...].elementsEqual($0.utf8) }
            && header[..<4].reduce(0) { $0 << 8 | Int64($1) } >= count
        if isBox || header.allSatisfy({ $0 == 0 }) {
            note(
                "an interrupted 'retime' left bytes after the index; the file is playable", at: end)
        } else {
            damage("\(count) bytes after the index are not part of the recording", at: end)
        }
    }

    /// Compares an index with the samples of fragments, moved along a mapping when there is one.
    private mutating func compare(
        _ movie: Movie, with recorded: [TrackKind: [ScannedSample]], _ record: RetimingRecord?
    ) {
        if movie.isFragmented { damage("finished, but its index says it is fragmented") }
        for (kind, walked) in tracks where !walked.samples.isEmpty {
            guard let track = movie.track(kind) else {
                damage("the index has no \(kind) track")
                continue
            }
            if track.format != walked.format {
                damage("the index describes another \(kind) format")
            }
            var samples = recorded[kind] ?? []
            if let mapping = record?.track(kind) {
                var retiming = TrackRetiming(
                    mapping, timescale: track.timescale, mediaTimeShift: walked.shift)
                let isAllPriming = kind == .audio && priming.counts[kind] ?? 0 >= samples.count
                let first = isAllPriming ? nil : firstPresented(kind, samples)
                for index in samples.indices {
                    samples[index].dts = retiming.place(
                        samples[index].dts,
                        compositionOffset: samples[index].compositionOffset,
                        isFirstPresented: index == first)
                }
                keepRetimed(
                    samples.map(\.dts), kind,
                    delayTicks: retiming.greatestDelayTicks,
                    followsCamera: mapping.camera != nil)
            }
            let table = track.samples
            guard table.count == samples.count else {
                damage(
                    "the index has \(table.count) \(kind) samples, the fragments "
                        + "\(samples.count)")
                continue
            }
            if let index = firstDifference(table, samples) {
                damage(
                    "the index and the fragments differ at \(kind) sample \(index + 1)",
                    at: samples[index].offset)
            } else {
                compareEdits(track, of: movie, kind, samples, shift: walked.shift)
            }
        }
    }

    private mutating func compareTimecode(_ movie: Movie, _ recorded: RecordedTimecode?) {
        guard let recorded, !recorded.isTold(by: movie) else { return }
        damage(
            "the index does not contain the file's start time of day", at: movie.header.offset)
    }

    /// The index of the first presented sample of a file.
    private func firstPresented(_ kind: TrackKind, _ samples: [ScannedSample]) -> Int? {
        switch kind {
        case .video:
            samples.firstIndex(where: \.isSync).map {
                min(max($0, priming.counts[kind] ?? 0), samples.count - 1)
            }
        case .audio: min(priming.counts[kind] ?? 0, samples.count - 1)
        }
    }

    /// Whether the edit list puts the first presented sample at its time on the file's timeline.
    private mutating func compareEdits(
        _ track: MovieTrack, of movie: Movie, _ kind: TrackKind, _ samples: [ScannedSample],
        shift: Int64
    ) {
        let first = firstPresented(kind, samples) ?? 0
        guard let start = samples.first?.dts, let edit = track.edits.last else {
            damage("the index has no edit list for \(kind)")
            return
        }
        let wait = track.edits.dropLast().map { Int64(clamping: $0.segmentDuration) }.clampedSum
        // The time at which the edit list presents the sample: the delay, and the media time at which presentation
        // begins.
        let media = (samples[first].pts - start).clampedSubtracting(edit.mediaTime)
        do {
            let presented =
                try rescale(wait, from: movie.timescale, to: track.timescale)
                .clampedAdding(media)
            // Exact, unless the movie's timescale could not be made fine enough for the track's.
            let isExact = movie.timescale.ticksPerSecond % track.timescale.ticksPerSecond == 0
            let wanted = samples[first].pts.clampedSubtracting(shift)
            if presented.clampedSubtracting(wanted).magnitude > (isExact ? 0 : 1) {
                damage("the edit list of \(kind) does not begin where its samples do")
            }
        } catch {
            damage("the edit list of \(kind) begins with an impossible delay")
        }
    }

    private func firstDifference(_ table: SampleTable, _ samples: [ScannedSample]) -> Int? {
        let start = samples.first?.dts ?? 0
        var syncs = table.syncSamples?[...]
        for (index, sample) in samples.enumerated() {
            var isSync = true
            if syncs != nil {
                isSync = syncs?.first == index
                if isSync { syncs?.removeFirst() }
            }
            let same =
                table.offsets[index] == sample.offset
                && table.sizesBytes[index] == sample.sizeBytes
                && table.dts[index] == sample.dts - start
                && table.pts(index) == sample.pts - start && isSync == sample.isSync
            if !same { return index }
        }
        return nil
    }
}
