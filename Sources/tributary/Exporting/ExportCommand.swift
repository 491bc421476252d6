import Archive
import ArgumentParser
import Containers
import Encoding
import ExportCore
import MP4
import Media
import Terminal

/// `tributary export`: a recording, or a part of it, as one ordinary file.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes a recording, or a part of it, as one file for others.",
        discussion: """
            Without codecs nothing is encoded: the recorded samples go into one file, joined across segments. MP4 and MOV begin exactly \
            at --start, by an edit list behind the keyframe before it; other containers begin at that keyframe. Time stays true: where \
            something is missing, the last picture stays, and sound is silent, for as long as it was, unless --close-gaps is given.

            --layout grid shows several sources side by side as they were at the same instants, with the session's time in the picture. It is \
            as large as 1280x720 at most, in the shape that the sources' pictures fill, unless --size is given.

            The file appears when it is whole; Ctrl-C leaves nothing behind. Exit status 1 when it could not be made.
            """)

    @OptionGroup var input: RecordedInput

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file: .mp4, .mov, .mkv, .webm, .ts, …", valueName: "file"))
    var output: String

    @Option(
        help: ArgumentHelp(
            "The container, when the file's name does not say: mp4, mov, mkv, webm, ts, flv, avi.",
            valueName: "name"))
    var format: String?

    @Option(
        help: ArgumentHelp(
            "The source; with --layout grid, give it again for others.", valueName: "name"))
    var source: [String] = []

    @Option(help: "copy, or how to encode pictures: h264, hevc, av1.")
    var videoCodec: VideoChoice?

    @Option(help: "copy, or how to encode sound: aac, opus.")
    var audioCodec: AudioChoice?

    @Option(help: "Bits per second of encoded pictures: 4M. Without, as many as the quality takes.")
    var videoBitrate: Bitrate?

    @Option(
        help: ArgumentHelp(
            "Quality of encoded pictures on the encoder's scale, lower is better: 20 is usual for h264, 23 for hevc, 32 for av1.",
            valueName: "crf"))
    var videoQuality: Int?

    @Option(help: "Bits per second of encoded sound: 128k.")
    var audioBitrate = Bitrate(bitsPerSecond: 128_000)

    @Option(help: ArgumentHelp("Size of encoded pictures: 1280x720.", valueName: "WxH"))
    var size: SizeArgument?

    @Option(help: "Only pictures (video) or only sound (audio); both unless given.")
    var only: OnlyTrack?

    @Flag(help: "Put the index first (MP4, MOV): players begin before they have all of the file.")
    var faststart = false

    @Flag(help: "Leave out stretches of which nothing was recorded.")
    var closeGaps = false

    @Option(help: "single, or grid: several sources side by side.")
    var layout = LayoutChoice.single

    @Option(
        help: "Pictures per second of a grid; that of the fastest source unless given, up to 30.")
    var fps: Int?

    @Option(
        help: ArgumentHelp(
            "Whose sound a grid has, or none; the first source that has any unless given.",
            valueName: "name"))
    var audioSource: String?

    @Flag(help: "Replace the file if it is there already.")
    var overwrite = false

    @Flag(help: "Print JSON.")
    var json = false

    enum VideoChoice: String, ExpressibleByArgument, CaseIterable {
        case copy, h264, hevc, av1

        var codec: PictureCodec? { PictureCodec(rawValue: rawValue) }
    }

    enum AudioChoice: String, ExpressibleByArgument, CaseIterable {
        case copy, aac, opus

        var codec: AudioCodec? { AudioCodec(rawValue: rawValue) }
    }

    enum LayoutChoice: String, ExpressibleByArgument, CaseIterable {
        case single, grid
    }

    enum OnlyTrack: String, ExpressibleByArgument, CaseIterable {
        case video, audio
    }

    func validate() throws {
        let isEncoded = videoCodec?.codec != nil || layout == .grid
        if !isEncoded, videoBitrate != nil || videoQuality != nil || size != nil {
            throw ValidationError(
                "--video-bitrate, --video-quality and --size are for pictures that are encoded: say how with --video-codec"
            )
        }
        if let quality = videoQuality, !(0...63).contains(quality) {
            throw ValidationError("--video-quality \(quality) is out of range: 0 to 63")
        }
        if videoBitrate != nil, videoQuality != nil {
            throw ValidationError("--video-bitrate and --video-quality exclude each other")
        }
        if layout == .single {
            if source.count > 1 {
                throw ValidationError(
                    "one --source, or --layout grid for several side by side")
            }
            if fps != nil || audioSource != nil {
                throw ValidationError("--fps and --audio-source belong to --layout grid")
            }
        } else if closeGaps {
            throw ValidationError(
                "--close-gaps cannot be with --layout grid: its time is the session's")
        }
        if let fps, !(1...120).contains(fps) {
            throw ValidationError("--fps \(fps) is out of range: 1 to 120")
        }
        if output == "-" {
            throw ValidationError(
                "an export is a file; 'tributary replay --to -' writes to standard output")
        }
        if videoCodec == .copy, layout == .grid {
            throw ValidationError("a grid is encoded anew; --video-codec copy cannot be")
        }
    }

    func run() throws {
        let container = try container()
        let (summary, session, name) = try LongWork.run("exporting") {
            control -> (ExportSummary, String, String) in
            let session = try input.session()
            let paths = session.sources.flatMap { $0.files.map(\.path) }
            let file = try OutputFile(output, overwrites: overwrite, inputs: paths)
            if layout == .grid {
                let (summary, names) = try grid(session, file, container, control)
                return (summary, session.name, names)
            }
            let chosen = try RecordedInput.source(source.first, in: session)
            let range = try input.ranges(of: [chosen], in: session, tracks: tracks)[0]
            return (try single(range, file, container, control), session.name, chosen.name)
        }
        try ExportReport(summary, file: output, session: session, source: name)
            .show(summary, json: json)
    }

    private var tracks: Set<TrackKind> {
        switch only {
        case .video: [.video]
        case .audio: [.audio]
        case nil: Set(TrackKind.allCases)
        }
    }

    private func container() throws -> ContainerFormat {
        if let format {
            guard let known = ContainerFormat(name: format) else {
                throw UsageError(
                    "'\(format)' is no container that is known here; use mp4, mov, mkv, webm, ts, flv or avi"
                )
            }
            return known
        }
        guard let known = ContainerFormat(path: output) else {
            throw UsageError(
                "'\(output)' does not say which container: end it in .mp4, .mov, .mkv, .webm or .ts, or use --format"
            )
        }
        return known
    }

    private var settings: TranscodeSettings {
        var settings = TranscodeSettings(
            videoCodec: videoCodec?.codec, audioCodec: audioCodec?.codec)
        settings.videoBitrate = videoBitrate.map { Int(clamping: $0.bitsPerSecond) }
        settings.videoQuality = videoQuality
        settings.audioBitrate = Int(clamping: audioBitrate.bitsPerSecond)
        settings.size = size?.size
        settings.isFastStart = faststart
        settings.closesGaps = closeGaps
        return settings
    }

    private func single(
        _ range: ExportRange, _ file: OutputFile, _ container: ContainerFormat,
        _ control: WorkControl
    ) throws -> ExportSummary {
        let settings = settings
        if settings.videoCodec != nil || settings.audioCodec != nil {
            return try TranscodeExport(
                range, to: file, format: container, settings: settings, control: control
            ).run()
        }
        guard container.isISO else {
            if faststart {
                throw UsageError(
                    "--faststart is for MP4 and MOV; \(container) has no index to be put first")
            }
            return try ContainerExport(
                range, to: file, format: container, closesGaps: closeGaps, control: control
            ).run()
        }
        var options = MovieExport.Options()
        options.flavour = container == .mov ? .quickTime : .mp4
        options.isFastStart = faststart
        options.closesGaps = closeGaps
        var export = try MovieExport(range, to: file, options: options, control: control)
        return try export.run()
    }

    private func grid(
        _ session: RecordedSession, _ file: OutputFile, _ container: ContainerFormat,
        _ control: WorkControl
    ) throws -> (ExportSummary, String) {
        let chosen =
            source.isEmpty
            ? session.sources
            : try source.map { try RecordedInput.source($0, in: session) }
        let ranges = try input.ranges(of: chosen, in: session, tracks: Set(TrackKind.allCases))
        guard !ranges.isEmpty else { throw ExportError.nothingThere("session \(session.name)") }
        var options = GridExport.Options()
        options.size = size?.size
        options.frameRate = fps.map { FrameRate(Int32($0)) }
        options.audioSource = try soundSource(ranges)
        let summary = try GridExport(
            ranges, to: file, format: container, options: options, settings: settings,
            control: control
        ).run()
        return (summary, chosen.map(\.name).joined(separator: ", "))
    }

    private func soundSource(_ ranges: [ExportRange]) throws -> String? {
        if only == .video || audioSource == "none" { return nil }
        if let audioSource {
            guard ranges.contains(where: { $0.source.name == audioSource }) else {
                throw ExportError.noSource(
                    audioSource, available: ranges.map(\.source.name))
            }
            return audioSource
        }
        for range in ranges {
            let formats = try range.source.extent()?.formats ?? []
            if formats.contains(where: { $0.kind == .audio }) { return range.source.name }
        }
        return nil
    }
}
