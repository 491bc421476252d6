import Archive
import Media

/// The samples of several sources on their common timeline, each track by its number.
struct SampleMerge {
    /// A track of a source.
    struct Track {
        var source: String
        var format: TrackFormat
    }

    private struct Lane {
        var reader: SampleReader
        var ahead: RecordedSample?
        /// Numbers of its tracks.
        var tracks: [TrackKind: Int]
        /// Pictures before the first keyframe cannot be decoded.
        var hasKeyframe = false
    }

    private(set) var tracks: [Track] = []
    /// The first decoding time, nanoseconds of session time.
    private(set) var startNanoseconds: Int64
    private var lanes: [Lane] = []

    init(_ sources: [RecordedSource], from: Int64?, to: Int64?) throws {
        startNanoseconds = .max
        for source in sources {
            var reader = SampleReader(source, from: from, to: to)
            guard let first = try reader.next() else { continue }
            startNanoseconds = min(startNanoseconds, first.dtsNanoseconds)
            var numbers: [TrackKind: Int] = [:]
            for format in first.file.formats {
                numbers[format.kind] = tracks.count
                tracks.append(Track(source: source.name, format: format))
            }
            lanes.append(Lane(reader: reader, ahead: first, tracks: numbers))
        }
        if lanes.isEmpty { startNanoseconds = 0 }
    }

    /// The next sample and its track's number; nil at the end.
    /// - Throws: when a track's format changes: a container has one for each.
    mutating func next() throws -> (track: Int, sample: RecordedSample)? {
        while true {
            var earliest: (lane: Int, time: Int64)?
            for (index, lane) in lanes.enumerated() {
                guard let time = lane.ahead?.dtsNanoseconds else { continue }
                if earliest.map({ time < $0.time }) ?? true { earliest = (index, time) }
            }
            guard let earliest, let sample = lanes[earliest.lane].ahead else { return nil }
            lanes[earliest.lane].ahead = try lanes[earliest.lane].reader.next()
            if sample.track == .video, !lanes[earliest.lane].hasKeyframe {
                guard sample.flags.contains(.keyframe) else { continue }
                lanes[earliest.lane].hasKeyframe = true
            }
            guard let track = lanes[earliest.lane].tracks[sample.track],
                sample.file.format(sample.track) == tracks[track].format
            else {
                throw ReplayError(
                    "\(sample.file.path): the \(sample.track) has another format than before; a container has one: play up to "
                        + "there with --until, or into a collector")
            }
            return (track, sample)
        }
    }
}
