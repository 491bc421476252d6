import Archive
package import Containers
import Encoding
import Recordings
package import Media
import Terminal

/// Exports several sources of a session side by side, synchronised, with the session's time burnt in.
package struct GridExport {
    package struct Options: Hashable, Sendable {
        /// Nil: at most ``usualSize``, in the shape that the cells fill.
        package var size: PictureSize?
        /// Nil: that of the fastest source, up to 30.
        package var frameRate: FrameRate?
        /// The source of the audio; nil: none.
        package var audioSource: String?

        package init() {}
    }

    private static let usualRate = FrameRate(30)
    private static let usualSize = PictureSize(width: 1280, height: 720)
    /// Height of the picture per pixel of the font's dots.
    private static let linesPerDot = 270

    private let sources: [ExportRange]
    private let options: Options
    private let settings: TranscodeSettings
    private let format: ContainerFormat
    private let output: OutputFile
    private let control: WorkControl

    /// - Parameters:
    ///   - sources: of one session and with one start and end; at least one.
    ///   - settings: of the encoders; codecs that are nil default to H.264 and AAC.
    package init(
        _ sources: [ExportRange], to output: OutputFile, format: ContainerFormat, options: Options,
        settings: TranscodeSettings, control: WorkControl
    ) {
        precondition(!sources.isEmpty, "a grid has a cell")
        self.sources = sources
        self.options = options
        self.settings = settings
        self.format = format
        self.output = output
        self.control = control
    }

    package func run() throws -> ExportSummary {
        let timeline = try timeline()
        guard let end = timeline.end, end > timeline.start else {
            throw ExportError.nothingThere("the session at that time")
        }
        let size = try options.size ?? filledSize(timeline)
        let layout = GridLayout(cells: sources.count, size: size)
        var cells: [GridCell] = []
        for (index, range) in sources.enumerated() {
            var range = range
            range.startNanoseconds = timeline.start
            range.endNanoseconds = end
            cells.append(try GridCell(range, layout: layout, cell: layout.cell(index).size))
        }
        let rate = try options.frameRate ?? fastestRate(timeline)
        var encoderSettings = settings.encoder(
            settings.videoCodec ?? .h264, size: size, frameRate: rate)
        encoderSettings.colour = .bt709
        var encoder = try PictureEncoder(encoderSettings)
        var sound = try GridAudio(
            sources.first { $0.source.name == options.audioSource }, timeline: timeline,
            settings: settings)
        var tracks = [ContainerTrack(encoder.track, timescale: PictureEncoder.timescale)]
        if let track = sound.track { tracks.append(track) }
        let muxed = try MuxedOutput(
            output, format: format, tracks: tracks, isFastStart: settings.isFastStart,
            control: control)
        var pool = PicturePool(width: size.width, height: size.height)
        var summary = ExportSummary()
        let write = { (packet: EncodedPacket) in
            try muxed.write(
                packet.bytes, track: 0, pts: packet.pts, dts: packet.dts,
                duration: packet.duration, isKeyframe: packet.isKeyframe)
        }
        let count = rate.pictures(inNanoseconds: end - timeline.start)
        for number in 0..<count {
            try control.check()
            let time = rate.nanoseconds(ofPicture: number)
            let buffer = pool.take().buffer
            try paint(
                GridCanvas(buffer: buffer), cells, layout, at: timeline.start + time,
                zero: sources[0].sessionZero)
            let frame = buffer.frame(
                captureNanoseconds: time,
                durationNanoseconds: rate.nanoseconds(ofPicture: number + 1) - time, colour: .bt709)
            try encoder.encode(frame, emit: write)
            summary.soundPackets += try sound.advance(to: timeline.start + time, into: muxed)
            summary.pictures += 1
            control.progress(time, of: end - timeline.start)
        }
        try encoder.finish(emit: write)
        summary.soundPackets += try sound.finish(into: muxed)
        try muxed.finish()
        summary.sizeBytes = try output.sizeBytes()
        summary.startNanoseconds = timeline.start
        summary.durationNanoseconds = end - timeline.start
        try output.commit()
        return summary
    }

    /// The exported range: from the earliest start to the latest end of the selected ranges.
    private func timeline() throws -> OutputTimeline {
        var timeline: OutputTimeline?
        for range in sources {
            guard let extent = try range.source.extent() else { continue }
            let start = range.startNanoseconds ?? extent.startNanoseconds
            let end = min(range.endNanoseconds ?? .max, extent.endNanoseconds)
            timeline = OutputTimeline(
                start: min(timeline?.start ?? start, start), end: max(timeline?.end ?? end, end))
        }
        guard let timeline else { throw ExportError.nothingThere("the session") }
        return timeline
    }

    /// The size that pictures like those of the first source fill.
    private func filledSize(_ timeline: OutputTimeline) throws -> PictureSize {
        for range in sources {
            var reader = SampleReader(
                range.source, from: timeline.start, to: timeline.end, tracks: [.video])
            guard let format = try reader.next()?.format,
                case .picture(let picture) = try CodedTrack(format).content,
                picture.width > 1, picture.height > 1
            else { continue }
            return GridLayout.filledSize(
                cells: sources.count,
                of: PictureSize(width: picture.width, height: picture.height)
                    .turned(format.orientation),
                aspect: picture.sampleAspectRatio?.turned(format.orientation),
                within: Self.usualSize)
        }
        return Self.usualSize
    }

    private func fastestRate(_ timeline: OutputTimeline) throws -> FrameRate {
        var fastest: FrameRate?
        for range in sources {
            var reader = SampleReader(
                range.source, from: timeline.start, to: timeline.end, tracks: [.video])
            guard let rate = try reader.next()?.nominalRate else { continue }
            fastest = max(fastest ?? rate, rate)
        }
        return min(fastest ?? Self.usualRate, Self.usualRate)
    }

    private func paint(
        _ canvas: GridCanvas, _ cells: [GridCell], _ layout: GridLayout, at instant: Int64,
        zero: UTCTime
    ) throws {
        canvas.clear()
        let scale = max(1, layout.size.height / Self.linesPerDot)
        for (index, cell) in cells.enumerated() {
            let place = layout.cell(index)
            if let found = try cell.picture(at: instant) {
                canvas.put(found.picture, place.x + found.x, place.y + found.y)
                canvas.write(cell.name, place.x, place.y, scale: scale)
            } else {
                canvas.slate(place.x, place.y, place.size)
                canvas.write("\(cell.name): NO PICTURE", place.x, place.y, scale: scale)
            }
        }
        let utc = UTCTime(nanoseconds: zero.nanoseconds + instant).description
        let words = "\(TimelinePoint.text(instant))  \(utc.replacing("T", with: " "))"
        canvas.write(words, 0, layout.size.height - 11 * scale & ~1, scale: scale)
    }
}

