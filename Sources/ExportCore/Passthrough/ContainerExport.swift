import Archive
package import Containers
import Recordings
import Media
import Terminal

/// Exports a recording in a container without edit lists, with its samples byte for byte: MPEG-TS, Matroska, …
///
/// A cut begins at the keyframe that its first picture needs, with the audio of that moment, and the packet before, which
/// decoding needs.
package struct ContainerExport {
    private let range: ExportRange
    private let format: ContainerFormat
    private let closesGaps: Bool
    private let output: OutputFile
    private let control: WorkControl

    package init(
        _ range: ExportRange, to output: OutputFile, format: ContainerFormat, closesGaps: Bool,
        control: WorkControl
    ) {
        self.range = range
        self.format = format
        self.closesGaps = closesGaps
        self.output = output
        self.control = control
    }

    package func run() throws -> ExportSummary {
        var range = range
        let lead = try keyframeLead()
        if let start = range.startNanoseconds { range.startNanoseconds = start - lead }
        guard let extent = try range.source.extent() else {
            throw ExportError.nothingThere(range.source.name)
        }
        let start = range.startNanoseconds ?? extent.startNanoseconds
        let last = min(range.endNanoseconds ?? .max, extent.endNanoseconds)
        var summary = ExportSummary()
        summary.startNanoseconds = start
        let hidden = try hiddenLead(before: start)
        if lead > 0 || hidden > 0 {
            let what = lead > 0 ? "--start" : "the start of the recording"
            summary.notes.append(
                "starts \(TimelinePoint.text(max(lead, hidden))) before \(what), at a keyframe: \(format) has no edit list as "
                    + "MP4 and MOV have")
        }
        var samples = try SelectedSamples(range)
        var closer = GapCloser(from: range.startNanoseconds)
        let first = try Self.tracks(of: range)
        guard !first.isEmpty else { throw ExportError.nothingThere(range.source.name) }
        if let turned = first.map(\.orientation).first(where: { $0 != .upright }) {
            summary.notes.append(
                "\(format) does not store the display orientation (\(turned)), so players show the video unrotated: use MP4 "
                    + "or MOV, or --video-codec to rotate the pictures")
        }
        let soundStart = try soundStart(of: range, before: start, among: first)
        let muxed = try MuxedOutput(
            output, format: format,
            tracks: first.map { (format) throws(ContainerError) in try ContainerTrack(format) },
            isFastStart: false, control: control)
        func write(_ upcoming: Upcoming) throws {
            let sample = upcoming.sample
            let zero = try rescale(start, from: .nanoseconds, to: sample.timescale)
            try muxed.write(
                try sample.read(), track: upcoming.track, pts: sample.ptsTicks - zero,
                dts: sample.dtsTicks - zero, duration: sample.durationTicks,
                isKeyframe: sample.flags.contains(.keyframe))
            summary.count(sample.track)
            summary.durationNanoseconds = max(
                summary.durationNanoseconds, upcoming.timeNanoseconds)
        }
        var held: [Upcoming] = []
        while let recorded = try samples.next() {
            if recorded.track == .audio, recorded.ptsNanoseconds < soundStart { continue }
            guard let index = first.firstIndex(where: { $0.kind == recorded.track }) else {
                continue
            }
            guard recorded.format == first[index] else {
                throw ExportError.formatChanges(
                    recorded.track, atNanoseconds: recorded.ptsNanoseconds)
            }
            let sample = closesGaps ? try closer.closed(recorded) : recorded
            let time = recorded.ptsNanoseconds - start - closer.closedNanoseconds
            let upcoming = Upcoming(sample: sample, track: index, timeNanoseconds: time)
            // A picture at or after the end is needed only if one that is decoded later is presented before the end.
            guard recorded.track == .audio || recorded.ptsNanoseconds < range.endNanoseconds ?? .max
            else {
                held.append(upcoming)
                continue
            }
            if recorded.track == .video {
                for picture in held { try write(picture) }
                held = []
            }
            try write(upcoming)
            control.progress(recorded.ptsNanoseconds - start, of: last - start)
        }
        summary.closedNanoseconds = closer.closedNanoseconds
        try muxed.finish()
        summary.sizeBytes = try output.sizeBytes()
        try output.commit()
        return summary
    }

    /// A sample to be written.
    private struct Upcoming {
        var sample: RecordedSample
        var track: Int
        /// From the output's start.
        var timeNanoseconds: Int64
    }

    /// Time from the keyframe that the first picture needs to the requested start.
    private func keyframeLead() throws -> Int64 {
        guard let start = range.startNanoseconds, range.tracks.contains(.video) else { return 0 }
        var reader = SampleReader(range.source, from: start, to: nil, tracks: [.video])
        guard let first = try reader.next() else { return 0 }
        return max(0, start - (first.ptsNanoseconds))
    }

    /// The time of the first packet of sound, which precedes the first presented one: without it, that one would fade in.
    ///
    /// The muxer then moves all times, so that none is negative.
    private func soundStart(
        of range: ExportRange, before start: Int64, among formats: [TrackFormat]
    ) throws -> Int64 {
        guard format.storesTimes, let own = formats.first(where: { $0.kind == .audio }) else {
            return start
        }
        var reader = SampleReader(
            range.source,
            from: range.startNanoseconds?.clampedSubtracting(ExportRange.soundLeadNanoseconds),
            to: range.endNanoseconds, tracks: [.audio])
        var before: RecordedSample?
        while let sample = try reader.next() {
            guard !sample.flags.contains(.priming), sample.endNanoseconds > start else {
                before = sample
                continue
            }
            var first = sample
            // A sample before a gap or a change of format does not precede this one.
            if let before, before.format == own, sample.format == own,
                sample.ptsTicks - before.ptsTicks < 2 * sample.durationTicks
            {
                first = before
            }
            return min(start, first.ptsNanoseconds)
        }
        return start
    }

    /// Time from the start of pictures that are only needed for decoding to the first presented instant.
    private func hiddenLead(before start: Int64) throws -> Int64 {
        guard range.startNanoseconds == nil, range.tracks.contains(.video) else { return 0 }
        var reader = SampleReader(range.source, tracks: [.video])
        guard let first = try reader.next(), first.isHidden else { return 0 }
        return max(0, start - first.ptsNanoseconds)
    }

    /// The formats at the start of a range.
    static func tracks(of range: ExportRange) throws -> [TrackFormat] {
        var formats: [TrackFormat] = []
        for kind in TrackKind.allCases where range.tracks.contains(kind) {
            var reader = SampleReader(
                range.source, from: range.startNanoseconds, to: range.endNanoseconds,
                tracks: [kind])
            if let sample = try reader.next() { formats.append(sample.format) }
        }
        return formats
    }
}
