import Archive
import Library
package import MP4
import Media

/// A recording as one MP4 or MOV: its own samples, byte for byte, under one index.
///
/// Two passes. The first reads the heads of the source's fragments and makes the index and a list of ranges, both kept on disk, so that an
/// hour and a month cost the same memory. The second has the kernel copy the ranges one after the other. So the index can stand in
/// front of the media for the price of nothing.
package struct MovieExport {
    /// How it is written.
    package struct Options: Hashable, Sendable {
        package var flavour = MovieFlavour.mp4
        /// The index comes first: players can begin before they have all of the file.
        package var isFastStart = false
        package var closesGaps = false

        package init() {}
    }

    /// Samples that are looked at together, to be taken in the order in which their bytes lie: several seconds' worth.
    private static let windowSamples = 1_024

    private let range: ExportRange
    private let options: Options
    private let control: WorkControl
    private let output: OutputFile
    private let copies: CopyList
    private let tables: TableStore
    private var tracks: [Track] = []
    private var window: [RecordedSample] = []
    private var closer: GapCloser
    private var opening: OpeningPicture?
    private var summary = ExportSummary()

    /// A track on its way, and what of it is to be seen and heard.
    private struct Track {
        var flat: FlatTrack
        var firstPresented: Int64?
        /// The wanted start, and the first picture that is presented then or later.
        var wanted: Int64?
        var firstWanted: Int64?
        var lastPresented: Int64?
        var end: Int64?
    }

    /// - Parameter output: where it goes; committed when the export is whole.
    package init(
        _ range: ExportRange, to output: OutputFile, options: Options, control: WorkControl
    ) throws {
        self.range = range
        self.options = options
        closer = GapCloser(from: range.startNanoseconds)
        self.control = control
        self.output = output
        copies = try CopyList(beside: output.path)
        tables = TableStore(beside: output.path)
    }

    /// Does it.
    package mutating func run() throws -> ExportSummary {
        try plan()
        let end = range.endNanoseconds.map { $0 - closer.closedNanoseconds }
        let start = try start()
        var presented: [(track: FlatTrack, presentation: FlatMovie.Presentation)] = []
        for track in tracks { presented.append((track.flat, try presentation(track, start, end))) }
        let zero = try rescale(start.ticks, from: start.timescale, to: .nanoseconds)
        let movie = FlatMovie(
            flavour: options.flavour,
            createdUnixSeconds: (range.sessionZero.nanoseconds + zero) / 1_000_000_000)
        try write(movie, presented, start)
        summary.startNanoseconds = zero
        summary.closedNanoseconds = closer.closedNanoseconds
        for (track, presentation) in presented {
            let end = try rescale(presentation.end, from: track.timescale, to: .nanoseconds)
            summary.durationNanoseconds = max(summary.durationNanoseconds, end - zero)
        }
        try output.commit()
        return summary
    }

    // MARK: First pass

    /// Reads all heads.
    private mutating func plan() throws {
        opening = try OpeningPicture(of: range, closesGaps: options.closesGaps)
        var samples = try SelectedSamples(range)
        while let sample = try samples.next() {
            window.append(options.closesGaps ? try closer.closed(sample) : sample)
            if window.count >= Self.windowSamples {
                try control.check()
                try takeWindow()
            }
        }
        try takeWindow()
        guard !tracks.isEmpty else { throw ExportError.nothingThere(range.source.name) }
        for index in tracks.indices {
            try tracks[index].flat.finish()
            try tables.take(from: &tracks[index].flat, index: index, all: true)
        }
    }

    /// Adds the samples of the window in the order of their bytes, which for each track is that of their times.
    private mutating func takeWindow() throws {
        guard !window.isEmpty else { return }
        defer { window.removeAll(keepingCapacity: true) }
        var files: [String] = []
        var order: [String: Int] = [:]
        for sample in window where files.last != sample.file.path {
            files.append(sample.file.path)
            if order[sample.file.path] == nil { order[sample.file.path] = order.count }
        }
        let numbers = window.map { order[$0.file.path] ?? 0 }
        let sorted = window.indices.sorted {
            (numbers[$0], window[$0].offset) < (numbers[$1], window[$1].offset)
        }
        var previous: RecordedSample?
        for place in sorted {
            let sample = window[place]
            try add(sample, after: previous)
            previous = sample
        }
        for index in tracks.indices {
            try tables.take(from: &tracks[index].flat, index: index, all: false)
        }
    }

    private mutating func add(_ recorded: RecordedSample, after previous: RecordedSample?) throws {
        var sample = recorded
        let index: Int
        if let known = tracks.firstIndex(where: { $0.flat.kind == sample.track }) {
            index = known
        } else {
            tracks.append(
                Track(flat: FlatTrack(kind: sample.track, timescale: sample.timescale)))
            index = tracks.count - 1
            if sample.track == .video, let start = range.startNanoseconds {
                tracks[index].wanted = try rescale(
                    start, from: .nanoseconds, to: sample.timescale)
            }
        }
        guard sample.timescale == tracks[index].flat.timescale else {
            throw ExportError.refused(
                path: sample.file.path,
                reason:
                    "its audio sample rate differs from the files before it: export the parts with --start "
                    + "and --duration, or use --audio-codec aac")
        }
        if let wanted = tracks[index].wanted, opening?.isTheOne(sample) == true,
            sample.ptsTicks < wanted, wanted - sample.dtsTicks <= Int64(Int32.max)
        {
            // It is seen from the cut's beginning to its own end. The table has 32 bits for how long after its decoding that is.
            sample.durationTicks = max(1, sample.durationTicks - (wanted - sample.ptsTicks))
            sample.ptsTicks = wanted
        }
        let follows =
            previous.map {
                $0.track == sample.track && $0.file === sample.file
                    && $0.offset + Int64($0.sizeBytes) == sample.offset
            } ?? false
        if !follows {
            try tracks[index].flat.beginChunk(at: copies.totalBytes, format: sample.format)
        }
        try tracks[index].flat.append(
            FlatSample(
                sizeBytes: UInt32(sample.sizeBytes), dts: sample.dtsTicks, pts: sample.ptsTicks,
                duration: recorded.durationTicks, isSync: sample.flags.contains(.keyframe)))
        try copies.append(
            sample.file.path, sample.offset..<sample.offset + Int64(sample.sizeBytes))
        note(sample, track: index)
    }

    private mutating func note(_ sample: RecordedSample, track index: Int) {
        summary.count(sample.track)
        if !sample.flags.contains(.priming), !sample.isHidden {
            let first = tracks[index].firstPresented ?? sample.ptsTicks
            tracks[index].firstPresented = min(first, sample.ptsTicks)
            if let wanted = tracks[index].wanted, sample.ptsTicks >= wanted {
                tracks[index].firstWanted = min(
                    tracks[index].firstWanted ?? sample.ptsTicks, sample.ptsTicks)
            }
        }
        // Of the last one that is presented: what one before a gap says of its length may reach to the gap's far end.
        guard sample.ptsTicks >= tracks[index].lastPresented ?? .min else { return }
        tracks[index].lastPresented = sample.ptsTicks
        tracks[index].end = sample.ptsTicks + max(1, sample.durationTicks)
    }

    // MARK: What is presented when

    /// The movie's beginning: as asked for, or where the first track begins.
    private func start() throws -> FlatMovie.Instant {
        if let start = range.startNanoseconds {
            return FlatMovie.Instant(ticks: start, timescale: .nanoseconds)
        }
        var earliest: (instant: FlatMovie.Instant, nanoseconds: Int64)?
        for track in tracks {
            guard let first = track.firstPresented else { continue }
            let time = try rescale(first, from: track.flat.timescale, to: .nanoseconds)
            if time < earliest?.nanoseconds ?? .max {
                earliest = (
                    FlatMovie.Instant(ticks: first, timescale: track.flat.timescale), time
                )
            }
        }
        guard let earliest else { throw ExportError.nothingThere(range.source.name) }
        return earliest.instant
    }

    private func presentation(
        _ track: Track, _ start: FlatMovie.Instant, _ endNanoseconds: Int64?
    ) throws -> FlatMovie.Presentation {
        let timescale = track.flat.timescale
        let zero = try rescale(start.ticks, from: start.timescale, to: timescale)
        // The picture that is shown at the start has been moved there: FFmpeg moves a track whose edit begins between two pictures to
        // its first whole one, and sound would be late by as much.
        let begin = track.firstWanted ?? max(zero, track.firstPresented ?? track.end ?? zero)
        var end = track.end ?? begin
        if let endNanoseconds {
            end = min(end, try rescale(endNanoseconds, from: .nanoseconds, to: timescale))
        }
        return FlatMovie.Presentation(start: begin, end: max(begin, end))
    }

    // MARK: Second pass

    private mutating func write(
        _ movie: FlatMovie,
        _ tracks: [(track: FlatTrack, presentation: FlatMovie.Presentation)],
        _ start: FlatMovie.Instant
    ) throws {
        let front = Int64(movie.fileType.count) + FlatMovie.mediaHeaderSizeBytes
        func parts(mediaEnd: Int64) throws -> ([FlatMovie.Part], Int64) {
            let parts = try movie.movie(tracks, from: start, mediaEnd: mediaEnd)
            return (parts, parts.reduce(0) { $0 + $1.sizeBytes(tracks.map { $0.track }) })
        }
        var (index, indexBytes) = try parts(mediaEnd: front + copies.totalBytes)
        if options.isFastStart {
            (index, indexBytes) = try parts(mediaEnd: front + indexBytes + copies.totalBytes)
        }
        let mediaStart = options.isFastStart ? front + indexBytes : front
        let file = try ByteFile(creating: output.temporaryPath, named: output.path)
        try file.write(movie.fileType)
        if options.isFastStart { try tables.write(index, mediaStart: mediaStart, to: file) }
        try file.write(FlatMovie.mediaHeader(sizeBytes: copies.totalBytes))
        try copies.copy(to: file, control: control)
        if !options.isFastStart { try tables.write(index, mediaStart: mediaStart, to: file) }
        try file.flush()
        summary.sizeBytes = file.position
    }
}
