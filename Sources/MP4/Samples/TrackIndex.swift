import Media

/// A track's sample tables for the final `moov`, collected in memory.
struct TrackIndex: Sendable {
    let kind: TrackKind
    let timescale: Timescale
    let entry: SampleEntryWriter
    /// The media time shift of the fragments, ticks.
    private let shift: Int64

    private var sizes: [UInt32] = []
    /// One fewer than samples: a duration is known when the next sample is.
    private var durations: [UInt32] = []
    private var compositionOffsets: [Int32] = []
    /// Sample numbers, from one.
    private var syncSamples: [UInt32] = []
    private var chunks: [(offset: Int64, samples: UInt32)] = []
    private var firstDTS: Int64 = 0
    private var lastDTS: Int64 = 0
    private var lastDuration: UInt32 = 1

    init(kind: TrackKind, timescale: Timescale, shift: Int64, entry: SampleEntryWriter) {
        self.kind = kind
        self.timescale = timescale
        self.shift = shift
        self.entry = entry
    }

    var count: Int { sizes.count }

    /// Ticks from the first sample's decoding time to the last one's end.
    var mediaDuration: Int64 { lastDTS - firstDTS + Int64(lastDuration) }

    /// Adds the samples of a run as a chunk.
    mutating func append(_ run: ScannedRun) throws(MP4Error) {
        guard let first = run.samples.first else { return }
        guard UInt64(count + run.samples.count) <= SampleTable.maximumSamples else {
            throw .overLimit(
                box: "stsz", offset: first.offset, what: "number of samples",
                value: UInt64(count + run.samples.count), limit: SampleTable.maximumSamples)
        }
        if sizes.isEmpty {
            firstDTS = first.dts
            lastDTS = first.dts
        } else {
            try close(before: first.dts)
        }
        chunks.append((first.offset, UInt32(run.samples.count)))
        for (index, sample) in run.samples.enumerated() {
            if index > 0 { try close(before: sample.dts) }
            lastDTS = sample.dts
            lastDuration = max(1, sample.duration)
            sizes.append(sample.sizeBytes)
            compositionOffsets.append(sample.compositionOffset)
            if sample.isSync { syncSamples.append(UInt32(sizes.count)) }
        }
    }

    /// The last sample lasts until the next one's decoding time.
    private mutating func close(before next: Int64) throws(MP4Error) {
        let (distance, overflow) = next.subtractingReportingOverflow(lastDTS)
        guard !overflow, distance > 0, let duration = UInt32(exactly: distance) else {
            throw .decodingTime(track: kind, previous: lastDTS, next: next)
        }
        durations.append(duration)
    }

    /// Edits that present the first displayable sample at its time, and hide earlier ones.
    ///
    /// Video starts at its first sync sample (pictures presented before it are hidden), or after the pictures that a
    /// decoder needs to recover; audio starts after its priming. Samples before the file's own start are hidden as
    /// well.
    func presentation(
        priming: Int, movieTimescale: Timescale
    ) throws(MP4Error) -> TrackPresentation {
        let firstPresented =
            switch kind {
            case .video: min(max(Int(syncSamples.first ?? 1) - 1, priming), count - 1)
            case .audio: min(max(0, priming), count - 1)
            }
        var dts: Int64 = 0
        var start: Int64 = 0
        var end = Int64.min
        for index in 0..<count {
            let pts = dts + Int64(compositionOffsets[index])
            if index == firstPresented { start = pts }
            let duration = index < durations.count ? durations[index] : lastDuration
            end = max(end, pts + Int64(duration))
            dts += Int64(duration)
        }
        // The start of the presentation on the file's timeline, from whose zero the fragments' times count.
        var place = start + firstDTS - shift
        if place < 0 {
            start -= place
            place = 0
        }
        // A negative media time would mean an empty edit: delay the start instead.
        if start < 0 {
            place -= start
            start = 0
        }
        let wait = try scaled(place, to: movieTimescale)
        let length = try scaled(max(0, end - start), to: movieTimescale)
        var edits = [Edit(segmentDuration: length, mediaTime: start)]
        if wait > 0 { edits.insert(Edit(segmentDuration: wait, mediaTime: -1), at: 0) }
        return TrackPresentation(edits: edits, duration: wait + length)
    }

    private func scaled(_ ticks: Int64, to movieTimescale: Timescale) throws(MP4Error) -> UInt64 {
        do throws(RescaleOverflow) {
            return UInt64(try rescale(ticks, from: timescale, to: movieTimescale))
        } catch {
            throw .timeOverflow(track: kind)
        }
    }

    /// The tables after `stsd` (ISO/IEC 14496-12 §8.6, §8.7).
    func writeTables(to writer: inout BoxWriter) {
        writer.fullBox("stts") { writer in
            writer.runs(durations + [lastDuration]) { $0.u32($1) }
        }
        if syncSamples.count < count {
            writer.fullBox("stss") { writer in
                writer.u32(UInt32(syncSamples.count))
                for number in syncSamples { writer.u32(number) }
            }
        }
        if compositionOffsets.contains(where: { $0 != 0 }) {
            let isSigned = compositionOffsets.contains { $0 < 0 }
            writer.fullBox("ctts", version: isSigned ? 1 : 0) { writer in
                writer.runs(compositionOffsets) { $0.i32($1) }
            }
        }
        writeChunkTable(to: &writer)
        writeSizes(to: &writer)
        writeChunkOffsets(to: &writer)
    }

    /// `stsc`: an entry wherever the number of samples per chunk changes.
    private func writeChunkTable(to writer: inout BoxWriter) {
        writer.fullBox("stsc") { writer in
            let position = writer.bytes.count
            var entries: UInt32 = 0
            var previous: UInt32 = 0
            writer.u32(0)
            for (index, chunk) in chunks.enumerated() where chunk.samples != previous {
                writer.u32(UInt32(index + 1))
                writer.u32(chunk.samples)
                writer.u32(1)
                previous = chunk.samples
                entries += 1
            }
            writer.patch(entries, at: position)
        }
    }

    private func writeSizes(to writer: inout BoxWriter) {
        writer.fullBox("stsz") { writer in
            let first = sizes.first ?? 0
            let isUniform = first > 0 && sizes.allSatisfy { $0 == first }
            writer.u32(isUniform ? first : 0)
            writer.u32(UInt32(sizes.count))
            if !isUniform {
                for size in sizes { writer.u32(size) }
            }
        }
    }

    private func writeChunkOffsets(to writer: inout BoxWriter) {
        let isWide = chunks.contains { $0.offset > Int64(UInt32.max) }
        writer.fullBox(isWide ? "co64" : "stco") { writer in
            writer.u32(UInt32(chunks.count))
            for chunk in chunks {
                if isWide {
                    writer.i64(chunk.offset)
                } else {
                    writer.u32(UInt32(chunk.offset))
                }
            }
        }
    }
}

extension BoxWriter {
    /// A run-length table: the number of entries, then for each a count and a value.
    fileprivate mutating func runs<Value: Equatable>(
        _ values: [Value], _ write: (inout BoxWriter, Value) -> Void
    ) {
        let position = bytes.count
        var entries: UInt32 = 0
        u32(0)
        var index = 0
        while index < values.count {
            var end = index + 1
            while end < values.count, values[end] == values[index] { end += 1 }
            u32(UInt32(end - index))
            write(&self, values[index])
            entries += 1
            index = end
        }
        patch(entries, at: position)
    }
}
