import Archive
import Containers
import Encoding
import ExportCore
import Files
import Glibc
import Library
import Logging
import Media
import Recordings

/// One export, from the archive into a file.
struct ExportWork: Sendable {
    let site: ViewerSite
    let logger: Logger

    /// Runs the export; blocks.
    /// - Parameter path: of the finished file; until then it has another name in the same directory.
    /// - Returns: its size.
    func run(_ job: ExportJob, to path: String, _ control: WorkControl) throws -> Int64 {
        let library = try RecordingLibrary(site.archive, isReadOnly: true) { [logger] in
            logger.warning("\($0)")
        }
        let recording = try library.recording(job.request.session)
        let ranges = try job.request.sources.map { name -> ExportRange in
            guard let source = recording.source(name) else {
                throw ExportError.noSource(name, available: recording.sources.map(\.name))
            }
            return ExportRange(
                source: source, sessionZero: recording.zero,
                startNanoseconds: job.request.fromNanoseconds,
                endNanoseconds: job.request.untilNanoseconds)
        }
        if job.request.isArchive { return try archive(ranges, of: job, to: path, control) }
        let output = try OutputFile(path, overwrites: true)
        guard job.request.layout == .grid else {
            return try file(ranges[0], of: job, to: output, control).sizeBytes
        }
        var options = GridExport.Options()
        options.audioSource = try ranges.first { range in
            try range.source.extent()?.formats.contains { $0.kind == .audio } ?? false
        }?.source.name
        var settings = TranscodeSettings(videoCodec: nil, audioCodec: nil)
        settings.isFastStart = true
        return try GridExport(
            ranges, to: output, format: job.request.format, options: options, settings: settings,
            control: control
        ).run().sizeBytes
    }

    /// One source as one file.
    private func file(
        _ range: ExportRange, of job: ExportJob, to output: OutputFile, _ control: WorkControl
    ) throws -> ExportSummary {
        let burnsTime = job.request.burnsTime
        var settings = TranscodeSettings(videoCodec: burnsTime ? .h264 : nil, audioCodec: nil)
        settings.isFastStart = true
        settings.burnsTime = burnsTime
        return try SourceExport.run(
            range, to: output, format: job.request.format, settings: settings, control: control)
    }

    /// Several sources as separate files in one archive: each is made beside it and moved into it, one at a time.
    private func archive(
        _ ranges: [ExportRange], of job: ExportJob, to path: String, _ control: WorkControl
    ) throws -> Int64 {
        let output = try OutputFile(path, overwrites: true)
        var archive = ZipArchive()
        let file = try ArchiveFile(output)
        for (index, range) in ranges.enumerated() {
            let part = "\(path).part"
            defer { unlink(part) }
            let share = WorkControl(cancellation: control.cancellation) { fraction in
                control.report((Double(index) + fraction) / Double(ranges.count))
            }
            _ = try self.file(range, of: job, to: OutputFile(part, overwrites: true), share)
            let name = ClipName(
                session: job.request.session, what: range.source.name,
                fromNanoseconds: job.request.fromNanoseconds,
                untilNanoseconds: job.request.untilNanoseconds,
                showsTime: job.request.burnsTime, ending: job.request.format.suffix)
            try file.add(
                part, to: &archive, named: "\(name)",
                modified: range.sessionZero.advanced(by: range.startNanoseconds ?? 0), control)
        }
        let sizeBytes = try file.finish(archive)
        try output.commit()
        return sizeBytes
    }
}

/// A ZIP archive's file under construction. Owned by one thread.
private final class ArchiveFile {
    private static let pieceBytes = 1 << 20

    private let path: String
    private let descriptor: Int32
    private var position: Int64 = 0

    init(_ output: OutputFile) throws {
        path = output.path
        descriptor = open(output.temporaryPath, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno) }
    }

    deinit { close(descriptor) }

    /// Appends a file.
    func add(
        _ part: String, to archive: inout ZipArchive, named name: String, modified: UTCTime,
        _ control: WorkControl
    ) throws {
        let source = try LocalFile(opening: part)
        let size = try source.sizeBytes()
        try write(
            archive.begin(ZipArchive.Entry(name: name, sizeBytes: size, modified: modified)))
        var checksum = ZipArchive.Checksum()
        var offset: Int64 = 0
        let piece = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceBytes, alignment: 4096)
        defer { piece.deallocate() }
        while offset < size {
            guard !control.cancellation.isCancelled else { throw ExportError.cancelled }
            let wanted = Int(min(Int64(Self.pieceBytes), size - offset))
            let count = try source.read(at: offset, into: .init(rebasing: piece[..<wanted]))
            guard count > 0 else {
                throw ExportError.damaged(path: part, reason: "it ends too early")
            }
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
            checksum.add(bytes)
            try write(bytes)
            offset += Int64(count)
        }
        try write(archive.end(checksum: checksum.value))
    }

    /// Writes the directory.
    /// - Returns: the archive's size.
    func finish(_ archive: ZipArchive) throws -> Int64 {
        try write(archive.directory())
        return position
    }

    private func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try write($0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard Descriptor.write(descriptor, bytes) else { throw failure(errno) }
        position += Int64(bytes.count)
    }

    private func failure(_ code: Int32) -> ExportError {
        .system(operation: "write", path: path, reason: systemMessage(code))
    }
}
