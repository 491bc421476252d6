import Archive
package import Containers
import Encoding
import Recordings
import Media
import Terminal

/// Exports a recording with one or both of its tracks transcoded.
package struct TranscodeExport {
    private let range: ExportRange
    private let settings: TranscodeSettings
    private let format: ContainerFormat
    private let output: OutputFile
    private let control: WorkControl

    package init(
        _ range: ExportRange, to output: OutputFile, format: ContainerFormat,
        settings: TranscodeSettings, control: WorkControl
    ) {
        self.range = range
        self.settings = settings
        self.format = format
        self.output = output
        self.control = control
    }

    /// The processing of one track.
    private enum Transcoder {
        case pictures(PictureTranscoder)
        case sound(AudioTranscoder)
        case copy(CopyTranscoder)

        var track: ContainerTrack {
            switch self {
            case .pictures(let transcoder): transcoder.track
            case .sound(let transcoder): transcoder.track
            case .copy(let transcoder): transcoder.track
            }
        }

        func take(_ sample: RecordedSample, into output: MuxedOutput) throws {
            switch self {
            case .pictures(let transcoder): try transcoder.take(sample, into: output)
            case .sound(let transcoder): try transcoder.take(sample, into: output)
            case .copy(let transcoder): try transcoder.take(sample, into: output)
            }
        }

        func finish(into output: MuxedOutput) throws -> Int {
            switch self {
            case .pictures(let transcoder): try transcoder.finish(into: output)
            case .sound(let transcoder): try transcoder.finish(into: output)
            case .copy: 0
            }
        }
    }

    package func run() throws -> ExportSummary {
        guard let extent = try range.source.extent() else {
            throw ExportError.nothingThere(range.source.name)
        }
        let start = try copiedStart() ?? range.startNanoseconds ?? extent.startNanoseconds
        let end = range.endNanoseconds
        let last = min(end ?? .max, extent.endNanoseconds)
        guard start < extent.endNanoseconds else {
            throw ExportError.nothingThere(
                "\(range.source.name) from \(TimelinePoint.text(start)) on: it ends at "
                    + TimelinePoint.text(extent.endNanoseconds))
        }
        let transcoders = try transcoders(
            OutputTimeline(start: start, end: settings.closesGaps ? nil : end))
        let muxed = try MuxedOutput(
            output, format: format, tracks: transcoders.map { $0.transcoder.track },
            isFastStart: settings.isFastStart, control: control)
        var summary = ExportSummary()
        summary.startNanoseconds = start
        var closer = GapCloser(from: start)
        var samples = try SelectedSamples(range)
        while let recorded = try samples.next() {
            try control.check()
            guard let transcoder = transcoders.first(where: { $0.kind == recorded.track }) else {
                continue
            }
            let sample = settings.closesGaps ? try closer.closed(recorded) : recorded
            try transcoder.transcoder.take(sample, into: muxed)
            control.progress(recorded.dtsNanoseconds - start, of: last - start)
        }
        var damaged = 0
        for transcoder in transcoders { damaged += try transcoder.transcoder.finish(into: muxed) }
        if damaged > 0 {
            summary.notes.append("\(damaged) damaged samples left out")
        }
        try muxed.finish()
        for (transcoder, packets) in zip(transcoders, muxed.packets) {
            switch transcoder.kind {
            case .video: summary.pictures = packets
            case .audio: summary.soundPackets = packets
            }
        }
        summary.sizeBytes = try output.sizeBytes()
        summary.closedNanoseconds = closer.closedNanoseconds
        summary.durationNanoseconds = last - start - closer.closedNanoseconds
        try output.commit()
        return summary
    }

    /// If pictures are copied, the first one at or after the requested start: FFmpeg moves an edit that begins between
    /// two pictures, which would delay the audio.
    private func copiedStart() throws -> Int64? {
        guard settings.videoCodec == nil, range.tracks.contains(.video),
            let wanted = range.startNanoseconds
        else { return nil }
        var reader = SampleReader(
            range.source, from: wanted, to: range.endNanoseconds, tracks: [.video])
        var first: Int64?
        while let sample = try reader.next() {
            if let first, sample.dtsNanoseconds > first { break }
            guard sample.ptsNanoseconds >= wanted else { continue }
            first = min(first ?? sample.ptsNanoseconds, sample.ptsNanoseconds)
        }
        return first
    }

    private func transcoders(_ timeline: OutputTimeline) throws -> [(
        kind: TrackKind, transcoder: Transcoder
    )] {
        var transcoders: [(kind: TrackKind, transcoder: Transcoder)] = []
        for kind in TrackKind.allCases where range.tracks.contains(kind) {
            var reader = SampleReader(
                range.source, from: range.startNanoseconds, to: range.endNanoseconds,
                tracks: [kind])
            guard let first = try reader.next() else { continue }
            let index = transcoders.count
            let transcoder: Transcoder
            switch (kind, settings.videoCodec, settings.audioCodec) {
            case (.video, let codec?, _):
                transcoder = .pictures(
                    try PictureTranscoder(
                        first, codec: codec, settings: settings, timeline: timeline, index: index,
                        stamp: settings.burnsTime
                            ? TimeStamp(name: range.source.name, zero: range.sessionZero) : nil))
            case (.audio, _, let codec?):
                transcoder = .sound(
                    try AudioTranscoder(
                        first, codec: codec, settings: settings, timeline: timeline, index: index))
            default: transcoder = .copy(try CopyTranscoder(first, timeline: timeline, index: index))
            }
            transcoders.append((kind, transcoder))
        }
        guard !transcoders.isEmpty else { throw ExportError.nothingThere(range.source.name) }
        return transcoders
    }
}
