import Archive
import ArgumentParser
import Catalog
import ExportCore
import JSON
import Library
import Media
import Recordings
import Terminal

/// `tributary import`: foreign files as a session.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports media files into the archive as a session.",
        discussion: """
            Each file becomes a source, and all sources start at the session zero: --at, or the creation time stored in the files, \
            or the modification time of the first file. \(recordableCodecs) are copied unchanged from MP4, MOV, Matroska, MPEG-TS and other containers \
            that FFmpeg reads. Of several video or audio tracks, the first one of these codecs is imported; what is left out is printed. \
            The session appears when it is complete.
            """)

    @OptionGroup var archive: DirectoryOptions
    @OptionGroup var catalog: CatalogOptions

    @Argument(help: ArgumentHelp("Media files.", valueName: "file"))
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "Source name, in the order of the files. Repeatable. (default: the name of the file)",
            valueName: "name"))
    var source: [String] = []

    @Option(
        help: ArgumentHelp(
            "Start time of the files: 2026-11-20T22:40:00Z, or without Z in local time.",
            valueName: "time"))
    var at: CalendarInstant?

    @Option(help: "Segment length.")
    var segment = TimeSpan(nanoseconds: 600_000_000_000)

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    private struct Report: Encodable {
        struct Source: Encodable {
            var name: String
            var file: String
            var tracks: [String]
            var pictures: Int
            var soundPackets: Int
            var durationNanoseconds: Int64
            var notes: [String]
        }

        var session: String
        var sources: [Source]
    }

    func validate() throws {
        if segment.nanoseconds < 1_000_000_000 {
            throw ValidationError("--segment \(segment) is too short: use at least 1s")
        }
        if source.count > files.count {
            throw ValidationError(
                "\(source.count) names for \(files.count) files: leave out some --source")
        }
        if let name = source.first(where: { !DirectoryName.isValidSource($0) }) {
            let endings = DirectoryName.reservedSourceEndings.joined(separator: ", ")
            throw ValidationError(
                "--source '\(name)' is not a valid name: use letters, digits, dot, underscore and hyphen, a letter or "
                    + "digit first, \(DirectoryName.maximumBytes) at most, and not \(endings) at the end"
            )
        }
    }

    func run() throws {
        for file in files {
            guard NamedPath.exists(file) else { throw Failure("no file '\(file)'") }
            if NamedPath.isDirectory(file) {
                throw Failure(
                    "'\(file)' is a directory: give the files to import")
            }
        }
        let reference = try catalog.forWriting("tributary")
        var options = RecordingImport.Options()
        options.segmentNanoseconds = segment.nanoseconds
        options.names = source
        options.software = Version.software("tributary")
        options.zero = at.map { UTCTime(nanoseconds: $0.nanoseconds) }
        let result = try LongWork.run("importing") { control in
            try RecordingImport(files, into: archive.layout, options: options, control: control)
                .run()
        }
        try withArchiveErrors {
            try archive.finder(reference).library().refreshCatalog(result.session)
        }
        CollectorControl.tellChange(of: result.session, in: archive.layout)
        if json {
            return try JSONOutput.print(
                Report(
                    session: result.session,
                    sources: result.sources.map {
                        Report.Source(
                            name: $0.name, file: $0.path, tracks: $0.tracks,
                            pictures: $0.summary.pictures, soundPackets: $0.summary.soundPackets,
                            durationNanoseconds: $0.summary.durationNanoseconds,
                            notes: $0.notes)
                    }))
        }
        print("session \(result.session)")
        for source in result.sources {
            print(
                "  \(source.name): \(source.tracks.joined(separator: ", ")), \(source.summary.pictures) pictures, "
                    + "\(source.summary.soundPackets) \(AudioCodec.list) packets, "
                    + "\(decimal(Double(source.summary.durationNanoseconds) / 1e9)) s from \(oneLine(source.path))"
            )
            for note in source.notes { print("    note: \(oneLine(note))") }
        }
    }
}
