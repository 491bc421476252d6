import ArgumentParser
import Containers
import Devices
import ExportCore
import JSON
import Terminal

/// `tributary remux`: any file's media in another container.
struct RemuxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remux",
        abstract: "Copies the media of any file into another container, without transcoding.",
        discussion: """
            The file need not be a Tributary recording. Video, audio and subtitles keep their bytes and their timestamps, relative to \
            the earliest one in the file. A file that cannot be copied exactly is refused: damage, encryption, or a codec that the \
            container does not support.
            """)

    @Argument(help: ArgumentHelp("Input file.", valueName: "in"))
    var inputPath: String

    @Argument(
        help: ArgumentHelp("Output file: .mp4, .mov, .mkv, .ts, …", valueName: "out"))
    var outputPath: String

    @Option(
        help: ArgumentHelp(
            "Container, if the file name has no known suffix: \(ContainerFormat.pictureNames).",
            valueName: "name"))
    var format: String?

    @Flag(help: "Put the moov box first (MP4, MOV), for playback while downloading.")
    var faststart = false

    @Flag(help: "Overwrite an existing file.")
    var overwrite = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    private struct Report: Encodable {
        var file: String
        var packets: Int
        var sizeBytes: Int64
        var leftOut: [String]
        var earlierNanoseconds: Int64
        var joints: [String]
        var losses: Int
        var hidden: Int
    }

    func run() throws {
        guard
            let container = format.map({ ContainerFormat(name: $0) })
                ?? ContainerFormat(path: outputPath)
        else {
            throw UsageError(
                "'\(format ?? outputPath)' is not a known container: use \(ContainerFormat.pictureNames)"
            )
        }
        let result = try LongWork.run("remuxing") { control in
            let output = try OutputFile(outputPath, overwrites: overwrite, inputs: [inputPath])
            return try RemuxJob(
                inputPath, to: output, format: container, isFastStart: faststart, control: control
            ).run()
        }
        if json {
            return try JSONOutput.print(
                Report(
                    file: outputPath, packets: result.packets, sizeBytes: result.sizeBytes,
                    leftOut: result.leftOut, earlierNanoseconds: result.earlierNanoseconds,
                    joints: result.joints.map(FileSource.note), losses: result.losses,
                    hidden: result.hidden))
        }
        print(
            "\(oneLine(outputPath)): \(result.packets) packets, \(ByteCount(result.sizeBytes))")
        if result.earlierNanoseconds > 0 {
            print(
                "  note: starts \(decimal(Double(result.earlierNanoseconds) / 1e9)) s earlier, with pictures hidden in \(oneLine(inputPath)): "
                    + "\(container) has no edit list to hide them, and the first picture needs them"
            )
        }
        for joint in result.joints { print("  note: \(FileSource.note(joint))") }
        if result.losses > 0 {
            print(
                "  note: parts of the file are lost at \(result.losses) places, and the damaged samples are copied: "
                    + "'tributary import' leaves them out")
        }
        if result.hidden > 0 {
            print(
                "  note: \(result.hidden) packets that the edit list of \(oneLine(inputPath)) hides are left out"
            )
        }
        for stream in result.leftOut {
            print("  note: \(stream) left out: not supported by \(container)")
        }
    }
}
