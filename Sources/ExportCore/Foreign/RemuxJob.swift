package import Containers
package import Media

/// `remux`: copies any file's media into another container.
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

    package struct Result: Hashable, Sendable {
        package var packets: Int
        package var sizeBytes: Int64
        /// Descriptions of the streams that the output does not contain.
        package var leftOut: [String]
        /// Lead of the output's pictures over the input's presentation, if its container cannot hide pictures that are
        /// only needed for decoding.
        package var earlierNanoseconds: Int64
        /// Discontinuities of the input's clock, at which the output was joined.
        package var joints: [ClockJoint]
        /// Number of losses in the input's container; incomplete pictures are copied as they are.
        package var losses: Int
        /// Packets that the input's edit list hides and that are left out.
        package var hidden: Int
    }

    package func run() throws -> Result {
        var options: [String: String] = [:]
        if format.isISO {
            if isFastStart { options["movflags"] = "+faststart" }
            // Fine enough for exact edit lists.
            options["movie_timescale"] = "90000"
        }
        var remuxer = try Remuxer(
            input, to: output.temporaryPath, named: output.path, format: format,
            muxerOptions: options, cancellation: control.cancellation)
        // Refuses files whose edit lists or samples cannot all be kept; unsupported files were refused above.
        _ = try EditLists(of: input)
        var failure: ContainerError?
        do throws(ContainerError) {
            while try remuxer.step() {
                if remuxer.packets % 64 == 0, let duration = remuxer.durationNanoseconds {
                    control.progress(remuxer.positionNanoseconds, of: duration)
                }
            }
        } catch {
            failure = error
        }
        let losses = remuxer.losses
        if let failure { throw refusal(failure, losses: losses) }
        var result = Result(
            packets: remuxer.packets, sizeBytes: 0, leftOut: remuxer.leftOut,
            earlierNanoseconds: remuxer.earlierNanoseconds, joints: remuxer.joints,
            losses: losses, hidden: remuxer.hiddenPackets)
        try remuxer.finish()
        result.sizeBytes = try output.sizeBytes()
        try output.commit()
        return result
    }

    /// A muxer refuses some of the samples that are damaged.
    private func refusal(_ failure: ContainerError, losses: Int) -> any Error {
        guard case .cannotWrite(_, let reason) = failure, losses > 0 else { return failure }
        return ExportError.refused(
            path: input,
            reason:
                "parts of the file are lost, and \(format) cannot hold what is damaged (\(reason)): use 'tributary "
                + "import', which leaves it out, and 'tributary export'")
    }
}
