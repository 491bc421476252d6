import Archive
import Containers
import ExportCore
import Library
import Logging
import Media

/// One export, from the archive into a file.
struct ExportWork: Sendable {
    let archive: ArchiveReference
    let logger: Logger

    /// Does it; blocks.
    /// - Parameter path: of the file; while it is made, it has another name in the same directory.
    /// - Returns: its size.
    func run(_ job: ExportJob, to path: String, _ control: WorkControl) throws -> Int64 {
        let library = try RecordingLibrary(archive, isReadOnly: true) { [logger] in
            logger.warning("\($0)")
        }
        let recording = try library.recording(job.wish.session)
        let ranges = try job.wish.sources.map { name -> ExportRange in
            guard let source = recording.source(name) else {
                throw ExportError.noSource(name, available: recording.sources.map(\.name))
            }
            return ExportRange(
                source: source, sessionZero: recording.zero,
                startNanoseconds: job.wish.fromNanoseconds,
                endNanoseconds: job.wish.untilNanoseconds)
        }
        let output = try OutputFile(path, overwrites: true)
        let summary: ExportSummary
        switch job.wish.layout {
        case .passthrough:
            var options = MovieExport.Options()
            options.isFastStart = true
            var export = try MovieExport(
                ranges[0], to: output, options: options, control: control)
            summary = try export.run()
        case .grid:
            var options = GridExport.Options()
            options.audioSource = try ranges.first { range in
                try range.source.extent()?.formats.contains { $0.kind == .audio } ?? false
            }?.source.name
            var settings = TranscodeSettings(videoCodec: nil, audioCodec: nil)
            settings.isFastStart = true
            summary = try GridExport(
                ranges, to: output, format: .mp4, options: options, settings: settings,
                control: control
            ).run()
        }
        return summary.sizeBytes
    }
}
