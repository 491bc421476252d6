import Archive
import ArgumentParser
import Containers
import Encoding
import ExportCore
import Library
import Media
import Recordings
import Terminal

/// `tributary export`: a recording, or a part of it, as one ordinary file.
struct ExportCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Exports a recording, or a part of it, as one file.",
        discussion: """
            Without --video-codec and --audio-codec nothing is transcoded: the recorded samples are copied into one file, across \
            segments. MP4 and MOV start exactly at --start, with an edit list after the keyframe before it; other containers start \
            at that keyframe. Gaps keep their length: the last picture is held and audio is silent, unless --close-gaps is given.

            --layout grid shows several sources side by side, synchronised, with the session time in the picture. Its default size is at \
            most 1280x720, in the aspect ratio of the grid.

            The file appears when it is complete; Ctrl-C leaves no file behind. Exit status 1 when the export failed. Of several archives, \
            one that cannot be read is left out, with a line: the file then has what the others have, and the exit status is 1.
            """)

    @OptionGroup var input: RecordedInput

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Output file: .mp4, .mov, .mkv, .webm, .ts, …", valueName: "file"))
    var output: String

    @Option(
        help: ArgumentHelp(
            "Container, if the file name has no known suffix: \(ContainerFormat.pictureNames).",
            valueName: "name"))
    var format: String?

    @Option(
        help: ArgumentHelp(
            "Source to export. Repeatable with --layout grid. (default: the only source, or all of them for a grid; previews only by name)",
            valueName: "name"))
    var source: [String] = []

    @Option(help: "Video codec. (default: copy; h264 for a grid)")
    var videoCodec: VideoChoice?

    @Option(help: "Audio codec. (default: copy)")
    var audioCodec: AudioChoice?

    @Option(help: "Video bitrate when encoding, such as 4M. (default: set by --video-quality)")
    var videoBitrate: Bitrate?

    @Option(
        help: ArgumentHelp(
            "Constant rate factor (CRF) of the encoder, lower is better. (default: \(usualQualities))",
            valueName: "crf"))
    var videoQuality: Int?

    @Option(help: "Audio bitrate when encoding.")
    var audioBitrate = Bitrate(bitsPerSecond: 128_000)

    @Option(help: ArgumentHelp("Frame size when encoding, such as 1280x720.", valueName: "WxH"))
    var size: SizeArgument?

    @Option(help: "Export only video or only audio. (default: both)")
    var only: OnlyTrack?

    @Flag(help: "Put the moov box first (MP4, MOV), for playback while downloading.")
    var faststart = false

    @Flag(help: "Close gaps instead of keeping their length.")
    var closeGaps = false

    @Option(help: "single, or grid for several sources side by side.")
    var layout = LayoutChoice.single

    @Option(
        help: "Frame rate of a grid. (default: that of the fastest source, at most 30)")
    var fps: Int?

    @Option(
        help: ArgumentHelp(
            "Source of the grid's audio, or none. (default: the first source with audio)",
            valueName: "name"))
    var audioSource: String?

    @Flag(help: "Overwrite an existing file.")
    var overwrite = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    /// A codec of the output, or `copy`.
    struct CodecChoice<Codec>: ExpressibleByArgument
    where Codec: RawRepresentable<String> & CaseIterable & Sendable {
        /// Nil: copied.
        var codec: Codec?

        init?(argument: String) {
            codec = Codec(rawValue: argument)
            if codec == nil, argument != "copy" { return nil }
        }

        static var allValueStrings: [String] { ["copy"] + Codec.allCases.map(\.rawValue) }
    }

    typealias VideoChoice = CodecChoice<PictureCodec>
    typealias AudioChoice = CodecChoice<SoundCodec>

    private static let usualQualities = PictureCodec.allCases.map {
        "\($0.usualQuality) for \($0.rawValue)"
    }.joined(separator: ", ")

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
                "--video-bitrate, --video-quality and --size need an encoder: add --video-codec"
            )
        }
        if let quality = videoQuality, !(0...63).contains(quality) {
            throw ValidationError("--video-quality \(quality) is out of range: use 0 to 63")
        }
        if videoBitrate != nil, videoQuality != nil {
            throw ValidationError(
                "--video-bitrate and --video-quality cannot be combined: leave one out")
        }
        if layout == .single {
            if source.count > 1 {
                throw ValidationError(
                    "more than one --source needs --layout grid: add it, or give one source")
            }
            if fps != nil || audioSource != nil {
                throw ValidationError(
                    "--fps and --audio-source need --layout grid: add it, or leave them out")
            }
        } else if closeGaps {
            throw ValidationError(
                "--close-gaps and --layout grid cannot be combined: a grid runs in session time")
        }
        if let fps, !(1...120).contains(fps) {
            throw ValidationError("--fps \(fps) is out of range: use 1 to 120")
        }
        if output == "-" {
            throw ValidationError(
                "cannot export to standard output: use 'tributary replay --to -'")
        }
        if let videoCodec, videoCodec.codec == nil, layout == .grid {
            throw ValidationError("--layout grid needs an encoder: leave --video-codec copy out")
        }
    }

    func run() throws {
        let container = try container()
        let (summary, session, name, finder) = try LongWork.run("exporting") {
            control -> (ExportSummary, String, String, SessionFinder) in
            let finder = try input.archive.finder()
            let session = try input.session(finder, sources: source)
            let paths = session.sources.flatMap { $0.files.map(\.path) }
            let file = try OutputFile(output, overwrites: overwrite, inputs: paths)
            if layout == .grid {
                let (summary, names) = try grid(session, file, container, control)
                return (summary, session.name, names, finder)
            }
            let chosen = try RecordedInput.source(source.first, in: session)
            let range = try input.ranges(of: [chosen], in: session, tracks: tracks)[0]
            try OneBoxCheck.run(
                chosen, from: range.startNanoseconds, until: range.endNanoseconds)
            return (try single(range, file, container, control), session.name, chosen.name, finder)
        }
        try ExportReport(summary, file: output, session: session, source: name)
            .show(summary, json: json)
        try finder.checkComplete()
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
                    "'\(format)' is not a known container: use \(ContainerFormat.pictureNames)"
                )
            }
            return known
        }
        guard let known = ContainerFormat(path: output) else {
            throw UsageError(
                "'\(output)' has no known suffix: use one of \(ContainerFormat.pictureNames), or add --format"
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
        if faststart, !container.isISO, !settings.encodes {
            throw UsageError("--faststart is for MP4 and MOV: leave it out for \(container)")
        }
        return try SourceExport.run(
            range, to: file, format: container, settings: settings, control: control)
    }

    private func grid(
        _ session: RecordedSession, _ file: OutputFile, _ container: ContainerFormat,
        _ control: WorkControl
    ) throws -> (ExportSummary, String) {
        let chosen =
            source.isEmpty
            ? session.mainSources
            : try source.map { try RecordedInput.source($0, in: session) }
        let ranges = try input.ranges(of: chosen, in: session, tracks: Set(TrackKind.allCases))
        guard !ranges.isEmpty else { throw ExportError.nothingThere("session \(session.name)") }
        for range in ranges {
            try OneBoxCheck.run(
                range.source, from: range.startNanoseconds, until: range.endNanoseconds)
        }
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
