import Archive
import ArgumentParser
import Encoding
import ExportCore
import Library
import Media
import Recordings
import Terminal

/// `tributary extract`: a track, or a picture, without a container.
struct ExtractCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "extract",
        abstract: "Extracts a track or a picture from a recording.",
        discussion: """
            The suffix of the output file selects what is extracted: \(VideoCodec.all.map { ".\($0.coding.fileSuffixes[0])" }
                .joined(separator: " or ")), as recorded (byte stream with parameter sets \
            at every keyframe), .aac (ADTS), .wav (decoded to 16 bits, without encoder padding), .jpg or .png (the picture displayed at --at). The input may \
            still be growing; it is read up to its current end.
            """)

    @OptionGroup var input: RecordedInput

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Output file, or - for standard output. (default: named after the source)",
            valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("Source to extract from.", valueName: "name"))
    var source: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time of the picture: session time (1:23.5, 90s) or UTC.", valueName: "time"))
    var at: TimelinePoint?

    @Option(help: "What to extract, if the file name has no known suffix.")
    var kind: Kind?

    @Flag(help: "Extract a JPEG picture; same as --kind jpeg.")
    var jpeg = false

    @Flag(help: "Close gaps instead of filling them with silence (.wav).")
    var closeGaps = false

    @Flag(help: "Overwrite an existing file.")
    var overwrite = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    enum Kind: Hashable, ExpressibleByArgument, CaseIterable {
        /// Elementary streams.
        case video(VideoCodec)
        case audio(AudioCodec)
        case wav, jpeg, png

        static let allCases =
            VideoCodec.all.map(Kind.video) + AudioCodec.all.map(Kind.audio) + [.wav, .jpeg, .png]

        /// `.h264, .h265, .aac, .wav, .jpg or .png`.
        static let suffixList: String = {
            let all = allCases.map { ".\($0.suffixes[0])" }
            return "\(all.dropLast().joined(separator: ", ")) or \(all.last ?? "")"
        }()

        init?(argument: String) {
            guard let kind = Self.allCases.first(where: { $0.name == argument }) else { return nil }
            self = kind
        }

        init?(path: String) {
            guard let dot = path.lastIndex(of: ".") else { return nil }
            let suffix = path[path.index(after: dot)...].lowercased()
            guard let kind = Self.allCases.first(where: { $0.suffixes.contains(suffix) }) else {
                return nil
            }
            self = kind
        }

        /// On the command line: `h264`.
        var name: String {
            switch self {
            case .video(let codec): codec.identifier
            case .audio(let codec): codec.libraryName
            case .wav: "wav"
            case .jpeg: "jpeg"
            case .png: "png"
            }
        }

        var defaultValueDescription: String { name }
        static var allValueStrings: [String] { allCases.map(\.name) }

        /// Suffixes of its files; the first is the usual one.
        var suffixes: [String] {
            switch self {
            case .video(let codec): codec.coding.fileSuffixes
            case .audio(let codec): codec.coding.fileSuffixes
            case .wav: ["wav"]
            case .jpeg: ["jpg", "jpeg"]
            case .png: ["png"]
            }
        }

        var isPicture: Bool { self == .jpeg || self == .png }
    }

    private func wanted() throws -> Kind {
        if jpeg, let kind, kind != .jpeg {
            throw UsageError("--jpeg and --kind \(kind.name) cannot be combined: leave one out")
        }
        if let kind = jpeg ? .jpeg : kind {
            if let output, let other = Kind(path: output), other != kind {
                throw UsageError(
                    "the suffix of '\(output)' means \(other.name), but \(kind.name) was requested: change one of them"
                )
            }
            return kind
        }
        if let output, output != "-" {
            guard let kind = Kind(path: output) else {
                throw UsageError(
                    "'\(output)' has no known suffix: use \(Kind.suffixList), or add --kind"
                )
            }
            return kind
        }
        if at != nil { return .jpeg }
        throw UsageError("nothing to extract: use --kind, or an --output with a known suffix")
    }

    func run() throws {
        let kind = try wanted()
        if at != nil, !kind.isPicture {
            throw UsageError(
                "--at is for pictures: use --start and --duration for \(kind.name)")
        }
        if closeGaps, kind != .wav { throw UsageError("--close-gaps is for .wav: leave it out") }
        if kind.isPicture, input.duration != nil || input.start != nil {
            throw UsageError("--start and --duration are not for pictures: use --at")
        }
        let (summary, session, name, file, finder) = try LongWork.run("extracting") {
            control -> (ExportSummary, String, String, String, SessionFinder) in
            let finder = try input.archive.finder()
            let session = try input.session(
                finder, sources: source.map { [$0] } ?? [], at: at)
            let source = try RecordedInput.source(source, in: session)
            var range = try input.ranges(
                of: [source], in: session, tracks: Set(TrackKind.allCases))[0]
            if kind.isPicture {
                range.startNanoseconds = at?.sessionNanoseconds(
                    zeroUTCNanoseconds: session.zero.nanoseconds)
            }
            try OneBoxCheck.run(
                source, from: range.startNanoseconds,
                until: kind.isPicture
                    ? range.startNanoseconds?.clampedAdding(1) : range.endNanoseconds)
            let file = output ?? defaultName(kind, range)
            let target: ExtractTarget =
                file == "-"
                ? .standardOutput
                : .file(
                    try OutputFile(
                        file, overwrites: overwrite, inputs: source.files.map(\.path)))
            let summary = try extract(kind, range, target, control)
            return (summary, session.name, source.name, file, finder)
        }
        // Standard output is the extract's own.
        if file != "-" {
            try ExportReport(summary, file: file, session: session, source: name)
                .show(summary, json: json)
        }
        try finder.checkComplete()
    }

    private func defaultName(_ kind: Kind, _ range: ExportRange) -> String {
        guard kind.isPicture else { return "\(range.source.name).\(kind.suffixes[0])" }
        let time = UTCTime(
            nanoseconds: range.sessionZero.nanoseconds + (range.startNanoseconds ?? 0))
        return "\(range.source.name)-\(time.fileName).\(kind.suffixes[0])"
    }

    private func extract(
        _ kind: Kind, _ range: ExportRange, _ target: ExtractTarget, _ control: WorkControl
    ) throws -> ExportSummary {
        switch kind {
        case .video(let codec):
            try StreamExtraction(range, of: .video, as: codec, to: target, control: control).run()
        case .audio:
            try StreamExtraction(range, of: .audio, to: target, control: control).run()
        case .wav:
            try WaveExtraction(range, to: target, closesGaps: closeGaps, control: control).run()
        case .jpeg: try PictureExtraction(range, as: .jpeg, to: target).run()
        case .png: try PictureExtraction(range, as: .png, to: target).run()
        }
    }
}
