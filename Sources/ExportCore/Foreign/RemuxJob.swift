package import Containers
package import Media

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
        /// By how much earlier than the input shows them the output begins with pictures, because its container cannot hide those
        /// that are only there to be decoded.
        package var earlierNanoseconds: Int64
        /// Where the input's clock jumps, and what follows was joined.
        package var joints: [ClockJoint]
    }

    /// Does it.
    package func run() throws -> Result {
        var options: [String: String] = [:]
        if format.isISO {
            if isFastStart { options["movflags"] = "+faststart" }
            // Fine enough that edit lists say exactly what the times were.
            options["movie_timescale"] = "90000"
        }
        var remuxer = try Remuxer(
            input, to: output.temporaryPath, named: output.path, format: format,
            muxerOptions: options, cancellation: control.cancellation)
        // The remuxer has refused what is no file.
        _ = try EditLists(of: input)
        while try remuxer.step() {
            if remuxer.packets % 64 == 0, let duration = remuxer.durationNanoseconds {
                control.progress(remuxer.positionNanoseconds, of: duration)
            }
        }
        var result = Result(
            packets: remuxer.packets, sizeBytes: 0, leftOut: remuxer.leftOut,
            earlierNanoseconds: remuxer.earlierNanoseconds, joints: remuxer.joints)
        try remuxer.finish()
        result.sizeBytes = try output.sizeBytes()
        try output.commit()
        return result
    }
}
