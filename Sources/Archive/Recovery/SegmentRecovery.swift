import Glibc
import MP4
import Media

/// Recovers one file of an interrupted session.
///
/// Every step can be interrupted and repeated. Cutting a tail is idempotent, and a file whose finishing was interrupted is cut
/// back to its fragments and finished again.
enum SegmentRecovery {
    enum Outcome: Sendable {
        /// Already an ordinary MP4.
        case finished(SegmentSurvey)
        /// Still growing; its torn tail is cut off, and all of it is durable.
        case open(SegmentSurvey, UnfinishedSegment, cutBytes: Int64)
        /// It contained nothing, and was removed.
        case empty
        /// Damaged, and left unchanged.
        case setAside(String, SegmentSurvey?)
    }

    /// A larger file may contain media even if its header is not readable.
    private static let headerBytes: UInt64 = 64 << 10

    /// Whether a file has its final index: 16 bytes show it.
    static func isFinished(_ path: String) throws(ArchiveError) -> Bool {
        let descriptor = try FileSystem.open(path)
        defer { close(descriptor) }
        var type = [UInt8](repeating: 0, count: 4)
        let count = pread(descriptor, &type, 4, off_t(FragmentedHeader.placeholderOffset) + 4)
        guard count >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
        return type == Array("mdat".utf8)
    }

    /// Reads a file, and cuts off a torn tail.
    /// - Parameter summary: of its durable beginning, which is then not read.
    /// - Parameter isSynchronized: the file has been synchronised since it was last written.
    static func recover(
        _ path: String, after summary: SegmentSummary? = nil, on disk: any Disk,
        isSynchronized: Bool
    ) throws(ArchiveError) -> Outcome {
        let file = try RecordingFile(reopening: path, on: disk)
        if !isSynchronized { try file.synchronize() }
        // A finished file has its index only after everything before was durable; it is read completely nevertheless.
        let isFinished = try isFinished(path)
        if isFinished { file.readAnew() }
        let survey: SegmentSurvey
        do throws(MP4Error) {
            let source = try DescriptorSource(descriptor: file.readDescriptor)
            survey =
                isFinished
                ? try SegmentSurvey(of: source, after: summary)
                : try .onDisk(of: source, after: summary) { file.readAnew(from: UInt64($0)) }
        } catch {
            guard case .notARecording = error, try isWithoutMedia(file) else {
                return .setAside("cannot be read: \(error)", nil)
            }
            try FileSystem.remove(path, on: disk)
            return .empty
        }
        if survey.isFinished { return .finished(survey) }
        if let flaw = survey.flaw, !survey.isTornOnly {
            return .setAside("at byte \(flaw.offset): \(flaw.reason)", survey)
        }
        guard let plan = survey.plan, let zero = survey.sessionZero, !survey.fragments.isEmpty
        else {
            try FileSystem.remove(path, on: disk)
            return .empty
        }
        var ends: [TrackKind: TrackEnd] = [:]
        for run in survey.fragments.flatMap(\.runs) { ends[run.track] = run.end }
        let cut = survey.sizeBytes - survey.validEnd
        if cut > 0 { try file.cut(to: UInt64(survey.validEnd)) }
        // Records that agents consider durable must be durable.
        if cut > 0 || !isSynchronized { try file.synchronize() }
        return .open(
            survey,
            UnfinishedSegment(
                path: path, plan: plan, sessionZero: zero,
                fragments: survey.fragmentCount, chain: survey.chain,
                sizeBytes: UInt64(survey.validEnd), ends: ends), cutBytes: cut)
    }

    /// Turns a recovered file into an ordinary MP4.
    static func finish(_ segment: UnfinishedSegment, on disk: any Disk) throws(ArchiveError) {
        try SegmentFinisher.finish(RecordingFile(reopening: segment.path, on: disk))
    }

    /// Whether a file is so short that it ends within its header.
    private static func isWithoutMedia(_ file: RecordingFile) throws(ArchiveError) -> Bool {
        guard file.sizeBytes <= headerBytes else { return false }
        let bytes = try FileSystem.read(file.path, limit: Int(headerBytes))
        let word = Array("moof".utf8)
        return !bytes.indices.contains { bytes[$0...].starts(with: word) }
    }
}
