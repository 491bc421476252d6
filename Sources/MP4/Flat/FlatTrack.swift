package import Media

/// A sample of an ordinary movie file, as its track's tables describe it.
package struct FlatSample: Hashable, Sendable {
    package var sizeBytes: UInt32
    /// Ticks of the track.
    package var dts: Int64
    package var pts: Int64
    /// Used for the last sample only; otherwise the next decoding time determines it.
    package var duration: Int64
    package var isSync: Bool

    package init(sizeBytes: UInt32, dts: Int64, pts: Int64, duration: Int64, isSync: Bool) {
        self.sizeBytes = sizeBytes
        self.dts = dts
        self.pts = pts
        self.duration = duration
        self.isSync = isSync
    }
}

/// The tables of a track, built incrementally for any number of samples.
///
/// Rows can be removed at any time and stored elsewhere (``takeRows(of:)``), so that memory is bounded. Chunk offsets
/// are relative to the start of the media.
package struct FlatTrack: Sendable {
    /// A table of `stbl`, in the order in which they are written (ISO/IEC 14496-12 §8.5.1).
    package enum Table: Int, CaseIterable, Sendable {
        /// `stts`: count, delta.
        case times
        /// `stss`: sample number.
        case syncSamples
        /// `ctts`: count, offset.
        case compositionOffsets
        /// `stsc`: first chunk, samples per chunk, description.
        case chunks
        /// `stsz`: size.
        case sizes
        /// `co64`: offset, 8 bytes; `stco` when written into a small file.
        case offsets

        /// Bytes of a row in ``takeRows(of:)``.
        package var rowSizeBytes: Int {
            switch self {
            case .syncSamples, .sizes: 4
            case .times, .compositionOffsets, .offsets: 8
            case .chunks: 12
            }
        }
    }

    package let kind: TrackKind
    package let timescale: Timescale
    /// Number of rows of each table, removed ones included.
    private(set) var rows = [Int](repeating: 0, count: Table.allCases.count)
    private(set) var entries: [SampleEntryWriter] = []
    private(set) var hasCompositionOffsets = false
    private(set) var hasNegativeOffsets = false
    /// Decoding time of the first sample, from which the tables' times count.
    private(set) var firstDTS: Int64?
    private(set) var endDTS: Int64 = 0

    private var formats: [TrackFormat] = []
    private var pending = [[UInt8]](repeating: [], count: Table.allCases.count)
    private var last: FlatSample?
    private var times: (count: UInt32, delta: UInt32) = (0, 0)
    private var offsets: (count: UInt32, offset: Int32) = (0, 0)
    private var chunkCount: UInt32 = 0
    private var chunk: (samples: UInt32, description: UInt32) = (0, 0)
    private var lastChunkRow: (samples: UInt32, description: UInt32) = (0, 0)
    private var sampleCount: UInt32 = 0

    package init(kind: TrackKind, timescale: Timescale) {
        self.kind = kind
        self.timescale = timescale
    }

    /// Number of samples.
    package var count: Int { Int(sampleCount) }

    /// Begins a chunk of contiguous samples, `offset` bytes after the start of the media.
    ///
    /// - Throws: for a format that cannot be written.
    package mutating func beginChunk(
        at offset: Int64, format: TrackFormat
    ) throws(MP4Error) {
        endChunk()
        let index: Int
        if let known = formats.firstIndex(of: format) {
            index = known
        } else {
            entries.append(try SampleEntryWriter(format))
            formats.append(format)
            index = formats.count - 1
        }
        chunkCount += 1
        chunk = (0, UInt32(index + 1))
        add(.offsets) { $0.i64(offset) }
    }

    /// Adds the next sample of the chunk.
    ///
    /// - Throws: when decoding times do not increase.
    package mutating func append(_ sample: FlatSample) throws(MP4Error) {
        precondition(chunkCount > 0, "a sample is in a chunk")
        if let last { try close(last, before: sample.dts) }
        if firstDTS == nil { firstDTS = sample.dts }
        last = sample
        sampleCount += 1
        chunk.samples += 1
        endDTS = sample.dts + max(1, sample.duration)
        add(.sizes) { $0.u32(sample.sizeBytes) }
        if sample.isSync {
            let number = sampleCount
            add(.syncSamples) { $0.u32(number) }
        }
        guard let offset = Int32(exactly: sample.pts - sample.dts) else {
            throw .timeOverflow(track: kind)
        }
        if offset != 0 { hasCompositionOffsets = true }
        if offset < 0 { hasNegativeOffsets = true }
        if offsets.count > 0, offsets.offset == offset {
            offsets.count += 1
        } else {
            endOffsets()
            offsets = (1, offset)
        }
    }

    /// Ends the track: completes the last rows.
    package mutating func finish() throws(MP4Error) {
        if let last { try close(last, before: endDTS) }
        last = nil
        endTimes()
        endOffsets()
        endChunk()
    }

    /// Removes and returns the rows since the last call, big-endian as in the file.
    package mutating func takeRows(of table: Table) -> [UInt8] {
        defer { pending[table.rawValue] = [] }
        return pending[table.rawValue]
    }

    /// Number of bytes that ``takeRows(of:)`` would return.
    package func pendingBytes(of table: Table) -> Int { pending[table.rawValue].count }

    private mutating func close(_ sample: FlatSample, before next: Int64) throws(MP4Error) {
        let (distance, overflow) = next.subtractingReportingOverflow(sample.dts)
        guard !overflow, distance > 0, let delta = UInt32(exactly: distance) else {
            throw .decodingTime(track: kind, previous: sample.dts, next: next)
        }
        if times.count > 0, times.delta == delta {
            times.count += 1
        } else {
            endTimes()
            times = (1, delta)
        }
    }

    private mutating func endTimes() {
        let run = times
        if run.count > 0 {
            add(.times) { writer in
                writer.u32(run.count)
                writer.u32(run.delta)
            }
        }
        times = (0, 0)
    }

    private mutating func endOffsets() {
        let run = offsets
        if run.count > 0 {
            add(.compositionOffsets) { writer in
                writer.u32(run.count)
                writer.i32(run.offset)
            }
        }
        offsets = (0, 0)
    }

    private mutating func endChunk() {
        let (number, done) = (chunkCount, chunk)
        guard done.samples > 0, done != lastChunkRow else { return }
        lastChunkRow = done
        add(.chunks) { writer in
            writer.u32(number)
            writer.u32(done.samples)
            writer.u32(done.description)
        }
    }

    private mutating func add(_ table: Table, _ row: (inout BoxWriter) -> Void) {
        var writer = BoxWriter()
        row(&writer)
        pending[table.rawValue] += writer.bytes
        rows[table.rawValue] += 1
    }
}
