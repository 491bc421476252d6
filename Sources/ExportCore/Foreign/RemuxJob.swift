package import Containers

/// `remux`: any file's media in another container, as they are.
package struct RemuxJob {
    private let input: String
    private let output: OutputFile
    private let format: ContainerFormat
    private let isFastStart: Bool
    private let control: WorkControl

    package init(
        _ input: String, to output: OutputFile, format: ContainerFormat, isFastStart: Bool,
        control: WorkControl
    ) {
        self.input = input
        self.output = output
        self.format = format
        self.isFastStart = isFastStart
        self.control = control
    }

    /// What came of it.
    package struct Result: Hashable, Sendable {
        package var packets: Int
        package var sizeBytes: Int64
        /// Streams that the output has no place for, in words.
        package var leftOut: [String]
    }

    /// Does it.
    package func run() throws -> Result {
        try EditListCheck.check(input)
        var options: [String: String] = [:]
        if format.isISO {
            if isFastStart { options["movflags"] = "+faststart" }
            // Fine enough that edit lists say exactly what the times were.
            options["movie_timescale"] = "90000"
        }
        var remuxer = try Remuxer(
            input, to: output.temporaryPath, named: output.path, format: format,
            muxerOptions: options, cancellation: control.cancellation)
        while try remuxer.step() {
            if remuxer.packets % 64 == 0, let duration = remuxer.durationNanoseconds {
                control.progress(remuxer.positionNanoseconds, of: duration)
            }
        }
        let (packets, leftOut) = (remuxer.packets, remuxer.leftOut)
        try remuxer.finish()
        let size = try output.sizeBytes()
        try output.commit()
        return Result(packets: packets, sizeBytes: size, leftOut: leftOut)
    }
}
