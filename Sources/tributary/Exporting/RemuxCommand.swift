import ArgumentParser
import Containers
import ExportCore
import Terminal

/// `tributary remux`: any file's media in another container.
struct RemuxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remux",
        abstract: "Puts any file's media into another container; nothing is encoded again.",
        discussion: """
            The file need not be a recording of Tributary's. Picture, sound and subtitles keep their bytes and their times, counted from \
            the file's earliest one. What cannot be kept is refused in one line: damage, encryption, codecs that the container \
            does not know.
            """)

    @Argument(help: ArgumentHelp("The file that is read.", valueName: "in"))
    var inputPath: String

    @Argument(
        help: ArgumentHelp("The file that is written: .mp4, .mov, .mkv, .ts, …", valueName: "out"))
    var outputPath: String

    @Option(
        help: ArgumentHelp(
            "The container, when the file's name does not say: mp4, mov, mkv, webm, ts, flv, avi.",
            valueName: "name"))
    var format: String?

    @Flag(help: "Put the index first (MP4, MOV): players begin before they have all of the file.")
    var faststart = false

    @Flag(help: "Replace the file if it is there already.")
    var overwrite = false

    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        var file: String
        var packets: Int
        var sizeBytes: Int64
        var leftOut: [String]
        var earlierNanoseconds: Int64
    }

    func run() throws {
        guard
            let container = format.map({ ContainerFormat(name: $0) })
                ?? ContainerFormat(path: outputPath)
        else {
            throw UsageError(
                "'\(format ?? outputPath)' does not say which container: .mp4, .mov, .mkv, .webm, .ts, .flv or .avi"
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
                    leftOut: result.leftOut, earlierNanoseconds: result.earlierNanoseconds))
        }
        print(
            "\(oneLine(outputPath)): \(result.packets) packets, \(ByteCount(result.sizeBytes))")
        if result.earlierNanoseconds > 0 {
            print(
                "  note: begins \(decimal(Double(result.earlierNanoseconds) / 1e9)) s earlier, with pictures that \(oneLine(inputPath)) "
                    + "hides: \(container) cannot hide what is needed to decode the first one")
        }
        for stream in result.leftOut { print("  note: \(stream) has no place in \(container)") }
    }
}
