import Recordings
package import MP4

/// Exports a recording as one MP4 or MOV, with its samples byte for byte, under one index.
///
/// Two passes. The first reads the heads of the source's fragments and builds the index and a list of ranges, both on
/// disk, so that memory does not depend on the duration. The second has the kernel copy the ranges in order. So the
/// index can precede the media at no additional cost.
package struct MovieExport {
    package struct Options: Hashable, Sendable {
        package var flavour = MovieFlavour.mp4
        /// Whether the index comes first: players can begin before they have the whole file.
        package var isFastStart = false
        package var closesGaps = false

        package init() {}
    }

    private let options: Options
    private let control: WorkControl
    private let output: OutputFile
    private var plan: MoviePlan<DiskMovieStorage>

    /// - Parameter output: committed when the export is complete.
    package init(
        _ range: ExportRange, to output: OutputFile, options: Options, control: WorkControl
    ) throws {
        self.options = options
        self.control = control
        self.output = output
        plan = MoviePlan(
            range, closesGaps: options.closesGaps,
            in: DiskMovieStorage(
                copies: try CopyList(beside: output.path),
                tables: TableStore(beside: output.path)), control: control)
    }

    package mutating func run() throws -> ExportSummary {
        try plan.read()
        let result = try plan.result(flavour: options.flavour)
        var summary = result.summary
        summary.sizeBytes = try write(result)
        try output.commit()
        return summary
    }

    /// - Returns: the output's size.
    private func write(_ result: MoviePlan<DiskMovieStorage>.Result) throws -> Int64 {
        let (copies, tables) = (plan.storage.copies, plan.storage.tables)
        let front = Int64(result.movie.fileType.count) + FlatMovie.mediaHeaderSizeBytes
        let (index, indexBytes) = try result.index(
            front: front, mediaBytes: copies.totalBytes, isFirst: options.isFastStart)
        let mediaStart = options.isFastStart ? front + indexBytes : front
        let file = try ByteFile(creating: output.temporaryPath, named: output.path)
        try file.write(result.movie.fileType)
        if options.isFastStart { try tables.write(index, mediaStart: mediaStart, to: file) }
        try file.write(FlatMovie.mediaHeader(sizeBytes: copies.totalBytes))
        try copies.copy(to: file, control: control)
        if !options.isFastStart { try tables.write(index, mediaStart: mediaStart, to: file) }
        try file.flush()
        return file.position
    }
}

/// Tables and ranges on disk, so that memory does not depend on the duration.
private struct DiskMovieStorage: MovieStorage {
    let copies: CopyList
    let tables: TableStore

    var mediaBytes: Int64 { copies.totalBytes }

    func append(_ file: RecordedFile, _ range: Range<Int64>) throws {
        try copies.append(file, range)
    }

    func append(_ bytes: [UInt8]) throws { try copies.append(bytes) }

    func take(from track: inout FlatTrack, index: Int, all: Bool) throws {
        try tables.take(from: &track, index: index, all: all)
    }
}
