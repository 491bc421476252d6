import Archive
import Recordings
import MP4
import Media

/// Stores the tables and the byte ranges of a movie while it is planned.
protocol MovieStorage {
    /// Bytes of all ranges so far.
    var mediaBytes: Int64 { get }

    mutating func append(_ file: RecordedFile, _ range: Range<Int64>) throws

    /// Appends bytes that differ from the recorded ones.
    mutating func append(_ bytes: [UInt8]) throws

    /// Removes completed rows of a track's tables: all of them, or only if there are many.
    mutating func take(from track: inout FlatTrack, index: Int, all: Bool) throws
}

/// Plans a movie of a recording's samples under one index: the byte ranges to be concatenated, and the index.
///
/// It reads only the heads of fragments. The storage determines where tables and ranges are: on disk for an export of
/// any length, in memory for a virtual file.
struct MoviePlan<Storage: MovieStorage> {
    /// Samples that are reordered together by their byte positions: several seconds' worth.
    private static var windowSamples: Int { 1_024 }

    private(set) var storage: Storage
    private let range: ExportRange
    private let closesGaps: Bool
    private let control: WorkControl
    private var tracks: [Track] = []
    private var window: [RecordedSample] = []
    private var closer: GapCloser
    private var opening: OpeningPicture?
    private var summary = ExportSummary()

    /// A track being built, and its presented range.
    private struct Track {
        var flat: FlatTrack
        var firstPresented: Int64?
        /// The requested start, and the first picture that is presented at or after it.
        var wanted: Int64?
        var firstWanted: Int64?
        var lastPresented: Int64?
        var end: Int64?
    }

    init(_ range: ExportRange, closesGaps: Bool, in storage: Storage, control: WorkControl) {
        self.range = range
        self.closesGaps = closesGaps
        self.storage = storage
        self.control = control
        closer = GapCloser(from: range.startNanoseconds)
    }

    /// The presented range of each track, and the movie around it.
    struct Result {
        var movie: FlatMovie
        var tracks: [(track: FlatTrack, presentation: FlatMovie.Presentation)]
        var start: FlatMovie.Instant
        /// Its `sizeBytes` is not set: the output has not been written yet.
        var summary: ExportSummary

        /// The `moov` box, and its size, for media that begin at `front`, after the box if it comes first.
        func index(
            front: Int64, mediaBytes: Int64, isFirst: Bool
        ) throws -> (parts: [FlatMovie.Part], sizeBytes: Int64) {
            func parts(mediaEnd: Int64) throws -> ([FlatMovie.Part], Int64) {
                let parts = try movie.movie(tracks, from: start, mediaEnd: mediaEnd)
                return (parts, parts.reduce(0) { $0 + $1.sizeBytes(tracks.map { $0.track }) })
            }
            let behind = try parts(mediaEnd: front + mediaBytes)
            return isFirst ? try parts(mediaEnd: front + behind.1 + mediaBytes) : behind
        }
    }

    /// Call it once, after ``read()``.
    mutating func result(flavour: MovieFlavour) throws -> Result {
        let end = range.endNanoseconds.map { $0 - closer.closedNanoseconds }
        let start = try start()
        var presented: [(track: FlatTrack, presentation: FlatMovie.Presentation)] = []
        for track in tracks { presented.append((track.flat, try presentation(track, start, end))) }
        let zero = try rescale(start.ticks, from: start.timescale, to: .nanoseconds)
        let movie = FlatMovie(
            flavour: flavour,
            createdUnixSeconds: (range.sessionZero.nanoseconds + zero) / 1_000_000_000)
        summary.startNanoseconds = zero
        summary.closedNanoseconds = closer.closedNanoseconds
        for (track, presentation) in presented {
            let end = try rescale(presentation.end, from: track.timescale, to: .nanoseconds)
            summary.durationNanoseconds = max(
                summary.durationNanoseconds, end.clampedSubtracting(zero))
        }
        return Result(movie: movie, tracks: presented, start: start, summary: summary)
    }

