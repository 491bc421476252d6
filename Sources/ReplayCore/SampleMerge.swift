import Archive
import Library
import Media
import Recordings

/// The samples of several sources on their common timeline, each track by its number.
struct SampleMerge {
    /// A sample and its track.
    struct Next {
        var track: Int
        var sample: RecordedSample
        /// The first sample of a track or of a new format: see ``SampleMerge/formats``.
        var beginsFormat: Bool
    }

    private struct Input {
        var reader: SampleReader
        var ahead: RecordedSample?
        /// Numbers of its tracks.
        var tracks: [TrackKind: Int]
        /// Pictures before the first keyframe cannot be decoded.
        var hasKeyframe = false
    }

    /// Present format of each track, by its number.
    private(set) var formats: [TrackFormat] = []
    /// The first decoding time, nanoseconds of session time.
    private(set) var startNanoseconds: Int64
    private var inputs: [Input] = []

    init(_ sources: [RecordedSource], from: Int64?, to: Int64?) throws {
        startNanoseconds = .max
        for source in sources {
            var reader = SampleReader(source, from: from, to: to)
            guard let first = try reader.next() else { continue }
            startNanoseconds = min(startNanoseconds, first.dtsNanoseconds)
            var numbers: [TrackKind: Int] = [:]
            for format in first.file.formats {
                numbers[format.kind] = formats.count
                formats.append(format)
            }
            inputs.append(Input(reader: reader, ahead: first, tracks: numbers))
        }
        if inputs.isEmpty { startNanoseconds = 0 }
    }

    /// The next sample; nil at the end.
    mutating func next() throws -> Next? {
        while true {
            var earliest: (input: Int, time: Int64)?
            for (index, input) in inputs.enumerated() {
                guard let time = input.ahead?.dtsNanoseconds else { continue }
                if earliest.map({ time < $0.time }) ?? true { earliest = (index, time) }
            }
            guard let earliest, let sample = inputs[earliest.input].ahead else { return nil }
            inputs[earliest.input].ahead = try inputs[earliest.input].reader.next()
            if sample.track == .video, !inputs[earliest.input].hasKeyframe {
                guard sample.flags.contains(.keyframe) else { continue }
                inputs[earliest.input].hasKeyframe = true
            }
            guard let format = sample.file.format(sample.track) else {
                throw ReplayError(
                    "\(sample.file.path) is damaged: its \(sample.track) track has no description")
            }
            guard let track = inputs[earliest.input].tracks[sample.track] else {
                inputs[earliest.input].tracks[sample.track] = formats.count
                formats.append(format)
                return Next(track: formats.count - 1, sample: sample, beginsFormat: true)
            }
            let isNew = formats[track] != format
            formats[track] = format
            return Next(track: track, sample: sample, beginsFormat: isNew)
        }
    }
}
