package import Containers
import MP4

/// Exports a range of one source as a file in any container: chooses the exporter.
package enum SourceExport {
    /// Blocks until the file is complete.
    /// - Parameters:
    ///   - output: committed when the export is complete.
    ///   - settings: without a codec, samples are copied.
    package static func run(
        _ range: ExportRange, to output: OutputFile, format: ContainerFormat,
        settings: TranscodeSettings, control: WorkControl
    ) throws -> ExportSummary {
        if settings.encodes {
            return try TranscodeExport(
                range, to: output, format: format, settings: settings, control: control
            ).run()
        }
        guard format.isISO else {
            return try ContainerExport(
                range, to: output, format: format, closesGaps: settings.closesGaps,
                control: control
            ).run()
        }
        var options = MovieExport.Options()
        options.flavour = format == .mov ? .quickTime : .mp4
        options.isFastStart = settings.isFastStart
        options.closesGaps = settings.closesGaps
        var export = try MovieExport(range, to: output, options: options, control: control)
        return try export.run()
    }
}
