import Foundation
import Media

@testable import MP4

/// A sample with its bytes; times in ticks of its track, zero is where presentation starts.
struct ClipSample {
    var dts: Int64
    var pts: Int64
    var duration: UInt32
    var isSync: Bool
    var bytes: [UInt8]
}

struct ClipTrack {
    var format: TrackFormat
    var samples: [ClipSample]
    /// Leading samples that are not presented.
    var priming = 0
}

/// Media to record, from a foreign MP4 or synthesised.
struct Clip {
    var tracks: [ClipTrack]

    init(tracks: [ClipTrack]) {
        self.tracks = tracks
    }

    /// Parses a file with ``Movie`` and converts each track's times to our timescale.
    init(contentsOf path: String) throws {
        let source = MemorySource([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
        let movie = try Movie.read(from: source)
        tracks = []
        for track in movie.tracks {
            guard let format = track.format else { continue }
            var start: Int64 = 0
            for edit in track.edits {
                if edit.mediaTime < 0 {
                    start += try rescale(
                        Int64(edit.segmentDuration), from: movie.timescale, to: track.timescale)
                } else {
                    start -= edit.mediaTime
                    break
                }
            }
            let sync = track.samples.syncSamples.map(Set.init)
            var samples: [ClipSample] = []
            for index in 0..<track.samples.count {
                func ticks(_ value: Int64) throws -> Int64 {
                    try rescale(value + start, from: track.timescale, to: format.timescale)
                }
                let dts = track.samples.dts[index]
                samples.append(
                    ClipSample(
                        dts: try ticks(dts), pts: try ticks(track.samples.pts(index)),
                        duration: UInt32(
                            try ticks(dts + Int64(track.samples.durations[index])) - ticks(dts)),
                        isSync: sync?.contains(index) ?? true,
                        bytes: try source.read(
                            at: track.samples.offsets[index],
                            count: Int(track.samples.sizesBytes[index]))))
            }
            let priming = samples.prefix { $0.pts + Int64($0.duration) <= 0 }.count
            tracks.append(
                ClipTrack(
                    format: format, samples: samples,
                    priming: format.kind == .audio ? priming : 0))
        }
    }

    /// A few pictures that are valid for box readers but not decodable; no tool is needed.
    static func handmade(
        pictures: Int = 75, group: Int = 25, sound: Bool = true, start: Int64 = 0
    ) -> Clip {
        // 320×180, baseline, level 1.3; written down from the syntax, see SequenceParameterSetTests.
        let format = VideoFormat.h264(
            sequenceParameterSets: [Samples.baselineSPS], pictureParameterSets: [Samples.pps],
            width: 320, height: 180)
        var video: [ClipSample] = []
        for index in 0..<pictures {
            let isSync = index % group == 0
            let size = 20 + (index * 37) % 90
            let bytes: [UInt8] =
                [0, 0, 0, UInt8(size), isSync ? 0x65 : 0x41]
                + (1..<size).map { UInt8(truncatingIfNeeded: $0 * 31 + index) }
            let dts = start + Int64(index) * 3_600
            video.append(
                ClipSample(dts: dts, pts: dts, duration: 3_600, isSync: isSync, bytes: bytes))
        }
        var tracks = [ClipTrack(format: .video(format), samples: video)]
        if sound {
            let aac = AudioFormat.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)
            let first = start * 48 / 90 - 1_024
            let count = pictures * 1_920 / 1_024 + 1
            let samples = (0..<count).map { index in
                let time = first + Int64(index) * 1_024
                return ClipSample(
                    dts: time, pts: time, duration: 1_024, isSync: true,
                    bytes: (0..<(5 + index % 7)).map { UInt8($0 &* 7 &+ index & 0xFF) })
            }
            tracks.append(ClipTrack(format: .audio(aac), samples: samples, priming: 1))
        }
        return Clip(tracks: tracks)
    }
}

/// Bytes assembled by hand from the standard's syntax tables.
enum Samples {
    /// Baseline, level 1.3, 320×192 cropped to 320×180, POC type 2.
    static let baselineSPS: [UInt8] = [
        0x67, 0x42, 0xC0, 0x0D, 0xDA, 0x05, 0x06, 0x7E, 0x74,
    ]
    static let pps: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
}
