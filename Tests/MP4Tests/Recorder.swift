import Media

@testable import MP4

/// Records a clip as the collector does: a header, fragments of batches, and finishing in place.
struct Recorder {
    /// The growing file.
    private(set) var bytes: [UInt8]
    /// End offset of each fragment; the first entry is the header's end.
    private(set) var boundaries: [Int64]
    private let priming: [TrackKind: Int]

    /// One sample of any track, with its time in nanoseconds for putting tracks in order.
    private struct Entry {
        var kind: TrackKind
        var time: Int64
        var sample: ClipSample
    }

    static let created: Int64 = 1_790_000_000

    init(
        _ clip: Clip, fragmentNanoseconds: Int64 = 1_000_000_000,
        batchNanoseconds: Int64 = 100_000_000, timecode: Timecode? = nil
    ) throws {
        var shifts: [TrackKind: Int64] = [:]
        var entries: [Entry] = []
        for track in clip.tracks {
            let kind = track.format.kind
            shifts[kind] = max(0, -(track.samples.map(\.dts).min() ?? 0))
            for sample in track.samples {
                let time = try rescale(
                    sample.dts, from: track.format.timescale, to: .nanoseconds, rounding: .down)
                entries.append(Entry(kind: kind, time: time, sample: sample))
            }
        }
        entries.sort { ($0.time, $0.kind.rawValue) < ($1.time, $1.kind.rawValue) }
        let header = try FragmentedHeader(
            tracks: clip.tracks.map {
                RecordingTrack(
                    format: $0.format, mediaTimeShift: shifts[$0.format.kind] ?? 0)
            }, createdUnixSeconds: Self.created, timecode: timecode)
        bytes = header.bytes
        boundaries = [Int64(bytes.count)]
        priming = Dictionary(
            uniqueKeysWithValues: clip.tracks.map { ($0.format.kind, $0.priming) })

        var builder = FragmentBuilder()
        var pending: [Entry] = []
        for entry in entries {
            if let first = pending.first {
                let isFull = entry.time - first.time >= fragmentNanoseconds
                let isKeyframe = entry.kind == .video && entry.sample.isSync
                if isFull || isKeyframe && pending.contains(where: { $0.kind == .video }) {
                    try flush(&builder, &pending, shifts, batchNanoseconds)
                }
            }
            pending.append(entry)
        }
        try flush(&builder, &pending, shifts, batchNanoseconds)
    }

    private mutating func flush(
        _ builder: inout FragmentBuilder, _ pending: inout [Entry],
        _ shifts: [TrackKind: Int64], _ batchNanoseconds: Int64
    ) throws {
        guard let start = pending.first?.time else { return }
        var media: [UInt8] = []
        let batches = Dictionary(grouping: pending) { ($0.time - start) / batchNanoseconds }
        for (_, batch) in batches.sorted(by: { $0.key < $1.key }) {
            for kind in TrackKind.allCases {
                let samples = batch.filter { $0.kind == kind }.map(\.sample)
                guard let first = samples.first else { continue }
                builder.beginRun(track: kind, firstDTS: first.dts + (shifts[kind] ?? 0))
                for sample in samples {
                    builder.append(
                        FragmentSample(
                            sizeBytes: UInt32(sample.bytes.count), duration: sample.duration,
                            compositionOffset: Int32(sample.pts - sample.dts),
                            isSync: sample.isSync))
                    media += sample.bytes
                }
            }
        }
        let box = UserBox(
            userType: Array(0..<16), payload: Array("fragment \(boundaries.count)".utf8))
        bytes += try builder.finish(
            sequenceNumber: UInt32(boundaries.count), trailingBox: box.bytes)
        bytes += media
        boundaries.append(Int64(bytes.count))
        pending = []
    }

    /// The file while its last fragment is being written, not sealed yet.
    func growing(to end: Int64) throws -> [UInt8] {
        let start = Int(boundaries.last { $0 < end } ?? 0)
        var tail = Array(bytes[start...])
        FragmentSeal.open(&tail)
        return Array((bytes[..<start] + tail).prefix(Int(end)))
    }

    /// The finish of a growing file.
    static func finish(
        _ file: [UInt8], priming: [TrackKind: Int] = [:]
    ) throws -> InPlaceFinish {
        var scanner = try FragmentScanner(MemorySource(file))
        var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
        while let fragment = try scanner.next() { try builder.append(fragment) }
        return InPlaceFinish(
            layout: scanner.layout, validEnd: scanner.validEnd,
            movie: try builder.movie(primingSamples: priming))
    }

    /// The file between the two writes of the finish, with both the final `moov` and the placeholder.
    func halfFinished() throws -> [UInt8] {
        let finish = try Self.finish(bytes, priming: priming)
        return Array(bytes[..<Int(finish.movieOffset)]) + finish.movie
    }

    /// The ordinary MP4.
    func finished() throws -> [UInt8] {
        let finish = try Self.finish(bytes, priming: priming)
        var file = Array(bytes[..<Int(finish.movieOffset)]) + finish.movie
        file.replaceSubrange(
            Int(finish.headerOffset)..<Int(finish.headerOffset) + finish.header.count,
            with: finish.header)
        return file
    }
}