    /// Reads the heads of all selected fragments.
    mutating func read() throws {
        let reader = range.reader()
        opening = try OpeningPicture(of: range, with: reader, closesGaps: closesGaps)
        var samples = try SelectedSamples(range, with: reader)
        while let sample = try samples.next() {
            window.append(closesGaps ? try closer.closed(sample) : sample)
            if window.count >= Self.windowSamples {
                try control.check()
                try takeWindow()
            }
        }
        try takeWindow()
        guard !tracks.isEmpty else { throw ExportError.nothingThere(range.source.name) }
        for index in tracks.indices {
            try tracks[index].flat.finish()
            try storage.take(from: &tracks[index].flat, index: index, all: true)
        }
    }

    /// Adds the samples of the window in the order of their bytes, which for each track is that of their times.
    private mutating func takeWindow() throws {
        guard !window.isEmpty else { return }
        defer { window.removeAll(keepingCapacity: true) }
        // By their beginnings: with reordered pictures, a later file's first picture may be decoded before the audio of the
        // one before.
        var files: [RecordedFile] = []
        for sample in window where !files.contains(where: { $0.path == sample.file.path }) {
            files.append(sample.file)
        }
        files.sort { $0.originNanoseconds ?? .min < $1.originNanoseconds ?? .min }
        let order = Dictionary(
            files.enumerated().map { ($0.element.path, $0.offset) }, uniquingKeysWith: { $1 })
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
            try storage.take(from: &tracks[index].flat, index: index, all: false)
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
            throw ExportError.rateChanges(
                path: sample.file.path, atNanoseconds: sample.ptsNanoseconds)
        }
        if let wanted = tracks[index].wanted, opening?.isTheOne(sample) == true,
            sample.ptsTicks < wanted, wanted - sample.dtsTicks <= Int64(Int32.max)
        {
            // It is presented from the cut's start to its own end. The table has 32 bits for the delay after its
            // decoding.
            sample.durationTicks = max(1, sample.durationTicks - (wanted - sample.ptsTicks))
            sample.ptsTicks = wanted
        }
        let follows =
            previous.map {
                $0.track == sample.track && $0.file === sample.file
                    && $0.offset + Int64($0.sizeBytes) == sample.offset
            } ?? false
        if !follows {
            try tracks[index].flat.beginChunk(at: storage.mediaBytes, format: sample.format)
        }
        try tracks[index].flat.append(
            FlatSample(
                sizeBytes: UInt32(sample.sizeBytes), dts: sample.dtsTicks, pts: sample.ptsTicks,
                duration: recorded.durationTicks, isSync: sample.flags.contains(.keyframe)))
        try appendBytes(of: sample)
        note(sample, track: index)
    }

    private mutating func appendBytes(of sample: RecordedSample) throws {
        var start = sample.offset
        for patch in try sample.patches() {
            let position = sample.offset + Int64(patch.offset)
            try storage.append(sample.file, start..<position)
            try storage.append([patch.byte])
            start = position + 1
        }
        try storage.append(sample.file, start..<sample.offset + Int64(sample.sizeBytes))
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
        // The end is that of the last presented sample: the duration of one before a gap may extend over the gap.
        guard sample.ptsTicks >= tracks[index].lastPresented ?? .min else { return }
        tracks[index].lastPresented = sample.ptsTicks
        tracks[index].end = sample.ptsTicks + max(1, sample.durationTicks)
    }

    /// The start of the movie: the requested one, or the start of the first track.
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
        // The edit begins with a picture's own time: if it began between two pictures, FFmpeg would shift the track to
        // the next picture, which would delay the audio.
        let begin = track.firstWanted ?? max(zero, track.firstPresented ?? track.end ?? zero)
        var end = track.end ?? begin
        if let endNanoseconds {
            end = min(end, try rescale(endNanoseconds, from: .nanoseconds, to: timescale))
        }
        return FlatMovie.Presentation(start: begin, end: max(begin, end))
    }
}