/// The audio of a grid: one source's.
private struct GridAudio {
    private var lane: AudioTranscoder?
    private var samples: SelectedSamples?
    private var waiting: RecordedSample?

    init(
        _ range: ExportRange?, timeline: OutputTimeline, settings: TranscodeSettings
    ) throws {
        guard var range else { return }
        range.tracks = [.audio]
        range.startNanoseconds = timeline.start
        range.endNanoseconds = timeline.end
        var samples = try SelectedSamples(range)
        guard let first = try samples.next() else {
            throw ExportError.noTrack(.audio, source: range.source.name)
        }
        lane = try AudioTranscoder(
            first, codec: settings.audioCodec ?? .aac, settings: settings, timeline: timeline,
            index: 1)
        waiting = first
        self.samples = samples
    }

    var track: ContainerTrack? { lane?.track }

    /// Encodes the audio before `instant`, nanoseconds of session time.
    /// - Returns: the number of packets read.
    mutating func advance(to instant: Int64, into output: MuxedOutput) throws -> Int {
        var count = 0
        while let sample = waiting, sample.dtsNanoseconds < instant {
            try lane?.take(sample, into: output)
            count += 1
            waiting = try samples?.next()
        }
        return count
    }

    /// Encodes the rest.
    mutating func finish(into output: MuxedOutput) throws -> Int {
        let count = try advance(to: .max, into: output)
        _ = try lane?.finish(into: output)
        return count
    }
}
