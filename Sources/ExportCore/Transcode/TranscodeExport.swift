import Archive
package import Containers
import Encoding
import Media
import Terminal

/// A recording with one or both of its tracks encoded anew.
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

    /// What becomes of one track.
    private enum Lane {
        case pictures(PictureLane)
        case sound(SoundLane)
        case copy(CopyLane)

        var track: ContainerTrack {
            switch self {
            case .pictures(let lane): lane.track
            case .sound(let lane): lane.track
            case .copy(let lane): lane.track
            }
        }

        func take(_ sample: RecordedSample, into output: MuxedOutput) throws {
            switch self {
            case .pictures(let lane): try lane.take(sample, into: output)
            case .sound(let lane): try lane.take(sample, into: output)
            case .copy(let lane): try lane.take(sample, into: output)
            }
        }

        func finish(into output: MuxedOutput) throws -> Int {
            switch self {
            case .pictures(let lane): try lane.finish(into: output)
            case .sound(let lane): try lane.finish(into: output)
            case .copy: 0
            }
        }
    }

    /// Does it.
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
        let lanes = try lanes(OutputTimeline(start: start, end: settings.closesGaps ? nil : end))
        let muxed = try MuxedOutput(
            output, format: format, tracks: lanes.map { $0.lane.track },
            isFastStart: settings.isFastStart, control: control)
        var summary = ExportSummary()
        summary.startNanoseconds = start
        var closer = GapCloser(from: start)
        var samples = try SelectedSamples(range)
        while let recorded = try samples.next() {
            try control.check()
            guard let lane = lanes.first(where: { $0.kind == recorded.track }) else { continue }
            let sample = settings.closesGaps ? try closer.closed(recorded) : recorded
            try lane.lane.take(sample, into: muxed)
            control.progress(recorded.dtsNanoseconds - start, of: last - start)
        }
        var damaged = 0
        for lane in lanes { damaged += try lane.lane.finish(into: muxed) }
        if damaged > 0 {
            summary.notes.append("\(damaged) samples are damaged and were left out")
        }
        try muxed.finish()
        for (lane, packets) in zip(lanes, muxed.packets) {
            switch lane.kind {
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

    /// Where pictures are copied, the first one at or after the wanted start: an edit that begins between two pictures is moved by
    /// FFmpeg, and sound would no longer be with them.
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

    private func lanes(_ timeline: OutputTimeline) throws -> [(kind: TrackKind, lane: Lane)] {
        var lanes: [(kind: TrackKind, lane: Lane)] = []
        for kind in TrackKind.allCases where range.tracks.contains(kind) {
            var reader = SampleReader(
                range.source, from: range.startNanoseconds, to: range.endNanoseconds,
                tracks: [kind])
            guard let first = try reader.next() else { continue }
            let index = lanes.count
            let lane: Lane
            switch (kind, settings.videoCodec, settings.audioCodec) {
            case (.video, let codec?, _):
                lane = .pictures(
                    try PictureLane(
                        first, codec: codec, settings: settings, timeline: timeline, index: index))
            case (.audio, _, let codec?):
                lane = .sound(
                    try SoundLane(
                        first, codec: codec, settings: settings, timeline: timeline, index: index))
            default: lane = .copy(try CopyLane(first, timeline: timeline, index: index))
            }
            lanes.append((kind, lane))
        }
        guard !lanes.isEmpty else { throw ExportError.nothingThere(range.source.name) }
        return lanes
    }
}
